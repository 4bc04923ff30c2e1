"""W3: forty channels with a text of 10 KB each, of which a superstep changes two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from benchmarks.workloads.graph import Graph, Workload, node
from benchmarks.workloads.text import prose

_CHANNELS = 40
_VALUE_SIZE = 10_000


def _value(channel: int, revision: int) -> str:
    return prose(f"wide {channel} {revision}", _VALUE_SIZE)


_FIELDS = {"step": int, "until": int}
_DOCUMENTS = {f"document_{channel:02d}": str for channel in range(_CHANNELS)}
_STATE = type("WideState", (dict,), {"__annotations__": {**_FIELDS, **_DOCUMENTS}})


def _revise_two(state: Any) -> dict[str, Any]:
    step = state["step"]
    changed = (step * 2 % _CHANNELS, (step * 7 + 1) % _CHANNELS)
    documents = {f"document_{channel:02d}": _value(channel, step + 1) for channel in changed}
    return {"step": step + 1, **documents}


def _until_done(state: Any) -> str:
    return "revise" if state["step"] < state["until"] else END


def _build(saver: BaseCheckpointSaver[Any], asynchronous: bool) -> Graph:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(_STATE)
    builder.add_node("revise", node(_revise_two, asynchronous))
    builder.add_edge(START, "revise")
    builder.add_conditional_edges("revise", _until_done, ["revise", END])
    return builder.compile(checkpointer=saver)


def _inputs(supersteps: int) -> Sequence[Any]:
    documents = {f"document_{channel:02d}": _value(channel, 0) for channel in range(_CHANNELS)}
    return [{"step": 0, "until": supersteps, **documents}]


WIDE = Workload("W3", "wide state", _build, _inputs, full=300, quick=30, recursion_limit=100_000)
