"""Deleting a session that others were forked from."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import at, chain, head, ids, put


def sessions(store: Store) -> set[str]:
    """The names of all sessions."""
    return {session.session_id for session in store.sessions()}


@pytest.fixture
def family(store: Store) -> list[str]:
    """talk -> (one -> deep, two), and a stranger; the ids of talk."""
    saver = store.saver()
    made = chain(saver, "talk", 4)
    saver.fork_session("talk", made[2], "one")
    saver.fork_session("talk", made[1], "two")
    saver.fork_session("one", made[2], "deep")
    chain(saver, "stranger", 2)
    return made


def test_forks_are_kept_unless_told_otherwise(store: Store, family: list[str]) -> None:
    report = store.delete("talk")
    assert report == fp.DeletionReport("talk", ("talk",), ("one", "two"))
    assert sessions(store) == {"one", "two", "deep", "stranger"}
    assert ids(store.saver(), "one") == [family[2], family[1], family[0]]
    assert head(store.saver(), "deep").checkpoint["id"] == family[2]


def test_a_session_with_forks_is_not_deleted_when_that_is_refused(
    store: Store, family: list[str]
) -> None:
    with pytest.raises(fp.SessionHasForksError, match="'one', 'two'") as caught:
        store.delete("talk", forks="refuse")
    assert caught.value.forks == ("one", "two")
    assert isinstance(caught.value, fp.ConflictError)
    assert "talk" in sessions(store)
    assert ids(store.saver(), "talk") == family[::-1]


def test_a_session_without_forks_is_deleted_all_the_same(store: Store, family: list[str]) -> None:
    assert store.delete("deep", forks="refuse").deleted == ("deep",)
    assert sessions(store) == {"talk", "one", "two", "stranger"}


def test_a_cascade_takes_the_deepest_first(store: Store, family: list[str]) -> None:
    report = store.delete("talk", forks="cascade")
    assert report.deleted == ("deep", "two", "one", "talk")
    assert report.kept == ()
    assert sessions(store) == {"stranger"}
    assert store.examine().sound


def test_a_cascade_begins_where_it_was_asked(store: Store, family: list[str]) -> None:
    assert store.delete("one", forks="cascade").deleted == ("deep", "one")
    assert sessions(store) == {"talk", "two", "stranger"}
    assert ids(store.saver(), "talk") == family[::-1]


def test_forks_of_a_session_that_was_deleted_are_those_of_its_source(
    store: Store, family: list[str]
) -> None:
    store.delete("one")
    with pytest.raises(fp.SessionHasForksError) as caught:
        store.delete("talk", forks="refuse")
    assert caught.value.forks == ("two", "deep")
    assert store.delete("talk", forks="cascade").deleted == ("deep", "two", "talk")


@pytest.mark.parametrize("forks", ["keep", "refuse", "cascade"])
def test_an_unknown_session(store: Store, forks: fp.store.deleting.ForksPolicy) -> None:
    with pytest.raises(fp.SessionNotFoundError, match="'nobody'"):
        store.delete("nobody", forks=forks)


def test_an_unknown_policy(store: Store, family: list[str]) -> None:
    with pytest.raises(fp.InvalidArgumentError, match="forks"):
        store.delete("talk", forks="perhaps")  # type: ignore[arg-type]
    assert "talk" in sessions(store)


def test_the_name_is_free_for_a_new_conversation(store: Store, family: list[str]) -> None:
    store.delete("talk", forks="cascade")
    made = put(store.saver(), "talk")
    assert at(store.saver(), "talk", made).checkpoint["id"] == made
    assert store.session("talk").forks == 0


async def test_async_twin(store: Store, family: list[str]) -> None:
    assert (await store.adelete("one", "cascade")).deleted == ("deep", "one")


@pytest.fixture
def two_stores(url: str) -> Iterator[tuple[Store, Store]]:
    """Two stores on one database, as two processes have them."""
    with fp.open(url) as one, fp.open(url) as two:
        yield one, two


def test_a_fork_taken_while_a_cascade_runs_is_deleted_or_was_refused(
    two_stores: tuple[Store, Store], tmp_path: Path
) -> None:
    store, other = two_stores
    saver = store.saver()
    made = chain(saver, "talk", 3)
    for number in range(20):
        saver.fork_session("talk", made[1], f"fork {number}")
    taken: list[str] = []

    def fork_on() -> None:
        forker = other.saver()
        for number in range(200):
            try:
                forker.fork_session("talk", made[2], f"late {number}")
            except fp.SessionNotFoundError:
                return
            taken.append(f"late {number}")

    thread = threading.Thread(target=fork_on)
    thread.start()
    while not taken:
        pass
    report = store.delete("talk", forks="cascade")
    thread.join()
    assert set(taken) <= set(report.deleted)
    assert sessions(store) == set()
    assert store.examine().sound
