"""The agent of the demo: a travel assistant that needs neither a network nor a key.

It is a real LangGraph graph with a real tool-calling loop; only the chat model is scripted. The
model decides from the messages alone, never from a counter, so it answers sensibly in every fork,
whatever point the fork was taken at.

Booking makes two tool calls in one superstep: `hold_room` finishes at once, `pay` asks a human.
So a fork at that question has both: an open question, and finished work that must not be done
again. What the tools did to the world is in a `Journal`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send, interrupt

FLIGHT = {"flight": "TP 1241", "departs": "Friday 18:20", "price": 129}
ROOMS = {
    "riverside": {"room": "Casa do Rio", "price": 96},
    "old town": {"room": "Pensão Alfama", "price": 64},
}


@dataclass
class Journal:
    """What the agent did to the world, in order. The world is not part of a fork."""

    entries: list[str] = field(default_factory=list)


def build_agent(
    checkpointer: BaseCheckpointSaver[Any] | None = None, journal: Journal | None = None
) -> CompiledStateGraph[MessagesState, None, MessagesState, MessagesState]:
    """The demo's agent, compiled with `checkpointer`.

    >>> from langchain_core.messages import HumanMessage
    >>> from langgraph.checkpoint.memory import InMemorySaver
    >>> agent = build_agent(InMemorySaver())
    >>> config = {"configurable": {"thread_id": "lisbon"}}
    >>> state = agent.invoke({"messages": [HumanMessage("A flight to Lisbon?")]}, config)
    >>> state["messages"][-1].content
    'There is TP 1241, Friday 18:20, for 129 EUR. Shall I look for a room too?'
    """
    tools = {tool.name: tool for tool in travel_tools(journal or Journal())}
    model = ScriptedTravelModel().bind_tools(list(tools.values()))

    def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def run_tool(state: ToolCall) -> dict[str, Any]:
        result: ToolMessage = tools[state["name"]].invoke(state)
        result.id = result.tool_call_id
        return {"messages": [result]}

    def next_step(state: MessagesState) -> list[Send] | str:
        last = state["messages"][-1]
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        return [Send("tools", call) for call in calls] or END

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", run_tool, input_schema=ToolCall)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", next_step, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=checkpointer)


def travel_tools(journal: Journal) -> list[BaseTool]:
    """The agent's four tools. The two that change the world write so into `journal`."""

    @tool
    def search_flights(to: str, day: str) -> dict[str, Any]:
        """Find a flight."""
        return FLIGHT

    @tool
    def search_rooms(where: str, nights: int) -> dict[str, Any]:
        """Find a room."""
        return {**ROOMS[where], "nights": nights}

    @tool
    def hold_room(room: str, nights: int) -> dict[str, Any]:
        """Hold a room until it is paid."""
        journal.entries.append(f"held {room} for {nights} nights")
        return {"held": room}

    @tool
    def pay(amount: int, what: str) -> dict[str, Any]:
        """Pay, if a human agrees."""
        answer = interrupt({"question": f"Pay {amount} EUR for {what}?", "amount": amount})
        if answer != "approve":
            return {"paid": False}
        journal.entries.append(f"paid {amount} EUR")
        return {"paid": True, "reference": f"FP-{amount}"}

    return [search_flights, search_rooms, hold_room, pay]


class ScriptedTravelModel(BaseChatModel):
    """A chat model whose answers are looked up, not generated."""

    @property
    def _llm_type(self) -> str:
        return "scripted-travel"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The script knows its tools already."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        last = messages[-1]
        reply = (
            _ask_tools(last.text, messages)
            if isinstance(last, HumanMessage)
            else _report(_latest_results(messages))
        )
        return ChatResult(generations=[ChatGeneration(message=reply)])


def _ask_tools(request: str, messages: Sequence[BaseMessage]) -> AIMessage:
    asked = request.lower()
    turn = sum(isinstance(message, HumanMessage) for message in messages)

    def call(name: str, **args: Any) -> ToolCall:
        return ToolCall(name=name, args=args, id=f"{name}-{turn}", type="tool_call")

    if "book" in asked:
        stay = _found(messages, "search_rooms")
        if stay is None:
            return AIMessage("Let us find a room first. Where would you like to stay?")
        total = FLIGHT["price"] + stay["price"] * stay["nights"]
        what = f"{FLIGHT['flight']} and {stay['nights']} nights at {stay['room']}"
        return AIMessage(
            "",
            tool_calls=[
                call("hold_room", room=stay["room"], nights=stay["nights"]),
                call("pay", amount=total, what=what),
            ],
        )
    if "room" in asked or "stay" in asked:
        where = "old town" if "old town" in asked else "riverside"
        return AIMessage("", tool_calls=[call("search_rooms", where=where, nights=2)])
    if "flight" in asked or "fly" in asked:
        return AIMessage("", tool_calls=[call("search_flights", to="Lisbon", day="Friday")])
    return AIMessage("I can find a flight to Lisbon and a room there, and book both.")


def _report(results: dict[str, dict[str, Any]]) -> AIMessage:
    if flight := results.get("search_flights"):
        return AIMessage(
            f"There is {flight['flight']}, {flight['departs']}, for {flight['price']} EUR. "
            "Shall I look for a room too?"
        )
    if stay := results.get("search_rooms"):
        return AIMessage(f"{stay['room']} is free, {stay['price']} EUR a night. Shall I book?")
    payment = results.get("pay", {})
    if payment.get("paid"):
        return AIMessage(f"Booked and paid, reference {payment['reference']}. Have a good trip!")
    return AIMessage("All right, nothing was paid. Shall I look for something cheaper?")


def _latest_results(messages: Sequence[BaseMessage]) -> dict[str, dict[str, Any]]:
    trailing = takewhile(lambda message: isinstance(message, ToolMessage), reversed(messages))
    return {str(message.name): json.loads(message.text) for message in trailing}


def _found(messages: Sequence[BaseMessage], tool_name: str) -> dict[str, Any] | None:
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and message.name == tool_name:
            result: dict[str, Any] = json.loads(message.text)
            return result
    return None


__all__ = ["Journal", "ScriptedTravelModel", "build_agent", "travel_tools"]
