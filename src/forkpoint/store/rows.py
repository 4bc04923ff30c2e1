"""Bodies of checkpoint and write rows: to bytes and back.

A body holds no name that another row holds too: channel names, who has seen what, and who wrote
where are terms. What is left is mostly small integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ormsgpack

from forkpoint.store.cells import Reference
from forkpoint.store.driver import Connection
from forkpoint.store.records import (
    NewCheckpoint,
    Row,
    StoredCheckpoint,
    StoredWrite,
    cid_bytes,
    cid_text,
)
from forkpoint.store.terms import Fresh, Terms

_pack = ormsgpack.packb
_unpack = ormsgpack.unpackb


def checkpoint_body(
    db: Connection,
    terms: Terms,
    fresh: Fresh,
    new: NewCheckpoint,
    references: Mapping[str, Reference],
) -> bytes:
    """The body of a checkpoint row."""
    names = list(new.versions)
    names += [name for name in references if name not in new.versions]
    nodes = [[node, list(seen)] for node, seen in new.seen.items()]
    return _pack(
        [
            terms.number(db, fresh, names),
            list(new.versions.values()),
            [references.get(name) for name in names],
            terms.number(db, fresh, nodes),
            [version for seen in new.seen.values() for version in seen.values()],
            new.extra,
        ]
    )


def empty_body(db: Connection, terms: Terms, fresh: Fresh) -> bytes:
    """The body of a row of which only the place matters."""
    nothing = terms.number(db, fresh, [])
    return _pack([nothing, [], [], nothing, [], None])


def is_empty(body: bytes) -> bool:
    """Whether a checkpoint row's body says nothing."""
    names_term, versions, references, nodes_term, seen_versions, extra = _unpack(body)
    return names_term == nodes_term and not (versions or references or seen_versions or extra)


def read_checkpoint(
    db: Connection, terms: Terms, row: Row, *, session: str, namespace: str, inherited: bool
) -> StoredCheckpoint:
    """A checkpoint row as a record; its parent, writes and cells are for the caller to fill in."""
    names_term, versions, references, nodes_term, seen_versions, extra = _unpack(row.body)
    names = terms.body(db, names_term)
    seen: dict[str, dict[str, Any]] = {}
    at = 0
    for node, channels in terms.body(db, nodes_term):
        seen[node] = dict(zip(channels, seen_versions[at : at + len(channels)], strict=True))
        at += len(channels)
    return StoredCheckpoint(
        session=session,
        namespace=namespace,
        id=cid_text(row.cid),
        parent=None,
        step=row.step,
        versions=dict(zip(names, versions, strict=False)),
        references={
            name: ref for name, ref in zip(names, references, strict=True) if ref is not None
        },
        seen=seen,
        metadata=terms.metadata(db, row.metadata),
        extra=extra,
        size=row.size,
        inherited=inherited,
        place=(row.thread, row.n),
        parent_n=row.parent,
        lane=row.lane,
        turn=row.turn,
    )


def versions_and_references(
    db: Connection, terms: Terms, body: bytes
) -> tuple[dict[str, Any], dict[str, Reference]]:
    """Only the channels of a checkpoint body."""
    names_term, versions, references, *_ = _unpack(body)
    names = terms.body(db, names_term)
    return (
        dict(zip(names, versions, strict=False)),
        {name: ref for name, ref in zip(names, references, strict=True) if ref is not None},
    )


def extra_of(body: bytes) -> Any:
    """Only the part of a checkpoint body that the layer above gave."""
    return _unpack(body)[5]


def write_body(
    db: Connection,
    terms: Terms,
    fresh: Fresh,
    task_path: str,
    writes: Sequence[tuple[int, str, Reference]],
) -> bytes:
    """The body of a row of writes: one call's, all by one task."""
    shape = terms.number(db, fresh, [task_path, [[index, channel] for index, channel, _ in writes]])
    return _pack([shape, [reference for _, _, reference in writes]])


def read_writes(db: Connection, terms: Terms, task: bytes, body: bytes) -> Iterator[StoredWrite]:
    """The writes of one row."""
    shape, references = _unpack(body)
    task_path, places = terms.body(db, shape)
    task_id = cid_text(task)
    for (index, channel), reference in zip(places, references, strict=True):
        yield StoredWrite(task_id, task_path, index, channel, reference)


def merged_writes(writes: Iterator[StoredWrite] | Sequence[StoredWrite]) -> list[StoredWrite]:
    """Writes of one checkpoint as LangGraph applies them: of two at the same place of a task the
    first stays, or the last where the place is a special one; in the order of paths, tasks,
    places."""
    merged: dict[tuple[str, int], StoredWrite] = {}
    for write in writes:
        key = (write.task_id, write.position)
        if write.position < 0 or key not in merged:
            merged[key] = write
    return sorted(merged.values(), key=lambda w: (w.task_path, w.task_id, w.position))


def filtered_write_body(body: bytes, keep: Sequence[int], shape: int) -> bytes:
    """A row of writes with only some of its places, under the term of those."""
    references = _unpack(body)[1]
    return _pack([shape, [references[i] for i in keep]])


def task_bytes(task_id: str) -> bytes:
    """A task id as stored."""
    return cid_bytes(task_id)
