"""Checkpoints written straight through a saver's public methods, without a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.base.id import uuid6

Saver = BaseCheckpointSaver[Any]
TASK = "00000000-0000-0000-0000-0000000000aa"


def place(thread: str, checkpoint_id: str | None = None, namespace: str = "") -> RunnableConfig:
    """A config that names a thread, a namespace, and a checkpoint if one is given."""
    configurable = {"thread_id": thread, "checkpoint_ns": namespace}
    if checkpoint_id is not None:
        configurable["checkpoint_id"] = checkpoint_id
    return {"configurable": configurable}


def checkpoint(
    values: Mapping[str, Any], checkpoint_id: str | None = None, version: int = 1
) -> dict[str, Any]:
    """A checkpoint whose channels all have the same version."""
    return {
        "v": 4,
        "id": checkpoint_id or str(uuid6(clock_seq=0)),
        "ts": "2026-01-02T03:04:05+00:00",
        "channel_values": dict(values),
        "channel_versions": dict.fromkeys(values, version),
        "versions_seen": {"node": dict.fromkeys(values, version)},
        "updated_channels": sorted(values),
    }


def put(
    saver: Saver,
    thread: str,
    parent: str | None = None,
    values: Mapping[str, Any] | None = None,
    *,
    checkpoint_id: str | None = None,
    namespace: str = "",
    version: int = 1,
    **metadata: Any,
) -> str:
    """Store a checkpoint; its id."""
    made = checkpoint(values or {}, checkpoint_id, version)
    described = {"source": "loop", "step": version, "parents": {}, **metadata}
    stored = saver.put(
        place(thread, parent, namespace),
        made,  # type: ignore[arg-type]
        described,  # type: ignore[arg-type]
        made["channel_versions"],
    )
    assert stored["configurable"] == {
        "thread_id": thread,
        "checkpoint_ns": namespace,
        "checkpoint_id": made["id"],
    }
    return str(made["id"])


def chain(saver: Saver, thread: str, length: int, **metadata: Any) -> list[str]:
    """A run of checkpoints, each holding a list one item longer; their ids, oldest first."""
    ids: list[str] = []
    for number in range(length):
        values = {"items": [f"item {index}" for index in range(number + 1)]}
        ids.append(
            put(saver, thread, ids[-1] if ids else None, values, version=number + 1, **metadata)
        )
    return ids


def write(
    saver: Saver,
    thread: str,
    checkpoint_id: str,
    writes: Sequence[tuple[str, Any]],
    task: str = TASK,
    path: str = "",
    namespace: str = "",
) -> None:
    """Store writes on a checkpoint."""
    saver.put_writes(place(thread, checkpoint_id, namespace), writes, task, path)


def ids(saver: Saver, thread: str, namespace: str | None = "", **options: Any) -> list[str]:
    """The ids that a listing gives, in its order (newest first)."""
    where: Any = {"configurable": {"thread_id": thread}}
    if namespace is not None:
        where["configurable"]["checkpoint_ns"] = namespace
    return [item.checkpoint["id"] for item in saver.list(where, **options)]


def head(saver: Saver, thread: str, namespace: str = "") -> CheckpointTuple:
    """The current checkpoint of a thread; it must have one."""
    found = saver.get_tuple(place(thread, namespace=namespace))
    assert found is not None, f"{thread!r} has no checkpoint"
    return found


def at(saver: Saver, thread: str, checkpoint_id: str, namespace: str = "") -> CheckpointTuple:
    """A checkpoint by its id; it must be there."""
    found = saver.get_tuple(place(thread, checkpoint_id, namespace))
    assert found is not None, f"{thread!r} has no checkpoint {checkpoint_id}"
    return found


def values(found: CheckpointTuple) -> dict[str, Any]:
    """A checkpoint's channel values."""
    return found.checkpoint["channel_values"]
