"""Graphs that count what they do, and short ways to talk to a thread."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.pregel import Pregel
from langgraph.types import StateSnapshot, interrupt
from typing_extensions import TypedDict

from tests.checkpoints import Saver

Graph = Pregel[Any, Any, Any, Any]


class Log(TypedDict):
    """What happened, in order."""

    log: Annotated[list[str], operator.add]


def on(thread: str, checkpoint_id: str | None = None) -> RunnableConfig:
    """A config that names a thread, and a checkpoint if one is given."""
    configurable = {"thread_id": thread}
    if checkpoint_id is not None:
        configurable["checkpoint_id"] = checkpoint_id
    return {"configurable": configurable}


def id_of(snapshot: StateSnapshot) -> str:
    """A snapshot's checkpoint id."""
    found: str = snapshot.config["configurable"]["checkpoint_id"]
    return found


def head_id(graph: Graph, thread: str) -> str:
    """The current checkpoint of a thread."""
    return id_of(graph.get_state(on(thread)))


def history(graph: Graph, thread: str) -> list[StateSnapshot]:
    """All snapshots of a thread, oldest first."""
    return list(reversed(list(graph.get_state_history(on(thread)))))


def open_questions(graph: Graph, thread: str) -> list[Any]:
    """What a thread is asking."""
    return [question.value for question in graph.get_state(on(thread)).interrupts]


class Runs(Counter[str]):
    """How often each node ran."""

    def node(self, name: str) -> Callable[[Any], dict[str, Any]]:
        """A node that counts itself and logs its name."""

        def run(state: Any) -> dict[str, Any]:
            self[name] += 1
            return {"log": [name]}

        return run

    def asking(self, name: str) -> Callable[[Any], dict[str, Any]]:
        """A node that counts itself, asks, and logs the answer."""

        def run(state: Any) -> dict[str, Any]:
            self[name] += 1
            return {"log": [f"{name}:{interrupt(name + '?')}"]}

        return run


def payment(saver: Saver, runs: Runs) -> Graph:
    """A payment beside a question; then the receipt."""
    builder = StateGraph(Log)
    builder.add_node("pay", runs.node("pay"))
    builder.add_node("approve", runs.asking("approve"))
    builder.add_node("receipt", runs.node("receipt"))
    builder.add_edge(START, "pay")
    builder.add_edge(START, "approve")
    builder.add_edge(["pay", "approve"], "receipt")
    return builder.compile(checkpointer=saver)


def two_levels(saver: Saver, runs: Runs) -> Graph:
    """A question two subgraphs deep, with a node before and after it on each level."""
    inner = StateGraph(Log)
    inner.add_node("inner_before", runs.node("inner_before"))
    inner.add_node("inner_ask", runs.asking("inner_ask"))
    inner.add_node("inner_after", runs.node("inner_after"))
    inner.add_edge(START, "inner_before")
    inner.add_edge("inner_before", "inner_ask")
    inner.add_edge("inner_ask", "inner_after")
    middle = StateGraph(Log)
    middle.add_node("middle_before", runs.node("middle_before"))
    middle.add_node("deep", inner.compile())
    middle.add_node("middle_after", runs.node("middle_after"))
    middle.add_edge(START, "middle_before")
    middle.add_edge("middle_before", "deep")
    middle.add_edge("deep", "middle_after")
    outer = StateGraph(Log)
    outer.add_node("before", runs.node("before"))
    outer.add_node("sub", middle.compile())
    outer.add_node("side", runs.node("side"))
    outer.add_node("after", runs.node("after"))
    outer.add_edge(START, "before")
    outer.add_edge("before", "sub")
    outer.add_edge("before", "side")
    outer.add_edge(["sub", "side"], "after")
    return outer.compile(checkpointer=saver)


class Memory(TypedDict):
    """A sub-agent's own memory."""

    notes: Annotated[list[str], operator.add]
    word: str
    told: str


class Words(TypedDict):
    """What the outer graph hands to its sub-agent."""

    word: str
    told: str


def remembering(saver: Saver) -> Graph:
    """A sub-agent that remembers every word of its thread (`checkpointer=True`)."""
    sub = StateGraph(Memory)
    sub.add_node("remember", lambda state: {"notes": [state["word"]]})
    sub.add_node("tell", lambda state: {"told": ",".join(state["notes"])})
    sub.add_edge(START, "remember")
    sub.add_edge("remember", "tell")
    outer = StateGraph(Words)
    outer.add_node("agent", sub.compile(checkpointer=True))
    outer.add_edge(START, "agent")
    return outer.compile(checkpointer=saver)
