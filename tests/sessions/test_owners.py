"""Which workspace and which agent a session belongs to."""

from __future__ import annotations

import pytest

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import chain


def listed(store: Store, **of: str | None) -> list[str]:
    """The names of the sessions of a workspace or an agent, in order."""
    return [session.session_id for session in store.sessions(**of)]


@pytest.fixture
def made(store: Store) -> list[str]:
    """Sessions a to d, last written d; ids of a."""
    saver = store.saver()
    first = chain(saver, "a", 2)
    for name in "bcd":
        chain(saver, name, 1)
    store.assign("a", workspace="acme", agent="travel")
    store.assign("b", workspace="acme", agent="mail")
    store.assign("c", workspace="other", agent="travel")
    return first


def test_a_session_belongs_to_nobody_at_first(store: Store, made: list[str]) -> None:
    summary = store.session("d")
    assert (summary.workspace, summary.agent) == (None, None)


def test_what_was_assigned_is_shown(store: Store, made: list[str]) -> None:
    summary = store.session("a")
    assert (summary.workspace, summary.agent) == ("acme", "travel")


def test_what_is_not_named_stays_and_an_empty_text_takes_it_away(
    store: Store, made: list[str]
) -> None:
    store.assign("a", agent="mail")
    assert (store.session("a").workspace, store.session("a").agent) == ("acme", "mail")
    store.assign("a", workspace="")
    assert (store.session("a").workspace, store.session("a").agent) == (None, "mail")


def test_sessions_of_a_workspace_of_an_agent_and_of_both(store: Store, made: list[str]) -> None:
    assert listed(store, workspace="acme") == ["b", "a"]
    assert listed(store, agent="travel") == ["c", "a"]
    assert listed(store, workspace="acme", agent="travel") == ["a"]
    assert listed(store, workspace="nobody") == []
    assert listed(store) == ["d", "c", "b", "a"]


def test_pages_of_a_workspace_join(store: Store, made: list[str]) -> None:
    for name in "abcd":
        store.assign(name, workspace="all")
    first = store.sessions(2, workspace="all")
    rest = store.sessions(5, first[-1].session_id, workspace="all")
    assert [s.session_id for s in (*first, *rest)] == ["d", "c", "b", "a"]


def test_forks_and_copies_belong_where_their_source_does(store: Store, made: list[str]) -> None:
    saver = store.saver()
    saver.fork_session("a", made[0], "fork")
    saver.copy_thread("a", "copy")
    store.assign("a", workspace="moved")
    for name in ("fork", "copy"):
        summary = store.session(name)
        assert (summary.workspace, summary.agent) == ("acme", "travel")


def test_a_deleted_session_is_not_listed(store: Store, made: list[str]) -> None:
    store.delete("a")
    assert listed(store, workspace="acme") == ["b"]


def test_what_cannot_be(store: Store, made: list[str]) -> None:
    with pytest.raises(fp.SessionNotFoundError, match="'nobody'"):
        store.assign("nobody", workspace="x")
    with pytest.raises(fp.InvalidArgumentError, match="workspace"):
        store.assign("a", workspace="a\0b")
    with pytest.raises(fp.InvalidArgumentError, match="agent"):
        store.sessions(agent=7)  # type: ignore[arg-type]


async def test_async_twin(store: Store, made: list[str]) -> None:
    await store.aassign("d", workspace="acme")
    assert listed(store, workspace="acme") == ["d", "b", "a"]
