"""Writing state as if nodes had returned it, in memory first and stored once.

All supersteps are applied to the channels of one checkpoint; only when the last of them has gone
through is anything stored, as one checkpoint. So a bad write in the last superstep leaves nothing.

**With a graph**, each `Write` runs its node's writers, as LangGraph's ``update_state`` does: edges
and branches are followed, so that `next` is what would come after the node. **With channels only**,
values go to the channels they name; a version rises by one step of the checkpointer's own counter
for each superstep that touches the channel, and nothing else moves.

Delta channels that the update touched, or that wait for writes recorded on the checkpoint it
builds on, are stored as a snapshot: their reader would otherwise replay those recorded writes,
which belong to another successor.
"""

from __future__ import annotations

import uuid
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.runnables import Runnable, RunnableSequence
from langgraph._internal._config import ensure_config, patch_config
from langgraph._internal._constants import (
    CONFIG_KEY_READ,
    CONFIG_KEY_SEND,
    CONFIG_KEY_TASK_ID,
    INTERRUPT,
)
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.base.id import uuid6
from langgraph.pregel._algo import PregelTaskWrites, _scratchpad, apply_writes, local_read
from langgraph.pregel._checkpoint import copy_checkpoint, create_checkpoint

from forkpoint.errors import (
    CapabilityError,
    ForkpointError,
    InvalidArgumentError,
    NoCheckpointError,
    UnknownNodeError,
)
from forkpoint.model import StateSnapshot, Write
from forkpoint.timetravel.graphs import ChannelBlueprint, Channels, GraphBlueprint
from forkpoint.timetravel.history import get_state
from forkpoint.timetravel.lineage import require
from forkpoint.timetravel.requests import Invoke, Plan, Put, read
from forkpoint.timetravel.setup import Address, Setup
from forkpoint.timetravel.snapshots import hydrated

Supersteps = Sequence[Sequence[Write]]


@dataclass(frozen=True, slots=True)
class Update:
    """A checkpoint ready to be stored."""

    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new_versions: dict[str, int | float | str]
    parent_id: str


def bulk_update_state(
    setup: Setup, address: Address, supersteps: Supersteps, checkpoint_id: str | None
) -> Plan[StateSnapshot]:
    """Apply supersteps to a checkpoint and store one checkpoint after it."""
    require_channels(setup, "bulk_update_state")
    head = yield from read(address.thread_id)
    if head is None:
        raise NoCheckpointError(
            f"session {address.session_id!r} has no checkpoint to update: "
            "use fork for the first checkpoint of a new session"
        )
    saved = yield from require(setup, address, checkpoint_id)
    update = yield from prepare(
        setup, saved, supersteps, source="bulk_update", above=head.checkpoint["id"]
    )
    yield from store(address, update)
    return (yield from get_state(setup, address, None))


def require_channels(setup: Setup, asked: str) -> None:
    """Refuse what cannot be done without knowing the reducers."""
    if not setup.blueprint.knows_channels:
        raise CapabilityError(
            f"{asked} applies values through the channels' reducers, which are not known: "
            "construct TimeTravel with a graph, or with create_channels"
        )


def store(address: Address, update: Update) -> Plan[None]:
    """Store a prepared update."""
    yield Put(
        address.thread_id,
        update.checkpoint,
        update.metadata,
        update.new_versions,
        update.parent_id,
        address.namespace,
    )


def prepare(
    setup: Setup, saved: CheckpointTuple, supersteps: Supersteps, *, source: str, above: str
) -> Plan[Update]:
    """Apply supersteps in memory. The new checkpoint's id is larger than `above`.

    Raises `InvalidArgumentError` (`UnknownNodeError` for a node) naming the write at fault.
    """
    blueprint = setup.blueprint
    assert isinstance(blueprint, (GraphBlueprint, ChannelBlueprint))
    if isinstance(blueprint, GraphBlueprint):
        blueprint.graph._migrate_checkpoint(saved.checkpoint)
    checkpoint = copy_checkpoint(saved.checkpoint)
    channels = yield from hydrated(setup, saved)
    before = dict(saved.checkpoint["channel_versions"])
    step = int(saved.metadata.get("step", -1))
    touched: set[str] = set()
    for number, writes in enumerate(supersteps):
        if isinstance(blueprint, GraphBlueprint):
            changed = yield from _run_superstep(setup, checkpoint, channels, writes, number, step)
        else:
            changed = _apply_superstep(setup, checkpoint, channels, writes, number)
        touched |= changed
    pending = {channel for _, channel, _ in saved.pending_writes or ()}
    snapshots = {
        name
        for name, channel in channels.items()
        if isinstance(channel, DeltaChannel) and name in touched | pending
    }
    sealed = create_checkpoint(
        checkpoint,
        channels,
        step + 1,
        id=_identifier_above(above, step + 1),
        get_next_version=setup.saver.get_next_version,
        channels_to_snapshot=snapshots,
        stored_versions=before,
        trigger_to_nodes=blueprint.subscribers,
    )
    for name, value in saved.checkpoint["channel_values"].items():
        if name not in channels and isinstance(blueprint, ChannelBlueprint):
            sealed["channel_values"][name] = value
    new_versions = {
        name: version
        for name, version in sealed["channel_versions"].items()
        if before.get(name) != version
    }
    metadata = _metadata(saved, source, step + 1, channels, touched, snapshots)
    return Update(sealed, metadata, new_versions, saved.checkpoint["id"])


def _run_superstep(
    setup: Setup,
    checkpoint: Checkpoint,
    channels: Channels,
    writes: Sequence[Write],
    number: int,
    step: int,
) -> Plan[set[str]]:
    blueprint = setup.blueprint
    assert isinstance(blueprint, GraphBlueprint)
    graph = blueprint.graph
    tasks = []
    for position, write in enumerate(writes):
        where = f"supersteps[{number}][{position}]"
        if write.node not in graph.nodes:
            raise UnknownNodeError(
                f"{where}.node",
                f"the graph has no node {write.node!r}; it has {sorted(blueprint.nodes)}",
            )
        writers = graph.nodes[write.node].flat_writers
        if not writers:
            raise UnknownNodeError(f"{where}.node", f"node {write.node!r} writes nothing")
        run: Runnable[Any, Any] = RunnableSequence(*writers) if len(writers) > 1 else writers[0]
        produced: deque[tuple[str, Any]] = deque()
        task = PregelTaskWrites((INTERRUPT, position), write.node, produced, [INTERRUPT])
        task_id = str(uuid.uuid4())
        pad = _scratchpad(None, [], task_id, "", None, step + number, step + number + 2)
        config = patch_config(
            ensure_config(graph.config),
            run_name="UpdateState",
            configurable={
                CONFIG_KEY_SEND: produced.extend,
                CONFIG_KEY_TASK_ID: task_id,
                CONFIG_KEY_READ: partial(local_read, pad, channels, blueprint.managed(), task),
            },
        )
        try:
            yield Invoke(run, write.values, config)
        except ForkpointError:
            raise
        except Exception as error:
            raise _refused(where, write, error) from error
        tasks.append(task)
    try:
        apply_writes(
            checkpoint, channels, tasks, setup.saver.get_next_version, graph.trigger_to_nodes
        )
    except Exception as error:
        raise _refused(f"supersteps[{number}]", writes[0], error) from error
    return {channel for task in tasks for channel, _ in task.writes}


def _apply_superstep(
    setup: Setup,
    checkpoint: Checkpoint,
    channels: Channels,
    writes: Sequence[Write],
    number: int,
) -> set[str]:
    by_channel: defaultdict[str, list[Any]] = defaultdict(list)
    for position, write in enumerate(writes):
        where = f"supersteps[{number}][{position}]"
        for channel, value in _channel_values(write, channels, where).items():
            by_channel[channel].append(value)
    versions = checkpoint["channel_versions"]
    for channel, values in by_channel.items():
        try:
            changed = channels[channel].update(values)
        except Exception as error:
            culprit = Write(channel, values)
            raise _refused(f"supersteps[{number}]", culprit, error) from error
        if changed:
            versions[channel] = setup.saver.get_next_version(versions.get(channel), None)
    return set(by_channel)


def _channel_values(write: Write, channels: Channels, where: str) -> Mapping[str, Any]:
    """The channels that a write goes to: those its keys name, else the one its node names."""
    values = write.values
    if values is None:
        return {}
    if isinstance(values, Mapping) and all(key in channels for key in values):
        return values
    if write.node in channels:
        return {write.node: values}
    if isinstance(values, Mapping):
        unknown = sorted(str(key) for key in values if key not in channels)
        raise InvalidArgumentError(
            f"{where}.values", f"no channel is named {unknown}; there are {sorted(channels)}"
        )
    raise InvalidArgumentError(
        f"{where}.values",
        f"expected a mapping of channel to value, got {type(values).__name__}, and no channel is "
        f"named {write.node!r}",
    )


def _refused(where: str, write: Write, error: Exception) -> InvalidArgumentError:
    return InvalidArgumentError(
        where, f"the values for {write.node!r} cannot be applied: {type(error).__name__}: {error}"
    )


def _metadata(
    saved: CheckpointTuple,
    source: str,
    step: int,
    channels: Channels,
    touched: set[str],
    snapshots: set[str],
) -> CheckpointMetadata:
    stored: Mapping[str, Any] = dict(saved.metadata)
    metadata: dict[str, Any] = {
        "source": source,
        "step": step,
        "parents": stored.get("parents", {}),
    }
    counters = {}
    for name, channel in channels.items():
        if isinstance(channel, DeltaChannel) and name not in snapshots:
            updates, steps = stored.get("counters_since_delta_snapshot", {}).get(name, (0, 0))
            counters[name] = (updates + (name in touched), steps + 1)
    if counters:
        metadata["counters_since_delta_snapshot"] = counters
    return metadata  # type: ignore[return-value]


def _identifier_above(other: str, step: int) -> str:
    """A new checkpoint id that sorts after `other`, even when this machine's clock is behind.

    Stock savers take the largest id of a thread for its head: a smaller one would be stored and
    never seen.
    """
    fresh = str(uuid6(clock_seq=step))
    if fresh > other:
        return fresh
    try:
        number = uuid.UUID(other).int
    except ValueError:
        return fresh
    # The lowest bits of uuid6's time; a carry must step over the version between time fields.
    time_low = 1 << 64
    version_field = 0xF << 76
    raised = number + time_low
    if raised & version_field != number & version_field:
        raised = (number & ~(0xFFF << 64)) + (1 << 80)
    return str(uuid.UUID(int=raised))
