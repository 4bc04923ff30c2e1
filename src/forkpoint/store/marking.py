"""What the rows of a family refer to, directly and through the lists they name.

`roots` reads rows and gives the references in them; a `Reach` collects references and follows
lists to the lists they stand on. Together they are the marking half of garbage collection, and the
answer to who still holds what.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import ormsgpack

from forkpoint.store.cells import Reference
from forkpoint.store.driver import Connection
from forkpoint.store.lineage import NOWHERE
from forkpoint.store.records import WAITING_FOR_ROOT

_PAGE = 500
_NUMBER = 0xFFFFFFFF

_unpack = ormsgpack.unpackb


class Root(NamedTuple):
    """A row of a checkpoint or of writes: what it refers to."""

    thread: int
    metadata: int | None
    """None on a row of writes."""
    references: Sequence[Reference]


class Reach:
    """What is referred to in one family: values, and lists up to a length."""

    __slots__ = ("_family", "blobs", "lists")

    def __init__(self, family: int) -> None:
        self._family = family
        #: Numbers within the family.
        self.blobs: set[int] = set()
        self.lists: dict[int, int] = {}

    def refer(self, references: Iterable[Reference]) -> None:
        """Add what some references stand for."""
        blobs, lists = self.blobs, self.lists
        for reference in references:
            if isinstance(reference, int):
                blobs.add(reference)
            elif isinstance(reference, list):
                first = reference[0]
                if first < 0:
                    self.refer(reference[2:])
                elif lists.get(first, -1) < reference[1]:
                    lists[first] = reference[1]

    def follow(self, db: Connection) -> None:
        """Add the lists that the lists stand on."""
        waiting = self.lists
        while waiting:
            found: dict[int, int] = {}
            for numbers in _chunks(list(waiting)):
                ids = db.members(self._family << 32 | number for number in numbers)
                for gid, base, base_length in db.all("list_rows", ids=ids):
                    if base is None:
                        continue
                    below = base & _NUMBER
                    length = min(waiting[gid & _NUMBER], base_length)
                    if self.lists.get(below, found.get(below, -1)) < length:
                        found[below] = length
            self.lists.update(found)
            waiting = found

    def holds_slot(self, number: int, i: int) -> bool:
        """Whether a slot of a list is referred to; of lists, after `follow`."""
        return i < self.lists.get(number, 0)


def roots(
    db: Connection, threads: Sequence[int], without: Mapping[int, Collection[int]] | None = None
) -> Iterator[Root]:
    """Every row of some threads that can refer to values, but for some rows by thread."""
    left_out = without or {}
    for thread, n, metadata, body in _rows(db, threads, _CHECKPOINTS):
        if n not in left_out.get(thread, ()):
            yield Root(thread, metadata, _unpack(body)[2])
    for thread, n, _, body in _rows(db, threads, _WRITES):
        if n not in left_out.get(thread, ()):
            yield Root(thread, None, _unpack(body)[1])
    for some in _chunks(threads):
        for thread, _, _, task, body in db.all("early_in", threads=db.members(some)):
            if task != WAITING_FOR_ROOT:
                yield Root(thread, None, _unpack(body)[1])


class _Kind(NamedTuple):
    """The statements that read one kind of rows."""

    sizes: str
    whole: str
    page: str


_CHECKPOINTS = _Kind("rows_per_thread", "roots_in", "roots_after")
_WRITES = _Kind("writes_per_thread", "writes_in", "writes_after")


def _rows(db: Connection, threads: Sequence[int], kind: _Kind) -> Iterator[Any]:
    """Rows of some threads: those of small ones many threads at a time, those of long ones page by
    page."""
    for some in _chunks(threads):
        group: list[int] = []
        room = _PAGE
        for thread, rows in db.all(kind.sizes, threads=db.members(some)):
            if rows > _PAGE:
                yield from _long(db, thread, kind)
                continue
            if rows > room:
                yield from db.all(kind.whole, threads=db.members(group))
                group, room = [], _PAGE
            group.append(thread)
            room -= rows
        if group:
            yield from db.all(kind.whole, threads=db.members(group))


def _long(db: Connection, thread: int, kind: _Kind) -> Iterator[Any]:
    n = w = NOWHERE
    while rows := db.all(kind.page, thread=thread, n=n, w=w, limit=_PAGE):
        yield from rows
        # Only writes are several to a row number; a checkpoint's page ignores the second.
        n, w = rows[-1][1], rows[-1][2]


def _chunks(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), _PAGE):
        yield numbers[start : start + _PAGE]
