"""What the rows of a session taken whole hold: bodies, and the writes on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from forkpoint.store.driver import Connection
from forkpoint.store.lineage import NEVER
from forkpoint.store.records import WAITING_FOR_ROOT
from forkpoint.store.whole import Place, Whole, WholeRow

_CHUNK = 500


class Content(NamedTuple):
    """What a row holds besides its place."""

    step: int | None
    metadata: int
    size: int
    body: bytes


class PlacedWrite(NamedTuple):
    """A row of writes, with its number among the session's own."""

    w: int
    task: bytes
    body: bytes


class Early(NamedTuple):
    """Writes that wait for their checkpoint, or a row that waits for its root."""

    cid: bytes
    w: int
    task: bytes
    body: bytes


def chunks(rows: Sequence[WholeRow]) -> Iterator[Sequence[WholeRow]]:
    """Some rows, a few hundred at a time."""
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK]


def contents(db: Connection, rows: Sequence[WholeRow]) -> dict[Place, Content]:
    """The contents of some rows, by where the rows are now."""
    return {
        (thread, n): Content._make(content)
        for thread, numbers in _by_thread(rows).items()
        for n, *content in db.all("contents", thread=thread, numbers=db.members(numbers))
    }


def early_in(db: Connection, thread: int) -> dict[bytes, list[Early]]:
    """What waits in a thread, by the checkpoint that it waits for, in order of writing."""
    found: dict[bytes, list[Early]] = {}
    for _, cid, w, task, body in db.all("early_in", threads=db.members([thread])):
        found.setdefault(bytes(cid), []).append(Early(bytes(cid), w, bytes(task), bytes(body)))
    return found


def writes(
    db: Connection,
    whole: Whole,
    early: dict[str, dict[bytes, list[Early]]],
    rows: Sequence[WholeRow],
) -> Iterator[tuple[WholeRow, list[PlacedWrite]]]:
    """The writes on some rows, in the order in which they apply.

    What a fork inherits was there before its first number, so it has numbers below zero. What the
    fork itself wrote on an inherited row is taken out of `early`, by namespace.
    """
    pending: dict[Place, list[Any]] = {}
    for thread, numbers in _by_thread(rows).items():
        found = db.all("pending_on", thread=thread, numbers=db.members(numbers), cut=NEVER)
        for n, w, task, body in found:
            pending.setdefault((thread, n), []).append((w, bytes(task), bytes(body)))
    for row in rows:
        there = pending.get((row.thread, row.n), [])
        if not row.inherited:
            yield row, [PlacedWrite(*write) for write in there]
            continue
        before = [(task, body) for w, task, body in there if w < row.cut]
        before += whole.laid.get(row.namespace, {}).get(row.cid, [])
        placed = [PlacedWrite(w, task, body) for w, (task, body) in enumerate(before, -len(before))]
        own = early.get(row.namespace, {}).pop(row.cid, ())
        placed += [PlacedWrite(*write[1:]) for write in own if write.task != WAITING_FOR_ROOT]
        yield row, placed


def _by_thread(rows: Sequence[WholeRow]) -> dict[int, list[int]]:
    threads: dict[int, list[int]] = {}
    for row in rows:
        threads.setdefault(row.thread, []).append(row.n)
    return threads
