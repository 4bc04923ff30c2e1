"""Who uses no labels pays nothing for them."""

from __future__ import annotations

from typing import Any

import pytest

from forkpoint.store import Store
from forkpoint.store.sqlite import SqliteConnection
from tests.checkpoints import at, chain, place, put, write


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that were run, by name."""
    names: list[str] = []
    for method in ("one", "all", "run"):
        run = getattr(SqliteConnection, method)

        def noted(self: Any, statement: str, /, _run: Any = run, **parameters: Any) -> Any:
            names.append(statement)
            return _run(self, statement, **parameters)

        monkeypatch.setattr(SqliteConnection, method, noted)
    return names


def test_a_conversation_never_asks_for_labels(file_store: Store, asked: list[str]) -> None:
    saver = file_store.saver()
    ids = chain(saver, "talk", 3)
    write(saver, "talk", ids[-1], [("a", 1)])
    at(saver, "talk", ids[0])
    list(saver.list(place("talk", ids[1]), before=place("talk", ids[2])))
    saver.timeline("talk", before=ids[1])
    saver.fork_session("talk", ids[1], "fork")
    at(saver, "fork", ids[0])
    assert asked
    assert [name for name in asked if "label" in name] == []


def test_an_id_of_another_form_that_is_found_costs_nothing_more(
    file_store: Store, asked: list[str]
) -> None:
    saver = file_store.saver()
    put(saver, "talk", checkpoint_id="first")
    asked.clear()
    at(saver, "talk", "first")
    put(saver, "talk", "first", version=2)
    assert [name for name in asked if "label" in name] == []
