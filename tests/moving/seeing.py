"""All that can be seen of a session through LangGraph, as values that compare exactly."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

import forkpoint as fp
from tests.langgraph.record import plain, saver_content, snapshot
from tests.langgraph.scenarios import Scenario
from tests.langgraph.script import play

THREAD = "thread"


def play_in(store: fp.Store, scenario: Scenario, thread: str = THREAD) -> None:
    """A real graph's whole conversation."""
    play(scenario.build(store.saver()), thread, scenario.script, "sync")


def everything(store: fp.Store, scenario: Scenario | None = None, thread: str = THREAD) -> Any:
    """A session as its saver shows it in four ways, and as its graph does."""
    saver = store.saver()
    seen: dict[str, Any] = {"stored": stored(saver, thread)}
    if scenario is not None:
        graph = scenario.build(saver)
        where: Any = {"configurable": {"thread_id": thread}}
        seen["history"] = [snapshot(item) for item in graph.get_state_history(where)]
        seen["state"] = snapshot(graph.get_state(where, subgraphs=True))
    return seen


def stored(saver: BaseCheckpointSaver[Any], thread: str) -> Any:
    """All that a saver shows of a thread, and what its delta channels are rebuilt from."""
    content = saver_content(saver, thread)
    for (part,) in content.values():
        # Of channels that are no delta channels savers may tell different histories.
        del part["delta"]
    where: Any = {"configurable": {"thread_id": thread}}
    return content, [_delta_histories(saver, item) for item in list(saver.list(where))]


def _delta_histories(saver: BaseCheckpointSaver[Any], item: CheckpointTuple) -> Any:
    channels = sorted(item.metadata.get("counters_since_delta_snapshot") or {})
    history = saver.get_delta_channel_history(config=item.config, channels=channels)
    return {channel: plain(history[channel]) for channel in channels}


def ids(saver: BaseCheckpointSaver[Any], thread: str = THREAD) -> list[str]:
    """The checkpoints of a session's root namespace, newest first."""
    where: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    return [item.checkpoint["id"] for item in saver.list(where)]


def timeline(store: fp.Store, thread: str = THREAD) -> list[Any]:
    """A session's timeline, but for what says where its rows are."""
    return [
        (
            entry.checkpoint_id,
            entry.parent_id,
            entry.step,
            entry.source,
            entry.timestamp,
            entry.nodes,
            entry.title,
        )
        for entry in store.saver().timeline(thread, limit=10_000)
    ]
