"""W5: a counter. Nothing to share, nothing to compress: the saver's own overhead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from benchmarks.workloads.graph import Graph, Workload, node


class Counter(TypedDict):
    count: int
    until: int


def _count(state: Any) -> dict[str, int]:
    return {"count": state["count"] + 1}


def _until_done(state: Any) -> str:
    return "increment" if state["count"] < state["until"] else END


def _build(saver: BaseCheckpointSaver[Any], asynchronous: bool) -> Graph:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Counter)
    builder.add_node("increment", node(_count, asynchronous))
    builder.add_edge(START, "increment")
    builder.add_conditional_edges("increment", _until_done, ["increment", END])
    return builder.compile(checkpointer=saver)


def _inputs(checkpoints: int) -> Sequence[Any]:
    return [{"count": 0, "until": checkpoints - 2}]


TINY = Workload(
    "W5", "tiny checkpoints", _build, _inputs, full=10_000, quick=500, recursion_limit=1_000_000
)
