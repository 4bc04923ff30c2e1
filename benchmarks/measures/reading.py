"""Reads as a user makes them, with every returned value touched so that none is put off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

import forkpoint as fp
from benchmarks.savers import Saver


def thread(thread_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    """The config of a thread's root namespace, or of one checkpoint in it."""
    configurable: dict[str, Any] = {"thread_id": thread_id, "checkpoint_ns": ""}
    if checkpoint_id is not None:
        configurable["checkpoint_id"] = checkpoint_id
    return {"configurable": configurable}


def touch(found: CheckpointTuple) -> int:
    """Looks at every value of a checkpoint."""
    return sum(
        len(value) if isinstance(value, list | dict | str) else 1
        for value in found.checkpoint["channel_values"].values()
    ) + len(found.pending_writes or ())


def read(saver: Saver, config: RunnableConfig, delta_channels: Sequence[str] = ()) -> Any:
    """One checkpoint, with what its delta channels are rebuilt from."""
    found = saver.get_tuple(config)
    if found is None:
        raise LookupError(f"{type(saver).__name__} has nothing at {config}")
    touch(found)
    if delta_channels:
        saver.get_delta_channel_history(config=found.config, channels=list(delta_channels))
    return found


def settle(saver: Saver) -> None:
    """A first read that finds nothing: the saver has connected and has its tables."""
    saver.get_tuple(thread("nobody"))


def walk(saver: Saver, config: RunnableConfig | None, **options: Any) -> int:
    """A whole listing; returns how many checkpoints it had."""
    count = 0
    for found in saver.list(config, **options):
        touch(found)
        count += 1
    return count


def timeline(saver: Saver, thread_id: str) -> int:
    """A page of 50 of Forkpoint's timeline."""
    if not isinstance(saver, fp.ForkpointSaver):
        raise TypeError(f"{type(saver).__name__} keeps no timeline")
    return len(saver.timeline(thread_id, limit=50))
