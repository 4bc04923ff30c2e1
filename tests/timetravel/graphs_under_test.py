"""The graphs that the tests of time travel run: small, deterministic, without a model or network.

Each builder returns an uncompiled graph and takes the list in which its nodes note that they ran,
so that a test can say what was run again.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

Ran = list[str]


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def chat() -> StateGraph[Any, Any, Any, Any]:
    """Answers every message with an echo, under an id made from the message's."""

    def agent(state: Chat) -> dict[str, Any]:
        last = state["messages"][-1]
        return {"messages": [AIMessage(f"echo {last.content}", id=f"ai-{last.id}")]}

    return StateGraph(Chat).add_node("agent", agent).add_edge(START, "agent")


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


def approval(ran: Ran) -> StateGraph[Any, Any, Any, Any]:
    """A payment and a question in the same superstep, then a report of both."""

    def pay(state: Log) -> dict[str, Any]:
        ran.append("pay")
        return {"log": ["paid"]}

    def ask(state: Log) -> dict[str, Any]:
        ran.append("ask")
        return {"log": [f"answer {interrupt('approve?')}"]}

    def report(state: Log) -> dict[str, Any]:
        ran.append("report")
        return {"log": ["reported"]}

    builder = StateGraph(Log)
    builder.add_node("pay", pay)
    builder.add_node("ask", ask)
    builder.add_node("report", report)
    builder.add_edge(START, "pay")
    builder.add_edge(START, "ask")
    builder.add_edge(["pay", "ask"], "report")
    return builder


def chain(ran: Ran, names: Sequence[str] = ("a", "b", "c")) -> StateGraph[Any, Any, Any, Any]:
    """Nodes one after the other."""

    def node(name: str) -> Any:
        def run(state: Log) -> dict[str, Any]:
            ran.append(name)
            return {"log": [name]}

        return run

    builder = StateGraph(Log)
    for name in names:
        builder.add_node(name, node(name))
    for before, after in zip((START, *names), (*names, END), strict=True):
        builder.add_edge(before, after)
    return builder


def nested(ran: Ran) -> StateGraph[Any, Any, Any, Any]:
    """A question two subgraphs deep, with work before it and after it on each level."""

    def note(name: str) -> Any:
        def run(state: Log) -> dict[str, Any]:
            ran.append(name)
            return {"log": [name]}

        return run

    def ask(state: Log) -> dict[str, Any]:
        ran.append("ask")
        return {"log": [f"answer {interrupt('deep?')}"]}

    inner = StateGraph(Log)
    inner.add_node("inner_before", note("inner_before"))
    inner.add_node("ask", ask)
    inner.add_edge(START, "inner_before")
    inner.add_edge("inner_before", "ask")

    middle = StateGraph(Log)
    middle.add_node("middle_before", note("middle_before"))
    middle.add_node("inner", inner.compile())
    middle.add_edge(START, "middle_before")
    middle.add_edge("middle_before", "inner")

    outer = StateGraph(Log)
    outer.add_node("sibling", note("sibling"))
    outer.add_node("middle", middle.compile())
    outer.add_node("last", note("last"))
    outer.add_edge(START, "sibling")
    outer.add_edge(START, "middle")
    outer.add_edge(["sibling", "middle"], "last")
    return outer


def remembering(ran: Ran) -> StateGraph[Any, Any, Any, Any]:
    """A sub-agent that keeps its own history over the turns of a session."""

    class Memory(TypedDict):
        said: str
        heard: Annotated[list[str], operator.add]

    def listen(state: Memory) -> dict[str, Any]:
        return {"heard": [state["said"]]}

    sub = StateGraph(Memory).add_node("listen", listen).add_edge(START, "listen")
    agent = sub.compile(checkpointer=True)

    class Turn(TypedDict):
        said: str
        remembered: list[str]

    def ask(state: Turn) -> dict[str, Any]:
        heard = agent.invoke({"said": state["said"]})["heard"]
        return {"remembered": heard}

    return StateGraph(Turn).add_node("ask", ask).add_edge(START, "ask")


def joined(state: list[str], writes: Sequence[Sequence[str]]) -> list[str]:
    """An order-sensitive reducer for delta channels."""
    return [*state, *(item for write in writes for item in write)]


class Delta(TypedDict):
    items: Annotated[list[str], DeltaChannel(joined, snapshot_frequency=100)]


def parallel_delta(
    names: Sequence[str] = ("zeta", "mid", "alpha"),
) -> StateGraph[Any, Any, Any, Any]:
    """Parallel writers to one delta channel, and a step after them."""

    def writer(name: str) -> Any:
        def run(state: Delta) -> dict[str, Any]:
            return {"items": [name]}

        return run

    def close(state: Delta) -> dict[str, Any]:
        return {"items": ["closed"]}

    builder = StateGraph(Delta)
    for name in names:
        builder.add_node(name, writer(name))
        builder.add_edge(START, name)
    builder.add_node("close", close)
    builder.add_edge(list(names), "close")
    return builder


class Fan(TypedDict):
    log: Annotated[list[str], operator.add]


def fan_out(ran: Ran) -> StateGraph[Any, Any, Any, Any]:
    """Sends to one node, one of which asks."""

    def spread(state: Fan) -> Command[Any]:
        return Command(goto=[Send("work", {"n": n}) for n in range(3)])

    def work(state: Any) -> dict[str, Any]:
        n = state["n"]
        ran.append(f"work {n}")
        if n == 1:
            return {"log": [f"work {n} {interrupt('which?')}"]}
        return {"log": [f"work {n}"]}

    builder = StateGraph(Fan)
    builder.add_node("spread", spread, destinations=("work",))
    builder.add_node("work", work)
    builder.add_edge(START, "spread")
    return builder
