"""W4: a subgraph that asks a question in every turn, and 20 KB documents in three turns of five.

A turn is two invocations: the question stops the first, its answer is the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from benchmarks.workloads.graph import Graph, Workload, node
from benchmarks.workloads.text import prose

_DOCUMENT_SIZE = 20_000
_MESSAGES_PER_TURN = 6


class ResearchState(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def _say(state: Any, size: int) -> dict[str, list[AnyMessage]]:
    position = len(state["messages"])
    text = prose(f"nested {position}", size)
    return {"messages": [AIMessage(text, id=f"nested-{position:06d}")]}


def _plan(state: Any) -> dict[str, list[AnyMessage]]:
    return _say(state, 500)


def _search(state: Any) -> dict[str, list[AnyMessage]]:
    turn = len(state["messages"]) // _MESSAGES_PER_TURN
    return _say(state, _DOCUMENT_SIZE if turn % 5 < 3 else 500)


def _approve(state: Any) -> dict[str, list[AnyMessage]]:
    position = len(state["messages"])
    verdict = interrupt({"question": "Use this document?", "message": position})
    return {"messages": [HumanMessage(str(verdict), id=f"nested-{position:06d}")]}


def _answer(state: Any) -> dict[str, list[AnyMessage]]:
    return _say(state, 1_000)


def _build(saver: BaseCheckpointSaver[Any], asynchronous: bool) -> Graph:
    research: StateGraph[Any, Any, Any, Any] = StateGraph(ResearchState)
    research.add_node("search", node(_search, asynchronous))
    research.add_node("approve", node(_approve, asynchronous))
    research.add_node("digest", node(_plan, asynchronous))
    research.add_edge(START, "search")
    research.add_edge("search", "approve")
    research.add_edge("approve", "digest")
    research.add_edge("digest", END)

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(ResearchState)
    builder.add_node("plan", node(_plan, asynchronous))
    builder.add_node("research", research.compile())
    builder.add_node("answer", node(_answer, asynchronous))
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "research")
    builder.add_edge("research", "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)


def _turns(count: int) -> Sequence[Any]:
    inputs: list[Any] = []
    for turn in range(count):
        question = HumanMessage(prose(f"question {turn}", 300), id=f"question-{turn:06d}")
        inputs += [{"messages": [question]}, Command(resume="yes")]
    return inputs


NESTED = Workload("W4", "subgraphs and interrupts", _build, _turns, full=24, quick=5)
