"""Sessions arranged as they were forked: a forest, one tree for each session that is no fork."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forkpoint.store import SessionSummary, Store

PAGE = 500


@dataclass(frozen=True, slots=True)
class Branch:
    """A session and the sessions forked from it, oldest fork first."""

    session: SessionSummary
    forks: tuple[Branch, ...] = ()


def plant(store: Store) -> list[Branch]:
    """Every session of the store; the tree with the newest activity first.

    A fork whose source was deleted stands as a tree of its own.
    """
    sessions = all_sessions(store)
    known = {session.session_id for session in sessions}
    forks: dict[str, list[SessionSummary]] = defaultdict(list)
    roots = []
    for session in sessions:
        if session.forked_from is not None and session.forked_from.session_id in known:
            forks[session.forked_from.session_id].append(session)
        else:
            roots.append(session)
    return [_grow(root, forks) for root in roots]


def cut(forest: list[Branch], session_id: str) -> Branch | None:
    """The branch that begins at a session, wherever in the forest it stands."""
    level = forest
    while level:
        for branch in level:
            if branch.session.session_id == session_id:
                return branch
        level = [fork for branch in level for fork in branch.forks]
    return None


def walk(forest: Sequence[Branch]) -> Iterator[tuple[int, Branch]]:
    """Every branch with its depth, a session before the sessions forked from it."""
    waiting = [(0, branch) for branch in reversed(forest)]
    while waiting:
        depth, branch = waiting.pop()
        yield depth, branch
        waiting += [(depth + 1, fork) for fork in reversed(branch.forks)]


def all_sessions(store: Store) -> list[SessionSummary]:
    """Every session of the store, newest activity first."""
    sessions: list[SessionSummary] = []
    page = store.sessions(limit=PAGE)
    while page:
        sessions += page
        page = store.sessions(limit=PAGE, before=page[-1].session_id)
    return sessions


def _grow(root: SessionSummary, forks: dict[str, list[SessionSummary]]) -> Branch:
    """From the leaves up, without recursion: a fork of a fork may be thousands deep."""
    order = [root]
    for session in order:
        order += forks[session.session_id]
    grown: dict[str, Branch] = {}
    for session in reversed(order):
        children = sorted(forks[session.session_id], key=_forked_at)
        grown[session.session_id] = Branch(
            session, tuple(grown[child.session_id] for child in children)
        )
    return grown[root.session_id]


def _forked_at(session: SessionSummary) -> str:
    return session.forked_from.at if session.forked_from else ""
