"""What a writer knows of a session: remembered facts, true as long as the session's tick is.

Every write to a session moves its tick. So a process that remembers a session as of a tick, and
moves the tick on from there in its own transaction, knows that nothing of it has changed, and need
not read it again: a superstep of a long conversation then reads nothing at all. Facts are frozen;
a write makes new ones, which are remembered when it has committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from forkpoint.store.driver import Connection

_SPOTS = 24
_THREADS = 24
_NOTED = 8
_NONE: Mapping[Any, Any] = MappingProxyType({})


class Identity(NamedTuple):
    """A session, as far as plans for values depend on it."""

    session: int
    family: int
    swept: int

    @property
    def pool(self) -> Pool:
        """Where its values are."""
        return Pool(self.family, self.swept)


class Pool(NamedTuple):
    """The values of a family between two sweeps: memory of values holds within one."""

    family: int
    swept: int


class Spot(NamedTuple):
    """A row of a session's own that its view shows."""

    n: int
    lane: int
    turn: int | None


class ThreadFacts(NamedTuple):
    """One namespace of a session."""

    thread: int
    newest: int | None
    """The newest row, hidden or not."""
    waiting: bool
    """Whether there are writes that wait for their checkpoint, or lie on what is inherited."""
    spots: Mapping[bytes, Spot] = _NONE
    """Some of its rows, those written last."""
    noted: frozenset[int] = frozenset()
    """Some of the constant metadata that is noted to be used in it."""


class SessionFacts(NamedTuple):
    """A session as of one tick."""

    identity: Identity
    tick: int
    touched: int
    threads: Mapping[str, ThreadFacts] = _NONE
    """Some of its namespaces; one that is not here may be there all the same."""

    def with_thread(self, namespace: str, facts: ThreadFacts) -> SessionFacts:
        """The same with a namespace as it is now."""
        threads = dict(self.threads)
        threads.pop(namespace, None)
        if len(threads) >= _THREADS:
            # The root namespace stays: every other one asks for it.
            del threads[next(name for name in threads if name)]
        threads[namespace] = facts
        return SessionFacts(self.identity, self.tick, self.touched, threads)


class Standing:
    """A session inside a transaction that has taken a tick of it: what is remembered of it holds,
    and what is not is read."""

    __slots__ = ("facts", "remembered", "tick")

    def __init__(self, facts: SessionFacts, tick: int, *, remembered: bool) -> None:
        self.facts = facts
        self.tick = tick
        """The number that this write has."""
        self.remembered = remembered
        """Whether the facts were remembered, and not read just now."""

    def thread(self, db: Connection, namespace: str) -> ThreadFacts | None:
        """A namespace; None when the session has not written there."""
        known = self.facts.threads.get(namespace)
        if known is None:
            row = db.one("thread_state", session=self.facts.identity.session, namespace=namespace)
            if row is None:
                return None
            known = ThreadFacts(row[0], row[1], bool(row[2]))
            self.facts = self.facts.with_thread(namespace, known)
        return known

    def spot(self, db: Connection, facts: ThreadFacts, cid: bytes) -> Spot | None:
        """One of the session's own rows; None when it has no such row or it was pruned."""
        known = facts.spots.get(cid)
        if known is None:
            row = db.one("find_checkpoint", cid=cid, thread=facts.thread)
            if row is not None and row[2] == 0:
                return Spot(row[0], row[1], row[3])
        return known

    def wrote(self, namespace: str, facts: ThreadFacts) -> None:
        """A namespace is now as `facts` say."""
        self.facts = self.facts.with_thread(namespace, facts)


def with_row(facts: ThreadFacts, cid: bytes, spot: Spot, metadata: int) -> ThreadFacts:
    """A namespace after a row was written in it."""
    spots = dict(facts.spots)
    if len(spots) >= _SPOTS:
        del spots[next(iter(spots))]
    spots[cid] = spot
    noted = facts.noted
    if metadata not in noted:
        noted = frozenset((metadata,)) if len(noted) >= _NOTED else noted | {metadata}
    return ThreadFacts(facts.thread, spot.n, facts.waiting, spots, noted)
