"""Carrying out a fork on a checkpointer that cannot fork by itself, and checking the result.

Checkpoints are written oldest first and the fork point last, its writes before itself, so that a
copy that breaks off never looks like a finished fork. Parents name only checkpoints of the
destination.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph._internal._constants import NULL_TASK_ID
from langgraph.checkpoint.base import (
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    writes_sort_key,
)
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from forkpoint.errors import ConflictError, ForkVerificationError
from forkpoint.timetravel.equality import same
from forkpoint.timetravel.lineage import PREFIX
from forkpoint.timetravel.requests import Call, Plan, Put, PutWrites, read
from forkpoint.timetravel.selecting import Inside
from forkpoint.timetravel.setup import Address, Setup
from forkpoint.timetravel.snapshots import Reading, reading

Progress = Callable[[int, int], Any]
_Version = tuple[str, str, int | float | str]


@dataclass(frozen=True, slots=True)
class Item:
    """One checkpoint to copy."""

    namespace: str
    checkpoint_id: str
    parent_id: str | None
    """None where the copied history begins."""
    writes: Sequence[PendingWrite] | None = None
    """The writes to store instead of those it has."""
    within: Inside | None = None
    """The fork point inside a subgraph that decides which of its own writes it keeps."""
    snapshots: Mapping[str, Any] = field(default_factory=dict)
    """Values of delta channels to store whole."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Entries to add to the metadata."""
    task_paths: Mapping[str, str] = field(default_factory=dict)
    """LangGraph's own task paths by task id, where they are known."""

    def writes_of(self, saved: CheckpointTuple) -> Sequence[PendingWrite]:
        """The writes to store with `saved`."""
        if self.writes is not None:
            return self.writes
        stored = saved.pending_writes or []
        if self.within is None:
            return stored
        return self.within.writes_before(self.namespace, self.checkpoint_id, stored)


def copy(
    source: Address, destination: Address, items: Sequence[Item], progress: Progress | None
) -> Plan[None]:
    """Copy `items` in their order; `progress` is called with (done, total)."""
    stored: set[_Version] = set()
    for done, item in enumerate(items, start=1):
        saved = yield from read(source.thread_id, item.checkpoint_id, item.namespace)
        if saved is None:
            raise ConflictError(
                f"checkpoint {item.checkpoint_id!r} of session {source.session_id!r} was deleted "
                f"while it was copied; session {destination.session_id!r} is incomplete: fork "
                "again into a new session"
            )
        yield from _copy_one(destination, item, saved, stored)
        if progress is not None:
            yield Call(progress, (done, len(items)))


def _copy_one(
    destination: Address, item: Item, saved: CheckpointTuple, stored: set[_Version]
) -> Plan[None]:
    for task_id, path, writes in _by_task(item.writes_of(saved), item.task_paths):
        yield PutWrites(
            destination.thread_id, item.checkpoint_id, writes, task_id, path, item.namespace
        )
    checkpoint = saved.checkpoint
    if item.snapshots:
        checkpoint = {
            **checkpoint,
            "channel_values": {
                **checkpoint["channel_values"],
                **{name: _DeltaSnapshot(value) for name, value in item.snapshots.items()},
            },
        }
    # Some savers keep one value per channel and version. A version that is stored already must not
    # be stored again: without its value (a delta channel's), it would erase it.
    versions = checkpoint["channel_versions"]
    new_versions = {
        channel: version
        for channel, version in versions.items()
        if (item.namespace, channel, version) not in stored
    }
    stored.update((item.namespace, channel, version) for channel, version in versions.items())
    yield Put(
        destination.thread_id,
        checkpoint,
        _copied_metadata(saved, item),
        new_versions,
        item.parent_id,
        item.namespace,
    )


def _copied_metadata(saved: CheckpointTuple, item: Item) -> CheckpointMetadata:
    # A run id that comes back is taken for the same run: LangGraph would ignore the next input.
    metadata: dict[str, Any] = {
        key: value
        for key, value in saved.metadata.items()
        if key != "run_id" and not key.startswith(PREFIX)
    }
    counters = metadata.get("counters_since_delta_snapshot")
    if item.snapshots and isinstance(counters, Mapping):
        left = {name: count for name, count in counters.items() if name not in item.snapshots}
        metadata["counters_since_delta_snapshot"] = left
        if not left:
            del metadata["counters_since_delta_snapshot"]
    return {**metadata, **item.metadata}  # type: ignore[typeddict-item]


def _by_task(
    writes: Sequence[PendingWrite], known_paths: Mapping[str, str]
) -> list[tuple[str, str, list[tuple[str, Any]]]]:
    """Writes by task, with task paths under which they are read back in the order they are in."""
    groups: dict[str, list[tuple[str, Any]]] = {}
    for task_id, channel, value in writes:
        groups.setdefault(task_id, []).append((channel, value))
    paths = {
        task_id: "" if task_id == NULL_TASK_ID else known_paths.get(task_id, "")
        for task_id in groups
    }
    ordered = sorted(groups, key=lambda task_id: writes_sort_key(paths[task_id], task_id))
    if ordered != list(groups):
        paths = {task_id: f"~{index:06d}" for index, task_id in enumerate(groups)}
    return [(task_id, paths[task_id], group) for task_id, group in groups.items()]


def verify(
    setup: Setup, destination: Address, checkpoint_id: str, expected: Expected
) -> Plan[None]:
    """Read a fork back and compare it with what was planned.

    Raises `ForkVerificationError` naming the first difference.
    """
    saved = yield from read(destination.thread_id)
    problem = None
    if saved is None or saved.checkpoint["id"] != checkpoint_id:
        found = saved.checkpoint["id"] if saved is not None else None
        problem = f"its head is {found!r} instead of {checkpoint_id!r}"
    elif not same(dict(saved.checkpoint["channel_versions"]), dict(expected.versions)):
        problem = "its channel versions differ"
    elif expected.writes is not None:
        problem = _difference_in_writes(saved.pending_writes or (), expected.writes)
    if problem is None and saved is not None:
        # What finished tasks wrote is compared as it is stored. Applied, it may differ from one
        # reading to the next: a reducer gives a message without an id a new one each time.
        written = {channel for _, channel, _ in saved.pending_writes or ()}
        problem = _difference_in_values(saved.checkpoint, expected.stored, written)
    if problem is None and saved is not None:
        found_reading = yield from reading(setup, saved, live=True)
        problem = _difference(
            found_reading, expected.reading, written, strict=expected.writes is not None
        )
    _raise_if(problem, destination)


def verify_shape(
    destination: Address, checkpoint: Checkpoint, writes: Sequence[PendingWrite] | None
) -> Plan[None]:
    """Read a fork back that shares its values with its source, and compare everything else.

    `writes` is None where the store decides which go along. Raises `ForkVerificationError`.
    """
    saved = yield from read(destination.thread_id)
    problem = None
    if saved is None or saved.checkpoint["id"] != checkpoint["id"]:
        found = saved.checkpoint["id"] if saved is not None else None
        problem = f"its head is {found!r} instead of {checkpoint['id']!r}"
    elif saved.checkpoint["channel_versions"] != checkpoint["channel_versions"]:
        problem = "its channel versions differ"
    elif saved.checkpoint["versions_seen"] != checkpoint["versions_seen"]:
        problem = "what its nodes have seen differs"
    elif saved.checkpoint["channel_values"].keys() != checkpoint["channel_values"].keys():
        problem = "it has values for other channels"
    elif writes is not None:
        carried = [write[:2] for write in writes]
        if [write[:2] for write in saved.pending_writes or ()] != carried:
            problem = "its pending writes differ"
    _raise_if(problem, destination)


def _raise_if(problem: str | None, destination: Address) -> None:
    if problem is not None:
        raise ForkVerificationError(
            f"the fork in session {destination.session_id!r} is not what was planned: {problem}. "
            "The source is unchanged; fork again into a new session"
        )


@dataclass(frozen=True, slots=True)
class Expected:
    """What a fork must be when it is read back."""

    versions: Mapping[str, Any]
    stored: Mapping[str, Any]
    """Values as the source's checkpoint stores them; delta channels may be stored whole instead."""
    writes: Sequence[PendingWrite] | None
    """None where the checkpointer decides itself which writes go along."""
    reading: Reading


def _difference_in_writes(
    found: Sequence[PendingWrite], expected: Sequence[PendingWrite]
) -> str | None:
    if [write[:2] for write in found] != [write[:2] for write in expected]:
        return "its pending writes differ"
    for (_, channel, value), (_, _, wanted) in zip(found, expected, strict=True):
        if not same(value, wanted):
            return f"a pending write to channel {channel!r} differs"
    return None


def _difference_in_values(
    found: Checkpoint, stored: Mapping[str, Any], written: Collection[str]
) -> str | None:
    values = found["channel_values"]
    for channel in written:
        there = channel in stored and channel in values
        if there and not same(values[channel], stored[channel]):
            return f"the value of channel {channel!r} differs"
    return None


def _difference(
    found: Reading, expected: Reading, written: Collection[str], *, strict: bool
) -> str | None:
    for channel in dict.fromkeys((*expected.values, *found.values)):
        if channel not in found.values or channel not in expected.values:
            return f"channel {channel!r} is in only one of them"
        if channel in written:
            continue
        if strict and not same(found.values[channel], expected.values[channel]):
            return f"the value of channel {channel!r} differs"
    if not strict:
        return None
    if found.next != expected.next:
        return f"next is {found.next}, planned was {expected.next}"
    if [each.id for each in found.interrupts] != [each.id for each in expected.interrupts]:
        return "its open questions differ"
    return None
