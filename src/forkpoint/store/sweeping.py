"""Garbage collection of one family's values, exact while others write in many processes.

Rows are the roots: checkpoints, writes, and writes that wait. Whoever writes refers to a value
either through a row that it sees in its transaction, or because its process remembers the value,
which it does for one `swept` of the session only. So a sweep

1. is announced: every session's `swept` rises, and the family's counter is noted. Numbers from
   there on are not touched;
2. marks, in one moment of the database after that, what any row refers to;
3. removes what is not marked, piece by piece, and takes no lock for it: nobody can come to refer
   to it any more. Only the end of a list that is cut off is guarded, because its places are used
   again: it is announced once more, so that nobody remembers the list with its old end, and it is
   left to whoever has announced a sweep of the same family later.

Killed anywhere it leaves what the next sweep finds, since the family counts as dirty until the end.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from forkpoint.store.cells import Reference
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.marking import Reach, roots
from forkpoint.store.terms import item_key, item_value

T = TypeVar("T")

_PIECE = 1_000
"""Rows that one transaction removes at most."""
_TAILS = 100
"""Lists that one transaction cuts at most; others wait for it to fork."""
_PAGE = 2_000
_NUMBER = 0xFFFFFFFF


class Swept(NamedTuple):
    """What a sweep removed, or would: shared values, and the bytes of these and of list items."""

    values: int = 0
    bytes: int = 0


class _Barrier(NamedTuple):
    """A sweep that was announced."""

    next: int
    dirty: int
    guard: tuple[int, int] | None
    """A live session and its `swept`: as long as it has that, no later sweep was announced."""


@dataclass(slots=True)
class _Garbage:
    """What nobody refers to, as global numbers."""

    blobs: list[int] = field(default_factory=list)
    lists: list[int] = field(default_factory=list)
    slots: list[tuple[int, int, int]] = field(default_factory=list)
    """List, first slot, and the one after the last: no more than a piece of each."""
    tails: list[tuple[int, int]] = field(default_factory=list)
    """List that is referred to, and its first slot that is not."""
    notes: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    """By session and thread: metadata that no checkpoint there has any more."""
    ticks: dict[int, int] = field(default_factory=dict)
    """What tick the sessions of the notes had."""
    bytes: int = 0

    @property
    def swept(self) -> Swept:
        return Swept(len(self.blobs), self.bytes)


class Sweeper:
    """Sweeps the families of one database."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def sweep(self, family: int) -> Swept:
        """Remove the values of a family that no row refers to, and notes of metadata that no
        checkpoint has."""
        barrier = self._driver.write(partial(_announce, family=family))
        if barrier is None:
            return Swept()
        with self._driver.read() as db:
            garbage = _find(db, family, barrier.next)
        for session, threads in garbage.notes.items():
            self._driver.write(
                partial(
                    _forget_notes, session=session, threads=threads, since=garbage.ticks[session]
                )
            )
        if garbage.tails:
            # Whoever read a list while its end was still referred to remembers it so.
            again = self._driver.write(partial(_announce_again, family=family, barrier=barrier))
            if again is None:
                return Swept()
            barrier = again
        for tails in _pieces(garbage.tails, _TAILS):
            if not self._driver.write(
                partial(_cut, family=family, guard=barrier.guard, tails=tails)
            ):
                return Swept()
        # A list goes after its slots and after the lists that stand on it, a value after both.
        for slots in _by_size(garbage.slots):
            self._driver.write(partial(_remove_slots, slots=slots))
        for statement, ids in (("sweep_lists", garbage.lists), ("sweep_blobs", garbage.blobs)):
            for piece in _pieces(ids, _PIECE):
                self._driver.write(partial(_remove, statement=statement, ids=piece))
        self._driver.write(partial(_end, family=family, barrier=barrier))
        return garbage.swept

    def estimate(
        self,
        db: Connection,
        family: int,
        without: Mapping[int, Collection[int]],
        more: Iterable[Sequence[Reference]],
    ) -> Swept:
        """What a sweep would remove if some rows (by thread) were gone, and others were there."""
        row = db.one("family_row", family=family)
        return Swept() if row is None else _find(db, family, row[0], without, more).swept

    def sweep_metadata(self) -> int:
        """Remove the constant metadata that no session uses any more; how many there were."""
        count = after = 0
        while True:
            with self._driver.read() as db:
                ids = [row[0] for row in db.all("unused_metadata", after=after, limit=_PIECE)]
            if not ids:
                return count
            count += self._driver.write(partial(_remove_metadata, ids=ids))
            after = ids[-1]


def _announce(db: Connection, family: int) -> _Barrier | None:
    db.one("hold_family", family=family)
    db.run("forget_values", family=family)
    row = db.one("family_row", family=family)
    if row is None:
        return None
    guard = db.one("swept_now", family=family)
    return _Barrier(row[0], row[1], None if guard is None else (guard[0], guard[1]))


def _announce_again(db: Connection, family: int, barrier: _Barrier) -> _Barrier | None:
    """Announce a sweep that has marked; None when another one was announced since, which may have
    cut the same lists already and let them be written again."""
    db.one("hold_family", family=family)
    if not _is_last(db, barrier.guard):
        return None
    again = _announce(db, family)
    return None if again is None else barrier._replace(guard=again.guard)


def _is_last(db: Connection, guard: tuple[int, int] | None) -> bool:
    """Whether nobody has announced a sweep of the same family since."""
    if guard is None:
        return True  # Without a live session nobody writes to the family.
    return db.one("still_swept", id=guard[0], swept=guard[1]) is not None


def _end(db: Connection, family: int, barrier: _Barrier) -> None:
    db.one("hold_family", family=family)
    if barrier.guard is not None and _is_last(db, barrier.guard):
        db.run("clean_family", family=family, dirty=barrier.dirty)


# -- what is garbage ----------------------------------------------------------------------------


def _find(
    db: Connection,
    family: int,
    below: int,
    without: Mapping[int, Collection[int]] | None = None,
    more: Iterable[Sequence[Reference]] = (),
) -> _Garbage:
    """What no row refers to in one moment of the database, of the numbers below one."""
    owners = {row[0]: row[1] for row in db.all("family_threads", family=family)}
    reach = Reach(family)
    used: set[tuple[int, int]] = set()
    for root in roots(db, list(owners), without):
        reach.refer(root.references)
        if root.metadata is not None:
            used.add((root.thread, root.metadata))
    for references in more:
        reach.refer(references)
    reach.follow(db)
    garbage = _Garbage()
    _find_notes(db, owners, used, garbage)
    _find_slots(db, family, below, reach, garbage)
    low, high = family << 32, family << 32 | below
    after = low - 1
    while rows := db.all("list_numbers_from", after=after, high=high, limit=_PAGE):
        garbage.lists += [gid for (gid,) in rows if gid & _NUMBER not in reach.lists]
        after = rows[-1][0]
    garbage.lists.reverse()
    after = low - 1
    while rows := db.all("blob_sizes_from", after=after, high=high, limit=_PAGE):
        unused = [row for row in rows if row[0] & _NUMBER not in reach.blobs]
        garbage.blobs += [gid for gid, _ in unused]
        garbage.bytes += sum(size for _, size in unused)
        after = rows[-1][0]
    return garbage


def _find_slots(db: Connection, family: int, below: int, reach: Reach, garbage: _Garbage) -> None:
    """Go through the slots of a family's lists: what is in those that are referred to is too."""
    list_, i = family << 32, -1
    high = (family + 1) << 32
    run: list[int] | None = None
    tail: int | None = None
    while rows := db.all("slots_from", list=list_, i=i, high=high, limit=_PAGE):
        for gid, at, blob, size in rows:
            number = gid & _NUMBER
            if reach.holds_slot(number, at):
                if blob is not None:
                    reach.blobs.add(blob & _NUMBER)
                continue
            if number >= below:
                continue
            garbage.bytes += size
            if number in reach.lists:
                if gid != tail:
                    garbage.tails.append((gid, at))
                    tail = gid
            elif run is not None and run[0] == gid and at < run[1] + _PIECE:
                run[2] = at + 1
            else:
                if run is not None:
                    garbage.slots.append((run[0], run[1], run[2]))
                run = [gid, at, at + 1]
        list_, i = rows[-1][0], rows[-1][1]
    if run is not None:
        garbage.slots.append((run[0], run[1], run[2]))


def _find_notes(
    db: Connection, owners: Mapping[int, int], used: set[tuple[int, int]], garbage: _Garbage
) -> None:
    for threads in _pieces(list(owners), _PIECE):
        for thread, metadata in db.all("notes_of", threads=db.members(threads)):
            if (thread, metadata) not in used:
                of_session = garbage.notes.setdefault(owners[thread], {})
                of_session.setdefault(thread, []).append(metadata)
    for session in garbage.notes:
        garbage.ticks[session] = db.one("session_row", id=session)[3]


# -- taking it away -----------------------------------------------------------------------------


def _forget_notes(
    db: Connection, session: int, threads: Mapping[int, list[int]], since: int
) -> None:
    db.one("hold_session", id=session)
    # A writer remembers what is noted, as of one tick.
    db.one("advance_tick", id=session)
    for thread, metadata in threads.items():
        db.run("sweep_notes", thread=thread, metadata=db.members(metadata), since=since)


def _cut(
    db: Connection,
    family: int,
    guard: tuple[int, int] | None,
    tails: Sequence[tuple[int, int]],
) -> bool:
    db.one("hold_family", family=family)
    if not _is_last(db, guard):
        return False
    db.many("trim_list", [{"list": gid, "start": start} for gid, start in tails])
    return True


def _remove_slots(db: Connection, slots: Sequence[tuple[int, int, int]]) -> None:
    db.many(
        "sweep_slots", [{"list": gid, "start": start, "stop": stop} for gid, start, stop in slots]
    )


def _remove(db: Connection, statement: str, ids: Sequence[int]) -> None:
    db.run(statement, ids=db.members(ids))


def _remove_metadata(db: Connection, ids: Sequence[int]) -> int:
    gone = db.all("sweep_metadata", ids=db.members(ids))
    db.many(
        "delete_metadata_item",
        [
            {"name": item_key(name), "value": item_value(value), "metadata": number}
            for number, body in gone
            for name, value in json.loads(body).items()
        ],
    )
    return len(gone)


def _pieces(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _by_size(slots: Sequence[tuple[int, int, int]]) -> Iterator[list[tuple[int, int, int]]]:
    """Runs of slots, so many together that one transaction can bear it."""
    group: list[tuple[int, int, int]] = []
    room = _PIECE
    for run in slots:
        size = run[2] - run[1]
        if group and size > room:
            yield group
            group, room = [], _PIECE
        group.append(run)
        room -= size
    if group:
        yield group
