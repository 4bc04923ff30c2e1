"""Erasure: a session deleted, and nothing left of it that others do not hold.

Deleting takes a session away; its values go with the next collection, and the file's pages with the
next vacuum. Erasing does all of it at once, and says what it must leave: values that forks and
sources share, and checkpoints that forks read through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from forkpoint.errors import SessionNotFoundError
from forkpoint.model import ErasureReport, HeldValues, StandingCheckpoint
from forkpoint.store.collecting import Collector
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.marking import Reach, roots
from forkpoint.store.records import cid_text
from forkpoint.store.removing import Remover
from forkpoint.store.rows import is_empty
from forkpoint.store.sweeping import Sweeper, Swept

_NUMBER = 0xFFFFFFFF
_PAGE = 500

Held = dict[tuple[int, int], int]
"""Values by place, and their bytes: ``(number, -1)`` a shared one, ``(list, i)`` one in a slot."""


class _Trace(NamedTuple):
    """A session of the name before it goes."""

    session: int
    family: int
    held: Held
    weight: Swept
    """All values of its family."""


class Eraser:
    """Erases sessions of one database."""

    def __init__(
        self, driver: Driver, remover: Remover, sweeper: Sweeper, collector: Collector
    ) -> None:
        self._driver = driver
        self._remover = remover
        self._sweeper = sweeper
        self._collector = collector

    def erase(self, name: str) -> ErasureReport:
        """Erase a session. Raises `SessionNotFoundError` when none ever had the name."""
        traces = self._traces(name)
        if not traces:
            raise SessionNotFoundError(f"there is no session {name!r} to erase")
        ids = [trace.session for trace in traces]
        removed = list((self._remover.take_away(name) or {}).values())
        values = size = 0
        for family, weight in {trace.family: trace.weight for trace in traces}.items():
            removed += self._collector.settle(family).values()
            swept = self._sweeper.sweep(family)
            with self._driver.read() as db:
                if db.one("family_row", family=family) is None:
                    swept = weight  # It went as a whole.
            values += swept.values
            size += swept.bytes
        self._forget(name, ids)
        self._sweeper.sweep_metadata()
        space = self._driver.give_back()
        with self._driver.read() as db:
            standing = tuple(item for one in ids for item in _standing(db, one))
            held = tuple(item for trace in traces for item in _held_by_others(db, trace, ids))
        return ErasureReport(
            session_id=name,
            rows=sum(item.rows for item in removed),
            values=values,
            bytes=size + sum(item.bytes for item in removed),
            held=held,
            standing=standing,
            given_back=space.given_back,
            gone=space.settled,
        )

    def _traces(self, name: str) -> list[_Trace]:
        with self._driver.read() as db:
            found: list[_Trace] = []
            for session, family, _ in db.all("sessions_of_name", name=name):
                threads = [thread for thread, _, _ in db.all("threads", session=session)]
                low, high = family << 32, (family + 1) << 32
                count, size = db.one("weigh_blobs", low=low, high=high)
                size += db.one("weigh_slots", low=low, high=high)[0]
                held = _holdings(db, family, threads)
                found.append(_Trace(session, family, held, Swept(count, size)))
            return found

    def _forget(self, name: str, ids: Sequence[int]) -> None:
        def work(db: Connection) -> None:
            for session in ids:
                db.run("scrub_tombstone", id=session)
                db.run("delete_labels", session=session)
            db.run("drop_policy", scope="session", name=name)

        self._driver.write(work)


def _standing(db: Connection, session: int) -> list[StandingCheckpoint]:
    threads = db.all("threads", session=session)
    if not threads:
        return []
    above = [row[0] for row in db.all("standing_above", id=session)]
    forks = tuple(name for _, name in db.all("names_of", ids=db.members(above)))
    return [
        StandingCheckpoint(cid_text(bytes(cid)), namespace, forks)
        for thread, namespace, _ in threads
        for cid, body in db.all("identities_of", thread=thread)
        if not is_empty(body)
    ]


def _held_by_others(db: Connection, trace: _Trace, ids: Sequence[int]) -> list[HeldValues]:
    """Which sessions of the family hold values that an erased one held: in rows of their own, or,
    if they stand on it, in those that stay of it."""
    owners: dict[int, list[int]] = {}
    for thread, session, _, _ in db.all("family_threads", family=trace.family):
        owners.setdefault(session, []).append(thread)
    left = owners.get(trace.session, [])
    above = {row[0] for row in db.all("standing_above", id=trace.session)} if left else set()
    names = dict(db.all("names_of", ids=db.members(owners)))
    found: list[HeldValues] = []
    for session, name in names.items():
        if session in ids:
            continue
        threads = owners[session] + (left if session in above else [])
        shared = _shared(trace.held, _holdings(db, trace.family, threads))
        if shared.values:
            found.append(HeldValues(name, *shared))
    return found


def _shared(one: Mapping[tuple[int, int], int], other: Mapping[tuple[int, int], int]) -> Swept:
    sizes = [size for place, size in one.items() if place in other]
    return Swept(len(sizes), sum(sizes))


def _holdings(db: Connection, family: int, threads: Sequence[int]) -> Held:
    """The shared values that the rows of some threads refer to."""
    reach = Reach(family)
    for root in roots(db, threads):
        reach.refer(root.references)
    reach.follow(db)
    held: Held = {}
    lists = [family << 32 | number for number in reach.lists]
    for start in range(0, len(lists), _PAGE):
        some = db.members(lists[start : start + _PAGE])
        for gid, i, blob, size in db.all("slots_of", lists=some):
            if not reach.holds_slot(gid & _NUMBER, i):
                continue
            if blob is None:
                held[gid & _NUMBER, i] = size
            else:
                reach.blobs.add(blob & _NUMBER)
    blobs = [family << 32 | number for number in reach.blobs]
    for start in range(0, len(blobs), _PAGE):
        some = db.members(blobs[start : start + _PAGE])
        held |= {(gid & _NUMBER, -1): size for gid, size in db.all("blob_sizes", ids=some)}
    return held
