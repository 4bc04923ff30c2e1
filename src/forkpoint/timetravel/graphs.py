"""What is known about the graph behind a checkpointer, in three degrees.

- `GraphBlueprint`: a compiled graph. Channels, reducers, nodes, triggers and node writers are read
  off it, and tasks are found with LangGraph's own function, so `next`, task ids and interrupts
  are LangGraph's.
- `ChannelBlueprint`: channels made by the caller's function, and which node subscribes to what.
- `BareBlueprint`: nothing. Values are shown as they are stored.

This is the only module of the package that reaches into `langgraph.pregel`: checkpoints name
tasks by a hash of their position, and no public function gives it.
"""

from __future__ import annotations

import binascii
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from langgraph._internal._constants import NULL_TASK_ID, PULL, PUSH
from langgraph._internal._typing import MISSING
from langgraph.channels.base import BaseChannel
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    Checkpoint,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.types import TASKS, _DeltaSnapshot
from langgraph.errors import EmptyChannelError
from langgraph.pregel import Pregel
from langgraph.pregel._algo import (
    PregelTaskWrites,
    _uuid5_str,
    _xxhash_str,
    apply_writes,
    prepare_next_tasks,
    task_path_str,
)
from langgraph.pregel._task_status import read_task_statuses

from forkpoint.errors import InvalidArgumentError

Channels = dict[str, BaseChannel[Any, Any, Any]]

#: Channels of LangGraph's own that hold positions or inputs, not state.
BOOKKEEPING = frozenset({"__start__", "__input__", "__previous__", TASKS})


@dataclass(frozen=True, slots=True)
class Task:
    """A task of the superstep that follows a checkpoint."""

    id: str
    name: str
    input: Any
    path: str
    """LangGraph's text form of the task's position: the order in which writes are applied."""
    triggers: tuple[str, ...] = ()


class Blueprint(Protocol):
    """What the algorithms of this package ask about a graph."""

    @property
    def knows_channels(self) -> bool:
        """Whether `specs` says anything."""
        ...

    def specs(self) -> Channels:
        """Fresh, empty channels by name."""
        ...

    def tasks(self, saved: CheckpointTuple, channels: Channels) -> list[Task]:
        """Every task of the superstep that follows `saved`, finished ones too."""
        ...

    def apply(
        self, checkpoint: Checkpoint, channels: Channels, tasks: Sequence[tuple[Task | None, Any]]
    ) -> None:
        """Apply recorded writes (pairs of task and its writes) to `channels` for display."""
        ...

    def values(self, channels: Channels, checkpoint: Checkpoint) -> dict[str, Any]:
        """The state as a reader sees it."""
        ...

    def missing(self, checkpoint: Checkpoint) -> tuple[str, ...]:
        """Nodes with pending work in `checkpoint` that the graph does not have."""
        ...


def delta_gaps(specs: Channels, checkpoint: Checkpoint) -> list[str]:
    """Delta channels whose value at `checkpoint` must be rebuilt from its ancestors' writes."""
    return [
        name
        for name, spec in specs.items()
        if isinstance(spec, DeltaChannel)
        and name in checkpoint["channel_versions"]
        and name not in checkpoint["channel_values"]
    ]


def hydrate(
    specs: Channels,
    checkpoint: Checkpoint,
    histories: Mapping[str, DeltaChannelHistory],
) -> Channels:
    """Channels filled with what they held at `checkpoint`."""
    channels: Channels = {}
    for name, spec in specs.items():
        if name in histories:
            history = histories[name]
            channel = _from_stored(spec, history, "seed")
            if isinstance(channel, DeltaChannel):
                channel.replay_writes(history["writes"])
        else:
            channel = _from_stored(spec, checkpoint["channel_values"], name)
        channel.key = name
        channels[name] = channel
    return channels


def _from_stored(
    spec: BaseChannel[Any, Any, Any], stored: Mapping[str, Any], name: str
) -> BaseChannel[Any, Any, Any]:
    return spec.from_checkpoint(stored[name]) if name in stored else _emptied(spec)


def _emptied(spec: BaseChannel[Any, Any, Any]) -> BaseChannel[Any, Any, Any]:
    return spec.from_checkpoint(MISSING)


def is_bookkeeping(channel: str) -> bool:
    """Whether a channel holds LangGraph's position rather than state."""
    return channel in BOOKKEEPING or channel.startswith(("branch:", "join:"))


def stored_values(checkpoint: Checkpoint) -> dict[str, Any]:
    """The state of a checkpoint as it is stored, snapshots of delta channels unwrapped."""
    return {
        name: value.value if isinstance(value, _DeltaSnapshot) else value
        for name, value in checkpoint["channel_values"].items()
        if not is_bookkeeping(name)
    }


def pending_nodes(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Nodes that the checkpoint itself names as next, whether or not a graph has them."""
    names = [
        channel.removeprefix("branch:to:")
        for channel in checkpoint["channel_values"]
        if channel.startswith("branch:to:")
    ]
    names += [channel.rpartition(":")[2] for channel in _waiting_joins(checkpoint)]
    names += sent_nodes(checkpoint)
    return tuple(dict.fromkeys(names))


def sent_nodes(checkpoint: Checkpoint) -> tuple[str, ...]:
    """The nodes that queued `Send`s of a checkpoint go to, in order."""
    sends = checkpoint["channel_values"].get(TASKS)
    if not isinstance(sends, list):
        return ()
    return tuple(send.node for send in sends if hasattr(send, "node"))


def _waiting_joins(checkpoint: Checkpoint) -> list[str]:
    return [
        channel
        for channel, value in checkpoint["channel_values"].items()
        if channel.startswith("join:") and value
    ]


@dataclass(frozen=True, slots=True)
class GraphBlueprint:
    """A compiled graph."""

    graph: Pregel[Any, Any, Any, Any]
    saver: BaseCheckpointSaver[Any]
    knows_channels: bool = True

    def specs(self) -> Channels:
        return {
            name: spec
            for name, spec in self.graph.channels.items()
            if isinstance(spec, BaseChannel)
        }

    def managed(self) -> dict[str, Any]:
        """Values that LangGraph computes for a step, such as the steps that remain."""
        return {
            name: spec
            for name, spec in self.graph.channels.items()
            if not isinstance(spec, BaseChannel)
        }

    @property
    def nodes(self) -> tuple[str, ...]:
        """The graph's own nodes, without the entry that takes its input."""
        return tuple(name for name in self.graph.nodes if name != "__start__")

    @property
    def subscribers(self) -> Mapping[str, Sequence[str]]:
        """Nodes by the channel that triggers them."""
        return self.graph.trigger_to_nodes

    def tasks(self, saved: CheckpointTuple, channels: Channels) -> list[Task]:
        step = int(saved.metadata.get("step", -1)) + 1
        prepared = prepare_next_tasks(
            saved.checkpoint,
            list(saved.pending_writes or []),
            self.graph.nodes,
            channels,
            self.managed(),
            saved.config,
            step,
            step + 2,
            for_execution=True,
            store=self.graph.store,
            checkpointer=self.saver,
            manager=None,
        )
        return [
            Task(task.id, task.name, task.input, task_path_str(task.path), tuple(task.triggers))
            for task in prepared.values()
        ]

    def apply(
        self, checkpoint: Checkpoint, channels: Channels, tasks: Sequence[tuple[Task | None, Any]]
    ) -> None:
        groups = [
            PregelTaskWrites((), "__input__", list(writes), [])
            if task is None
            else PregelTaskWrites((task.path,), task.name, list(writes), task.triggers)
            for task, writes in tasks
        ]
        if groups:
            apply_writes(checkpoint, channels, groups, None, self.graph.trigger_to_nodes)

    def values(self, channels: Channels, checkpoint: Checkpoint) -> dict[str, Any]:
        shown = self.graph.stream_channels_asis
        names = [shown] if isinstance(shown, str) else shown
        return _available(channels, names)

    def missing(self, checkpoint: Checkpoint) -> tuple[str, ...]:
        return tuple(node for node in pending_nodes(checkpoint) if node not in self.graph.nodes)


@dataclass(frozen=True, slots=True)
class ChannelBlueprint:
    """Channels made by the caller, and what each node subscribes to."""

    create_channels: Callable[[], Mapping[str, BaseChannel[Any, Any, Any]]]
    subscriptions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    knows_channels: bool = True

    def specs(self) -> Channels:
        made = self.create_channels()
        if not isinstance(made, Mapping):
            raise InvalidArgumentError(
                "create_channels",
                f"must return a mapping of name to channel, returned {type(made).__name__}",
            )
        channels: Channels = {}
        for name, channel in made.items():
            if isinstance(channel, BaseChannel):
                channel.key = name
                channels[name] = channel
        return channels

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that subscribe to something."""
        return tuple(self.subscriptions)

    @property
    def subscribers(self) -> Mapping[str, Sequence[str]]:
        """Nodes by the channel that triggers them."""
        by_channel: defaultdict[str, list[str]] = defaultdict(list)
        for node, channels in self.subscriptions.items():
            for channel in channels:
                by_channel[channel].append(node)
        return by_channel

    def tasks(self, saved: CheckpointTuple, channels: Channels) -> list[Task]:
        if not self.subscriptions:
            return []
        naming = _TaskNaming(saved)
        checkpoint = saved.checkpoint
        tasks = []
        sends = checkpoint["channel_values"].get(TASKS)
        for index, send in enumerate(sends if isinstance(sends, list) else ()):
            tasks.append(
                Task(
                    naming.pushed(send.node, index),
                    send.node,
                    send.arg,
                    task_path_str((PUSH, index, False)),
                )
            )
        for node, subscribed in self.subscriptions.items():
            if self._is_due(node, subscribed, checkpoint, channels):
                triggers = tuple(sorted(subscribed))
                path = task_path_str((PULL, node))
                tasks.append(Task(naming.pulled(node, triggers), node, None, path, triggers))
        return tasks

    def _is_due(
        self, node: str, subscribed: Iterable[str], checkpoint: Checkpoint, channels: Channels
    ) -> bool:
        versions = checkpoint["channel_versions"]
        seen = checkpoint["versions_seen"].get(node, {})
        for channel in subscribed:
            version = versions.get(channel)
            if version is None or not _holds(channel, checkpoint, channels):
                continue
            if version > seen.get(channel, type(version)()):  # type: ignore[operator]
                return True
        return False

    def apply(
        self, checkpoint: Checkpoint, channels: Channels, tasks: Sequence[tuple[Task | None, Any]]
    ) -> None:
        ordered = sorted(tasks, key=lambda pair: pair[0].path if pair[0] else "")
        by_channel: defaultdict[str, list[Any]] = defaultdict(list)
        for _, writes in ordered:
            for channel, value in writes:
                if channel in channels:
                    by_channel[channel].append(value)
        for channel, values in by_channel.items():
            channels[channel].update(values)

    def values(self, channels: Channels, checkpoint: Checkpoint) -> dict[str, Any]:
        return _available(channels, [name for name in channels if not is_bookkeeping(name)])

    def missing(self, checkpoint: Checkpoint) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class BareBlueprint:
    """A checkpointer alone."""

    knows_channels: bool = False

    def specs(self) -> Channels:
        return {}

    def tasks(self, saved: CheckpointTuple, channels: Channels) -> list[Task]:
        return []

    def apply(
        self, checkpoint: Checkpoint, channels: Channels, tasks: Sequence[tuple[Task | None, Any]]
    ) -> None:
        return None

    def values(self, channels: Channels, checkpoint: Checkpoint) -> dict[str, Any]:
        return stored_values(checkpoint)

    def missing(self, checkpoint: Checkpoint) -> tuple[str, ...]:
        return ()


class _TaskNaming:
    """LangGraph's task ids, computed from where a task stands."""

    def __init__(self, saved: CheckpointTuple) -> None:
        self._namespace = saved.config["configurable"].get("checkpoint_ns", "")
        self._step = str(int(saved.metadata.get("step", -1)) + 1)
        self._hash = _xxhash_str if saved.checkpoint.get("v", 1) > 1 else _uuid5_str
        identifier = saved.checkpoint["id"]
        try:
            self._seed = binascii.unhexlify(identifier.replace("-", ""))
        except ValueError:
            # Not a UUID: LangGraph could not run from it, but it can still be shown.
            self._seed = identifier.encode()

    def pulled(self, node: str, triggers: Sequence[str]) -> str:
        return self._hash(self._seed, self._in(node), self._step, node, PULL, *triggers)

    def pushed(self, node: str, index: int) -> str:
        return self._hash(self._seed, self._in(node), self._step, node, PUSH, str(index))

    def _in(self, node: str) -> str:
        return f"{self._namespace}|{node}" if self._namespace else node


def _holds(channel: str, checkpoint: Checkpoint, channels: Channels) -> bool:
    if channel in channels:
        return channels[channel].is_available()
    # A trigger that was consumed has a new version and no value.
    return not is_bookkeeping(channel) or channel in checkpoint["channel_values"]


def _available(channels: Channels, names: Iterable[str]) -> dict[str, Any]:
    values = {}
    for name in names:
        try:
            values[name] = channels[name].get()
        except (EmptyChannelError, KeyError):
            continue
    return values


def split_writes(saved: CheckpointTuple) -> tuple[list[tuple[str, Any]], dict[str, Any]]:
    """A checkpoint's writes as the input of its superstep, and each task's status by task id."""
    writes = saved.pending_writes or []
    given = [(channel, value) for task_id, channel, value in writes if task_id == NULL_TASK_ID]
    return given, dict(read_task_statuses(writes))
