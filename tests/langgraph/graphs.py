"""Real graphs, small and deterministic: each builder takes a saver and compiles its graph."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.pregel import Pregel
from langgraph.types import Command, Overwrite, Send, interrupt
from typing_extensions import TypedDict

Graph = Pregel[Any, Any, Any, Any]
Saver = BaseCheckpointSaver[Any]


class Log(TypedDict):
    """A state that remembers the order in which things happened."""

    log: Annotated[list[str], operator.add]
    last: str


class Out(TypedDict):
    """What a subgraph that runs several times at once may hand back."""

    log: Annotated[list[str], operator.add]


def note(name: str) -> Callable[[Any], dict[str, Any]]:
    """A node that writes its name into the log."""

    def node(state: Any) -> dict[str, Any]:
        return {"log": [name]}

    return node


def ask(name: str, questions: int = 1) -> Callable[[Any], dict[str, Any]]:
    """A node that asks and logs every answer."""

    def node(state: Any) -> dict[str, Any]:
        answers = [interrupt({"ask": name, "number": number}) for number in range(questions)]
        return {"log": [f"{name}:{answer}" for answer in answers]}

    return node


def chat(saver: Saver) -> Graph:
    """Two nodes that add a message each."""

    def answer(state: MessagesState) -> dict[str, Any]:
        count = len(state["messages"])
        return {"messages": [AIMessage(f"answer {count}", id=f"a{count}")]}

    def polish(state: MessagesState) -> dict[str, Any]:
        last = state["messages"][-1]
        return {"messages": [AIMessage(f"{last.content}!", id=last.id)]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_node("polish", polish)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "polish")
    return builder.compile(checkpointer=saver)


def parallel_join(saver: Saver) -> Graph:
    """Three nodes at once, a join, then an end."""
    builder = StateGraph(Log)
    for name in ("a", "b", "c", "join", "end"):
        builder.add_node(name, note(name))
    for name in ("a", "b", "c"):
        builder.add_edge(START, name)
    builder.add_edge(["a", "b", "c"], "join")
    builder.add_edge("join", "end")
    return builder.compile(checkpointer=saver)


def send_fanout(saver: Saver) -> Graph:
    """A router sends one task per item, each task sends one more."""

    def route(state: Log) -> list[Send]:
        return [Send("work", {"log": [item]}) for item in ("x", "y", "z")]

    def work(state: Log) -> Command[Any]:
        item = state["log"][0]
        return Command(update={"log": [f"work {item}"]}, goto=Send("check", {"log": [item]}))

    def check(state: Log) -> dict[str, Any]:
        return {"log": [f"check {state['log'][0]}"]}

    builder = StateGraph(Log)
    builder.add_node("plan", note("plan"))
    builder.add_node("work", work)
    builder.add_node("check", check)
    builder.add_node("collect", note("collect"), defer=True)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", route, ["work"])
    builder.add_edge("check", "collect")
    return builder.compile(checkpointer=saver)


def send_with_questions(saver: Saver) -> Graph:
    """Send tasks of which only some ask."""

    def route(state: Log) -> list[Send]:
        return [Send("work", {"log": [item]}) for item in ("ask-1", "quiet", "ask-2")]

    def work(state: Log) -> dict[str, Any]:
        item = state["log"][0]
        answer = interrupt(item) if item.startswith("ask") else "-"
        return {"log": [f"{item}={answer}"]}

    builder = StateGraph(Log)
    builder.add_node("work", work)
    builder.add_node("end", note("end"))
    builder.add_conditional_edges(START, route, ["work"])
    builder.add_edge("work", "end")
    return builder.compile(checkpointer=saver)


def questions(saver: Saver) -> Graph:
    """A node with two questions beside a quiet sibling, then one more question."""
    builder = StateGraph(Log)
    builder.add_node("pay", note("pay"))
    builder.add_node("confirm", ask("confirm", questions=2))
    builder.add_node("last", ask("last"))
    builder.add_edge(START, "pay")
    builder.add_edge(START, "confirm")
    builder.add_edge(["pay", "confirm"], "last")
    return builder.compile(checkpointer=saver)


def two_askers(saver: Saver) -> Graph:
    """Two nodes ask at once."""
    builder = StateGraph(Log)
    builder.add_node("left", ask("left"))
    builder.add_node("right", ask("right"))
    builder.add_node("end", note("end"))
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    builder.add_edge(["left", "right"], "end")
    return builder.compile(checkpointer=saver)


def nested(saver: Saver) -> Graph:
    """A question two subgraphs deep, with work before and after it on each level."""
    inner = StateGraph(Log)
    inner.add_node("inner_before", note("inner_before"))
    inner.add_node("inner_ask", ask("inner"))
    inner.add_node("inner_after", note("inner_after"))
    inner.add_edge(START, "inner_before")
    inner.add_edge("inner_before", "inner_ask")
    inner.add_edge("inner_ask", "inner_after")
    middle = StateGraph(Log)
    middle.add_node("middle_before", note("middle_before"))
    middle.add_node("deep", inner.compile())
    middle.add_node("middle_after", note("middle_after"))
    middle.add_edge(START, "middle_before")
    middle.add_edge("middle_before", "deep")
    middle.add_edge("deep", "middle_after")
    outer = StateGraph(Log)
    outer.add_node("before", note("before"))
    outer.add_node("sub", middle.compile())
    outer.add_node("side", note("side"))
    outer.add_node("after", note("after"))
    outer.add_edge(START, "before")
    outer.add_edge("before", "sub")
    outer.add_edge("before", "side")
    outer.add_edge(["sub", "side"], "after")
    return outer.compile(checkpointer=saver)


def sent_subgraphs(saver: Saver) -> Graph:
    """The same subgraph sent twice at once, each with its own question."""
    sub = StateGraph(Log, output_schema=Out)
    sub.add_node("think", note("think"))
    sub.add_node("ask", ask("sub"))
    sub.add_edge(START, "think")
    sub.add_edge("think", "ask")
    compiled = sub.compile()

    def route(state: Log) -> list[Send]:
        return [Send("sub", {"log": [], "last": item}) for item in ("x", "y")]

    outer = StateGraph(Log)
    outer.add_node("sub", compiled)
    outer.add_node("end", note("end"))
    outer.add_conditional_edges(START, route, ["sub"])
    outer.add_edge("sub", "end")
    return outer.compile(checkpointer=saver)


def remembering_subgraph(saver: Saver) -> Graph:
    """A subgraph with a memory of its own (`checkpointer=True`), asking every other time."""

    class Memory(TypedDict):
        notes: Annotated[list[str], operator.add]
        last: str

    def remember(state: Memory) -> dict[str, Any]:
        return {"notes": [state["last"]]}

    def tell(state: Memory) -> dict[str, Any]:
        extra = interrupt("more?") if len(state["notes"]) % 2 == 0 else ""
        return {"last": ",".join(state["notes"]) + str(extra)}

    sub = StateGraph(Memory)
    sub.add_node("remember", remember)
    sub.add_node("tell", tell)
    sub.add_edge(START, "remember")
    sub.add_edge("remember", "tell")
    outer = StateGraph(Log)
    outer.add_node("agent", sub.compile(checkpointer=True))
    outer.add_node("end", note("end"))
    outer.add_edge(START, "agent")
    outer.add_edge("agent", "end")
    return outer.compile(checkpointer=saver)


def extend(current: list[str], updates: Sequence[Any]) -> list[str]:
    """A batching-invariant reducer that keeps the order it is given."""
    return current + [item for update in updates for item in update]


def delta(frequency: int) -> Callable[[Saver], Graph]:
    """Parallel writers to one `DeltaChannel` that snapshots every `frequency` updates."""

    channel = DeltaChannel(extend, list, snapshot_frequency=frequency)
    fields = {
        "log": Annotated[list[str], channel],
        "other": Annotated[list[str], DeltaChannel(extend, list, snapshot_frequency=3)],
        "plain": Annotated[list[str], operator.add],
    }
    deltas: Any = TypedDict("deltas", fields)  # type: ignore[operator]

    def work(name: str) -> Callable[[Any], dict[str, Any]]:
        def node(state: Any) -> dict[str, Any]:
            return {"log": [f"{name}{len(state['log'])}"], "plain": [name]}

        return node

    def reset(state: Any) -> dict[str, Any]:
        if len(state["plain"]) > 12:
            return {"other": Overwrite(["reset"])}
        return {"other": [f"seen {len(state['log'])}"]}

    def build(saver: Saver) -> Graph:
        builder: Any = StateGraph(deltas)
        for name in ("zeta", "mid", "alpha"):
            builder.add_node(name, work(name))
            builder.add_edge(START, name)
        builder.add_node("reset", reset)
        builder.add_edge(["zeta", "mid", "alpha"], "reset")
        return builder.compile(checkpointer=saver)

    return build


def delta_with_question(saver: Saver) -> Graph:
    """A delta channel in a subgraph and in its parent, with a question between the writers."""

    class Deltas(TypedDict):
        log: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=2)]

    sub = StateGraph(Deltas)
    sub.add_node("one", note("one"))
    sub.add_node("ask", ask("delta"))
    sub.add_node("side", note("side"))
    sub.add_edge(START, "one")
    sub.add_edge("one", "ask")
    sub.add_edge("one", "side")
    outer = StateGraph(Deltas)
    outer.add_node("first", note("first"))
    outer.add_node("sub", sub.compile())
    outer.add_node("end", note("end"))
    outer.add_edge(START, "first")
    outer.add_edge("first", "sub")
    outer.add_edge("sub", "end")
    return outer.compile(checkpointer=saver)


def commands(saver: Saver) -> Graph:
    """Nodes that go where they like, and a subgraph that sends its parent elsewhere."""

    def start(state: Log) -> Command[Any]:
        return Command(update={"log": ["start"]}, goto=["left", "right"])

    def inner(state: Log) -> Command[Any]:
        return Command(graph=Command.PARENT, update={"log": ["from inside"]}, goto="landing")

    sub = StateGraph(Log)
    sub.add_node("inner", inner)
    sub.add_edge(START, "inner")
    builder = StateGraph(Log)
    builder.add_node("start", start, destinations=("left", "right"))
    builder.add_node("left", note("left"))
    builder.add_node("right", sub.compile(), destinations=("landing",))
    builder.add_node("landing", note("landing"))
    builder.add_node("ask", ask("ask"))
    builder.add_edge(START, "start")
    builder.add_edge("landing", "ask")
    return builder.compile(checkpointer=saver)


def breakpoints(saver: Saver) -> Graph:
    """Static breakpoints before one node and after another."""
    builder = StateGraph(Log)
    for name in ("a", "b", "c"):
        builder.add_node(name, note(name))
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("b", "c")
    return builder.compile(checkpointer=saver, interrupt_before=["b"], interrupt_after=["b"])


def failing(saver: Saver) -> Graph:
    """A node that fails on its first two tries beside a sibling that works, then a subgraph that
    fails on its first."""
    tries = {"shaky": 0, "inner": 0}

    def shaky(state: Log) -> dict[str, Any]:
        tries["shaky"] += 1
        if tries["shaky"] <= 2:
            time.sleep(0.1)  # the sibling's result is stored by then, in every run
            raise ValueError(f"try {tries['shaky']}")
        return {"log": [f"shaky {tries['shaky']}"]}

    def inner(state: Log) -> dict[str, Any]:
        tries["inner"] += 1
        if tries["inner"] == 1:
            raise RuntimeError("inner failed")
        return {"log": [f"inner {tries['inner']}"]}

    sub = StateGraph(Log)
    sub.add_node("inner_ok", note("inner_ok"))
    sub.add_node("inner", inner)
    sub.add_edge(START, "inner_ok")
    sub.add_edge("inner_ok", "inner")
    builder = StateGraph(Log)
    builder.add_node("steady", note("steady"))
    builder.add_node("shaky", shaky)
    builder.add_node("sub", sub.compile())
    builder.add_edge(START, "steady")
    builder.add_edge(START, "shaky")
    builder.add_edge(["steady", "shaky"], "sub")
    return builder.compile(checkpointer=saver)


@dataclass
class Point:
    """A type of this project's user, kept in the state."""

    x: int
    y: int


def rich_values(saver: Saver) -> Graph:
    """Values of many types in the state."""

    class Rich(TypedDict):
        values: Annotated[list[Any], operator.add]
        table: dict[Any, Any]

    def fill(state: Rich) -> dict[str, Any]:
        moment = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
        return {
            "values": [
                Point(1, 2),
                (1, (2, 3)),
                {1, 2, 3},
                frozenset({"a"}),
                b"\x00\xff",
                moment,
                UUID(int=7),
                Decimal("1.50"),
                None,
                True,
                1.5,
                2**63,
                "nul \x00 \u00e9 \U0001f600",
                {"deep": [{"er": [HumanMessage("hi", id="h")]}]},
            ],
            "table": {1: "int key", "1": "text key", (1, 2): "tuple key", None: []},
        }

    builder = StateGraph(Rich)
    builder.add_node("fill", fill)
    builder.add_node("again", fill)
    builder.add_edge(START, "fill")
    builder.add_edge("fill", "again")
    return builder.compile(checkpointer=saver)


class ScriptedModel(BaseChatModel):
    """A chat model that answers by how long the conversation is: tool calls, then text."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        count = len(messages)
        if isinstance(messages[-1], HumanMessage):
            calls = [
                {"name": "lookup", "args": {"word": f"w{count}"}, "id": f"call-{count}-1"},
                {"name": "approve", "args": {"what": f"p{count}"}, "id": f"call-{count}-2"},
            ]
            answer = AIMessage("", id=f"ai{count}", tool_calls=calls)
        else:
            answer = AIMessage(f"done after {messages[-1].content}", id=f"ai{count}")
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def lookup(word: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
    """Look a word up."""
    return ToolMessage(f"{word} means {word}", id=f"tool-{tool_call_id}", tool_call_id=tool_call_id)


@tool
def approve(what: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
    """Ask a human."""
    answer = interrupt({"approve": what})
    return ToolMessage(f"{what}: {answer}", id=f"tool-{tool_call_id}", tool_call_id=tool_call_id)


def tool_agent(saver: Saver) -> Graph:
    """LangChain's agent with two tools called at once, one of which asks a human."""
    return create_agent(ScriptedModel(), [lookup, approve], checkpointer=saver)


def functional(saver: Saver) -> Graph:
    """The functional API, sync: finished tasks, a question, and the previous result."""

    @task
    def double(number: int) -> int:
        return number * 2

    @task
    def confirm(number: int) -> str:
        return f"{number}: {interrupt({'confirm': number})}"

    @entrypoint(checkpointer=saver)
    def workflow(numbers: list[int], *, previous: Any = None) -> Any:
        futures = [double(number) for number in numbers]
        doubled = [future.result() for future in futures]
        answer = confirm(sum(doubled)).result()
        total = (previous or {}).get("total", 0) + sum(doubled)
        return entrypoint.final(value=[answer, doubled], save={"total": total})

    return workflow


def functional_async(saver: Saver) -> Graph:
    """The functional API with coroutines; the same names as the sync one."""

    @task
    async def double(number: int) -> int:
        return number * 2

    @task
    async def confirm(number: int) -> str:
        return f"{number}: {interrupt({'confirm': number})}"

    @entrypoint(checkpointer=saver)
    async def workflow(numbers: list[int], *, previous: Any = None) -> Any:
        futures = [double(number) for number in numbers]
        doubled = [await future for future in futures]
        answer = await confirm(sum(doubled))
        total = (previous or {}).get("total", 0) + sum(doubled)
        return entrypoint.final(value=[answer, doubled], save={"total": total})

    return workflow


def loop(saver: Saver) -> Graph:
    """A loop of many small supersteps."""

    class Count(TypedDict):
        count: int
        log: Annotated[list[str], operator.add]

    def step(state: Count) -> dict[str, Any]:
        return {"count": state["count"] + 1, "log": [str(state["count"])]}

    builder = StateGraph(Count)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda state: "step" if state["count"] < 8 else END)
    return builder.compile(checkpointer=saver)
