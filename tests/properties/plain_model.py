"""What a saver means, as plain dictionaries: no sharing, no cuts, a fork is a copy.

Everything is by value. A checkpoint that was pruned or deleted with its run stays in the model as
hidden, because delta channels of what is kept are still rebuilt from it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP

from forkpoint import PendingPolicy

Key = tuple[str, str]
"""Namespace and checkpoint id."""


@dataclass
class Record:
    """One checkpoint as one thread sees it."""

    namespace: str
    id: str
    parent: str | None
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    order: int
    hidden: bool = False
    inherited: bool = False

    @property
    def key(self) -> Key:
        return (self.namespace, self.id)

    @property
    def root(self) -> str:
        """The root namespace's checkpoint this one belongs to."""
        found: str = self.metadata["parents"][""]
        return found


@dataclass
class WriteRecord:
    """One write on a checkpoint."""

    task: str
    path: str
    index: int
    channel: str
    value: Any


@dataclass
class Thread:
    """One thread: its checkpoints in order of writing, and the writes on them."""

    records: dict[Key, Record] = field(default_factory=dict)
    writes: dict[Key, dict[tuple[str, int], WriteRecord]] = field(default_factory=dict)

    def visible(self, namespace: str | None = None) -> list[Record]:
        """What a listing shows, newest first."""
        shown = [
            record
            for record in self.records.values()
            if not record.hidden and namespace in (None, record.namespace)
        ]
        return sorted(shown, key=lambda record: -record.order)

    def head(self, namespace: str) -> Record | None:
        """The current checkpoint of a namespace."""
        shown = self.visible(namespace)
        return shown[0] if shown else None

    def namespaces(self) -> list[str]:
        """The namespaces that have something to show."""
        return sorted({record.namespace for record in self.visible()})

    def pending(self, key: Key) -> list[WriteRecord]:
        """The writes on a checkpoint in the order in which they apply."""
        found = self.writes.get(key, {}).values()
        return sorted(found, key=lambda write: (write.path, write.task, write.index))

    def ancestors(self, key: Key) -> Iterator[Record]:
        """The chain above a checkpoint, nearest first, hidden ones included."""
        parent = self.records[key].parent
        while parent is not None:
            record = self.records[(key[0], parent)]
            yield record
            parent = record.parent

    def has_child(self, key: Key) -> bool:
        """Whether the thread has gone on from a checkpoint."""
        return any(
            record.parent == key[1] and record.namespace == key[0] and not record.hidden
            for record in self.records.values()
        )

    def delta_history(self, key: Key, channels: Sequence[str]) -> dict[str, dict[str, Any]]:
        """As `get_delta_channel_history` documents it."""
        result: dict[str, dict[str, Any]] = {}
        for channel in channels:
            writes: list[tuple[str, str, Any]] = []
            entry: dict[str, Any] = {}
            for record in self.ancestors(key):
                here = [
                    (write.task, write.channel, write.value)
                    for write in self.pending(record.key)
                    if write.channel == channel
                ]
                writes = here + writes
                if channel in record.checkpoint["channel_values"]:
                    entry["seed"] = record.checkpoint["channel_values"][channel]
                    break
            result[channel] = {"writes": writes, **entry}
        return result


class Model:
    """All threads of a database."""

    def __init__(self) -> None:
        self.threads: dict[str, Thread] = {}
        self.deleted: dict[str, list[Key]] = {}
        self._order = 0

    def _next(self) -> int:
        self._order += 1
        return self._order

    def put(
        self,
        thread: str,
        namespace: str,
        parent: str | None,
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
    ) -> None:
        self.deleted.pop(thread, None)
        record = Record(
            namespace,
            checkpoint["id"],
            parent,
            copy.deepcopy(dict(checkpoint)),
            copy.deepcopy(dict(metadata)),
            self._next(),
        )
        self.threads.setdefault(thread, Thread()).records[record.key] = record

    def put_writes(
        self, thread: str, key: Key, writes: Sequence[tuple[str, Any]], task: str, path: str
    ) -> None:
        stored = self.threads[thread].writes.setdefault(key, {})
        for position, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, position)
            if index >= 0 and (task, index) in stored:
                continue
            stored[(task, index)] = WriteRecord(task, path, index, channel, copy.deepcopy(value))

    def fork(
        self, source: str, checkpoint_id: str, destination: str, pending: PendingPolicy
    ) -> None:
        old = self.threads[source]
        point = old.records[("", checkpoint_id)]
        superseded = old.has_child(point.key)
        inside = not superseded and pending in ("auto", "keep")
        above = {record.id for record in old.ancestors(point.key)}
        new = Thread()
        for record in sorted(old.records.values(), key=lambda record: record.order):
            if record.namespace:
                taken = record.root in above or (record.root == point.id and inside)
            else:
                taken = record.id in above or record is point
            if not taken:
                continue
            copied = replace(copy.deepcopy(record), inherited=True, order=self._next())
            if record is point:
                copied.metadata.pop("run_id", None)
            new.records[copied.key] = copied
            writes = old.writes.get(record.key, {})
            if record is point:
                writes = {
                    key: write
                    for key, write in writes.items()
                    if _goes_along(write.channel, pending, superseded)
                }
            if writes:
                new.writes[copied.key] = copy.deepcopy(writes)
        self.threads[destination] = new

    def copy_thread(self, source: str, target: str) -> None:
        old = self.threads[source]
        new = Thread()
        for record in sorted(old.records.values(), key=lambda record: record.order):
            # A copy of a fork stands on the same base: what the fork inherits, the copy does.
            copied = replace(copy.deepcopy(record), order=self._next())
            new.records[copied.key] = copied
            if record.key in old.writes:
                new.writes[record.key] = copy.deepcopy(old.writes[record.key])
        self.threads[target] = new

    def detach(self, thread: str) -> None:
        for record in self.threads[thread].records.values():
            record.inherited = False

    def delete(self, thread: str) -> None:
        gone = self.threads.pop(thread)
        self.deleted[thread] = [record.key for record in gone.visible()]

    def keep_latest(self, thread: str) -> None:
        found = self.threads[thread]
        kept = [found.head(namespace) for namespace in found.namespaces()]
        for record in found.records.values():
            if not any(record is one for one in kept):
                record.hidden = True

    def delete_for_runs(self, runs: Sequence[str]) -> None:
        for thread in self.threads.values():
            for record in thread.records.values():
                if not record.inherited and record.metadata.get("run_id") in runs:
                    record.hidden = True


def _goes_along(channel: str, pending: PendingPolicy, superseded: bool) -> bool:
    if pending == "auto":
        return not superseded or channel == "__interrupt__"
    if pending == "keep":
        return channel != "__resume__"
    return pending == "reask" and channel == "__interrupt__"
