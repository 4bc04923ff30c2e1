"""What an algorithm of this package may ask for, as plain values.

Every algorithm is a generator, a `Plan`, that yields one of the requests below and receives the
answer. It never touches a checkpointer, so it is written once: `drivers` carries the requests
out, once without and once with an event loop. An exception raised while a request is carried out is
thrown into the plan at the place where it asked.

The lower half of the module gives each request as a typed function, to be used with
``yield from``: ``saved = yield from read(thread_id)``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Read:
    """One checkpoint with its writes; the head of the namespace when no id is given."""

    thread_id: str
    checkpoint_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class List:
    """Checkpoints of a thread, newest first, each passed through `pick` as it is read.

    The whole answer is read before the plan goes on: no cursor or lock outlives the request.
    """

    thread_id: str
    pick: Callable[[CheckpointTuple], Any]
    #: None lists every namespace.
    namespace: str | None = ""
    before: str | None = None
    limit: int | None = None
    filter: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Put:
    """Store a checkpoint under `parent_id`."""

    thread_id: str
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new_versions: ChannelVersions
    parent_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class PutWrites:
    """Store the writes of one task on a checkpoint."""

    thread_id: str
    checkpoint_id: str
    writes: Sequence[tuple[str, Any]]
    task_id: str
    task_path: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class DeltaHistory:
    """What delta channels are rebuilt from at a checkpoint."""

    config: RunnableConfig
    channels: Sequence[str]


@dataclass(frozen=True, slots=True)
class Native:
    """A call that only Forkpoint's own saver has; `method` has an ``a`` twin."""

    method: str
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the caller's, which may be a coroutine function under an event loop."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Invoke:
    """Run a runnable: a node's writers, which may include the caller's routing functions."""

    runnable: Runnable[Any, Any]
    value: Any
    config: RunnableConfig


@dataclass(frozen=True, slots=True)
class Emit:
    """Hand an item to whoever iterates over the plan."""

    item: Any


Request = Read | List | Put | PutWrites | DeltaHistory | Native | Call | Invoke | Emit
Plan = Generator[Request, Any, T]


def read(
    thread_id: str, checkpoint_id: str | None = None, namespace: str = ""
) -> Plan[CheckpointTuple | None]:
    """One checkpoint, or None."""
    return cast("CheckpointTuple | None", (yield Read(thread_id, checkpoint_id, namespace)))


def listed(
    thread_id: str,
    pick: Callable[[CheckpointTuple], T],
    *,
    namespace: str | None = "",
    before: str | None = None,
    limit: int | None = None,
    filter: Mapping[str, Any] | None = None,
) -> Plan[list[T]]:
    """What `pick` makes of each checkpoint of a thread, newest first."""
    return cast("list[T]", (yield List(thread_id, pick, namespace, before, limit, filter)))


def whole(saved: CheckpointTuple) -> CheckpointTuple:
    """A `pick` that keeps everything."""
    return saved


def delta_history(
    config: RunnableConfig, channels: Sequence[str]
) -> Plan[Mapping[str, DeltaChannelHistory]]:
    """Seeds and writes of delta channels, by channel."""
    if not channels:
        return {}
    return cast("Mapping[str, DeltaChannelHistory]", (yield DeltaHistory(config, channels)))
