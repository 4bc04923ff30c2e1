"""A saver's whole content and a script's outcomes as values that compare exactly.

Ids are made deterministic by the `ticking_ids` fixture, so they are compared as they are. Only
what cannot be equal is normalised: timestamps are dropped, and a stock saver's version string
``{n:032}.{random}`` becomes ``n``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Interrupt, PregelTask, Send, StateSnapshot

from tests.langgraph.script import Outcome


def plain(value: Any) -> Any:
    """A value with its types spelled out: `True` differs from `1`, a tuple from a list."""
    if isinstance(value, BaseMessage):
        return (type(value).__name__, plain(value.model_dump()))
    if isinstance(value, _DeltaSnapshot):
        return ("_DeltaSnapshot", plain(value.value))
    if isinstance(value, Interrupt):
        return ("Interrupt", value.id, plain(value.value))
    if isinstance(value, Send):
        return ("Send", value.node, plain(value.arg))
    if isinstance(value, StateSnapshot):
        return snapshot(value)
    if isinstance(value, PregelTask):
        return task(value)
    if isinstance(value, Outcome):
        return ("error", value.error) if value.error else ("value", returned(value.value))
    if isinstance(value, Mapping):
        return (
            type(value).__name__,
            sorted(((repr(key), plain(item)) for key, item in value.items()), key=lambda kv: kv[0]),
        )
    if isinstance(value, (set, frozenset)):
        return (type(value).__name__, sorted(map(repr, value)))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [plain(item) for item in value])
    return (type(value).__name__, repr(value))


def returned(value: Any) -> Any:
    """What a run returned; questions asked at once come in the order in which they were raised."""
    if isinstance(value, dict) and "__interrupt__" in value:
        ordered = sorted(value["__interrupt__"], key=lambda item: str(item.id))
        value = {**value, "__interrupt__": ordered}
    return plain(value)


def version(value: Any) -> int:
    """The counter in a channel version."""
    return int(value.split(".")[0]) if isinstance(value, str) else int(value)


def address(config: Any) -> Any:
    """Thread, namespace and checkpoint id of a config, and its `checkpoint_map` if it has one."""
    if config is None:
        return None
    configurable = config["configurable"]
    return (
        configurable["thread_id"],
        configurable.get("checkpoint_ns", ""),
        configurable.get("checkpoint_id"),
        plain(configurable.get("checkpoint_map")),
    )


def task(value: PregelTask) -> Any:
    """A task of a snapshot; its subgraph's state is a snapshot or a config."""
    state = value.state
    return {
        "id": value.id,
        "name": value.name,
        "path": plain(value.path),
        "error": plain(value.error),
        "interrupts": plain(value.interrupts),
        "result": plain(value.result),
        "state": snapshot(state) if isinstance(state, StateSnapshot) else address(state),
    }


def snapshot(value: StateSnapshot) -> Any:
    """Everything in a snapshot but its timestamp."""
    return {
        "values": plain(value.values),
        "next": value.next,
        "config": address(value.config),
        "metadata": plain(value.metadata),
        "parent": address(value.parent_config),
        "tasks": [task(item) for item in value.tasks],
        "interrupts": plain(value.interrupts),
    }


def stored(saver: BaseCheckpointSaver[Any], value: CheckpointTuple) -> Any:
    """Everything a saver says about one checkpoint but its timestamp.

    A delta snapshot counts where it was stored. `InMemorySaver` keeps values by channel and version
    and so shows it again on later checkpoints that did not touch the channel.
    """
    checkpoint = value.checkpoint
    parent = saver.get_tuple(value.parent_config) if value.parent_config else None
    before = parent.checkpoint["channel_versions"] if parent else {}
    return {
        "config": address(value.config),
        "parent": address(value.parent_config),
        "metadata": plain(value.metadata),
        "v": checkpoint["v"],
        "id": checkpoint["id"],
        "values": plain(
            {
                channel: held
                for channel, held in checkpoint["channel_values"].items()
                if not isinstance(held, _DeltaSnapshot)
                or before.get(channel) != checkpoint["channel_versions"][channel]
            }
        ),
        "versions": {
            channel: version(number) for channel, number in checkpoint["channel_versions"].items()
        },
        "seen": {
            node: {channel: version(number) for channel, number in seen.items()}
            for node, seen in checkpoint["versions_seen"].items()
        },
        "updated": plain(checkpoint.get("updated_channels")),
        "writes": plain(value.pending_writes),
    }


def saver_content(saver: BaseCheckpointSaver[Any], thread: str) -> dict[str, list[Any]]:
    """Every stored checkpoint of a thread by namespace, newest first, read in four ways.

    A listing, a read by id, the head, and the delta history must all agree between savers.
    """
    everything = list(saver.list({"configurable": {"thread_id": thread}}))
    namespaces = sorted({item.config["configurable"]["checkpoint_ns"] for item in everything})
    content: dict[str, list[Any]] = {}
    for namespace in namespaces:
        where = {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
        listed = list(saver.list(where))  # type: ignore[arg-type]
        by_id = [saver.get_tuple(item.config) for item in listed]
        head = saver.get_tuple(where)  # type: ignore[arg-type]
        content[namespace] = [
            {
                "listed": [stored(saver, item) for item in listed],
                "by_id": [stored(saver, item) for item in by_id if item is not None],
                "head": head and stored(saver, head),
                "delta": [deltas(saver, item) for item in listed],
            }
        ]
    return content


def deltas(saver: BaseCheckpointSaver[Any], item: CheckpointTuple) -> Any:
    """What `get_delta_channel_history` says of every channel of a checkpoint."""
    channels = sorted(item.checkpoint["channel_versions"])
    history = saver.get_delta_channel_history(config=item.config, channels=channels)
    return {channel: plain(history[channel]) for channel in channels}


def outcomes(log: Iterable[Any]) -> list[Any]:
    """A script's log as plain values."""
    return [plain(item) for item in log]
