"""From a stored checkpoint to the `StateSnapshot` that a reader sees.

A checkpoint can be shown in two forms, and LangGraph shows both. The *record* is what it was:
values at the start of the superstep, every task of it, every question it raised. The *live* form is
what is left to do: tasks that have finished are applied to the values, `next` lists the others,
and only open questions are shown. A session read without a checkpoint id is shown live, anything
addressed by id, or listed, is shown as a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import Checkpoint, CheckpointTuple
from langgraph.checkpoint.serde.types import TASKS

from forkpoint.model import (
    CheckpointRef,
    InterruptRecord,
    PendingTask,
    PendingWrite,
    SnapshotConfig,
    SnapshotMetadata,
    StateSnapshot,
)
from forkpoint.timetravel.graphs import (
    Channels,
    GraphBlueprint,
    Task,
    delta_gaps,
    hydrate,
    sent_nodes,
    split_writes,
)
from forkpoint.timetravel.lineage import PREFIX, Lineage, find_lineage, lineage_of, parent_id
from forkpoint.timetravel.requests import Plan, delta_history, read
from forkpoint.timetravel.setup import Address, Setup

_NAMED_APART = frozenset({"step", "source", "last_event_sequence"})


@dataclass(frozen=True, slots=True)
class Reading:
    """What a checkpoint says under a graph, before it is dressed as a snapshot."""

    values: dict[str, Any]
    tasks: tuple[Task, ...]
    """The tasks that are next: all of them in a record, unfinished ones in the live form."""
    interrupts: tuple[InterruptRecord, ...]
    paths: Mapping[str, str]
    """LangGraph's task path of every task of the superstep, by task id."""

    @property
    def next(self) -> tuple[str, ...]:
        return tuple(task.name for task in self.tasks)


def hydrated(setup: Setup, saved: CheckpointTuple) -> Plan[Channels]:
    """The channels of a checkpoint, delta channels rebuilt."""
    specs = setup.blueprint.specs()
    histories = yield from delta_history(saved.config, delta_gaps(specs, saved.checkpoint))
    return hydrate(specs, saved.checkpoint, histories)


def reading(setup: Setup, saved: CheckpointTuple, *, live: bool) -> Plan[Reading]:
    """Values, next tasks and questions of `saved`, which is used up: its values may be changed."""
    blueprint = setup.blueprint
    if isinstance(blueprint, GraphBlueprint):
        blueprint.graph._migrate_checkpoint(saved.checkpoint)
    channels = yield from hydrated(setup, saved)
    tasks = blueprint.tasks(saved, channels)
    paths = {task.id: task.path for task in tasks}
    given, statuses = split_writes(saved)
    if given:
        blueprint.apply(saved.checkpoint, channels, [(None, given)])
    names = {task.id: task.name for task in tasks}
    finished = {task_id for task_id, status in statuses.items() if status.finished}
    if live:
        results = [(task, statuses[task.id].output) for task in tasks if task.id in finished]
        blueprint.apply(saved.checkpoint, channels, results)
        tasks = [task for task in tasks if task.id not in finished]
    interrupts = []
    for task_id, status in statuses.items():
        if isinstance(blueprint, GraphBlueprint) and task_id not in names:
            continue
        asked = status.pending_interrupts if live else status.interrupts
        interrupts += [InterruptRecord(each.id, each.value, names.get(task_id)) for each in asked]
    order = {name: index for index, name in enumerate(dict.fromkeys(names.values()))}
    interrupts.sort(key=lambda each: order.get(each.node or "", len(order)))
    values = blueprint.values(channels, saved.checkpoint)
    return Reading(values, tuple(tasks), tuple(interrupts), paths)


def snapshot(
    setup: Setup,
    address: Address,
    saved: CheckpointTuple,
    lineage: Lineage | None,
    *,
    live: bool,
    parent: CheckpointTuple | None = None,
) -> Plan[StateSnapshot]:
    """`saved` as a snapshot. `parent` is the checkpoint before it, where it is at hand."""
    metadata = yield from _metadata(address, saved, lineage, parent)
    versions = dict(saved.checkpoint["channel_versions"])
    writes = tuple(PendingWrite(*write) for write in saved.pending_writes or ())
    read_as = yield from reading(setup, saved, live=live)
    return StateSnapshot(
        values=read_as.values,
        pending_tasks=tuple(PendingTask(t.id, t.name, t.input) for t in read_as.tasks),
        pending_writes=writes,
        metadata=metadata,
        config=SnapshotConfig(
            address.session_id, saved.checkpoint["id"], address.thread_id, address.namespace
        ),
        next=read_as.next,
        channel_versions=versions,
        interrupts=read_as.interrupts,
    )


def lineage_for(setup: Setup, address: Address, saved: CheckpointTuple) -> Plan[Lineage | None]:
    """The lineage that `saved` should show: its session's, when it is the fork point."""
    if not setup.native:
        return lineage_of(saved)
    if address.namespace:
        return None
    return (yield from find_lineage(setup, address.thread_id))


def _metadata(
    address: Address,
    saved: CheckpointTuple,
    lineage: Lineage | None,
    parent: CheckpointTuple | None,
) -> Plan[SnapshotMetadata]:
    stored: Mapping[str, Any] = dict(saved.metadata)
    identifier = saved.checkpoint["id"]
    is_fork_point = lineage is not None and lineage.fork_point == identifier
    cursor = stored.get("last_event_sequence")
    before = parent_id(saved)
    parents: Sequence[str] = (before,) if before else ()
    if is_fork_point and lineage is not None:
        parents = (lineage.origin.checkpoint_id,)
    nodes = yield from _writers(address, saved, parent)
    return SnapshotMetadata(
        step=int(stored.get("step", -1)),
        timestamp=str(saved.checkpoint.get("ts", "")),
        source="fork" if is_fork_point else str(stored.get("source", "loop")),
        written_by=", ".join(nodes) or None,
        parents=tuple(parents),
        forked_from=(
            CheckpointRef(lineage.origin.session_id, lineage.origin.checkpoint_id)
            if is_fork_point and lineage is not None
            else None
        ),
        last_event_sequence=cursor if isinstance(cursor, int) else None,
        extra={
            key: value
            for key, value in stored.items()
            if key not in _NAMED_APART and not key.startswith(PREFIX)
        },
    )


def _writers(
    address: Address, saved: CheckpointTuple, parent: CheckpointTuple | None
) -> Plan[tuple[str, ...]]:
    if saved.metadata.get("source") != "loop":
        return ()
    sent: tuple[str, ...] = ()
    if consumed_sends(saved.checkpoint):
        before = parent_id(saved)
        if before is not None and (parent is None or parent.checkpoint["id"] != before):
            parent = yield from read(address.thread_id, before, address.namespace)
        if parent is not None and before is not None:
            sent = sent_nodes(parent.checkpoint)
    return tuple(dict.fromkeys((*triggered_nodes(saved.checkpoint), *sent)))


def consumed_sends(checkpoint: Checkpoint) -> bool:
    """Whether the superstep that made `checkpoint` may have run queued `Send`s."""
    versions = checkpoint["channel_versions"]
    return TASKS in versions and _number(versions[TASKS]) == _newest(checkpoint)


def triggered_nodes(checkpoint: Checkpoint) -> tuple[str, ...]:
    """The nodes whose triggers the superstep that made `checkpoint` consumed.

    A superstep gives all it touches one version, the highest before it plus one; the nodes that ran
    in it have seen the highest before it.
    """
    before = _newest(checkpoint) - 1
    return tuple(
        node
        for node, seen in checkpoint["versions_seen"].items()
        if node not in ("__interrupt__", "__input__", "__snapshot_bumps__")
        and any(_number(version) == before for version in seen.values())
    )


def _newest(checkpoint: Checkpoint) -> float:
    return max(map(_number, checkpoint["channel_versions"].values()), default=0)


def _number(version: int | float | str) -> float:
    if isinstance(version, str):
        head = version.partition(".")[0]
        return int(head) if head.isdigit() else 0
    return version


def matches_source(shown: SnapshotMetadata, stored: Mapping[str, Any], wanted: str | None) -> bool:
    """Whether a ``source=`` filter accepts a checkpoint: by its source, or by who wrote it."""
    if wanted is None or wanted in (shown.source, stored.get("source")):
        return True
    return wanted in (shown.written_by or "").split(", ")
