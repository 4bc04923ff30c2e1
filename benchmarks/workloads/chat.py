"""W1 and W2: an agent that calls a tool in every turn; the conversation only grows.

A turn is five supersteps (input, human, model, tool, model) and four messages. In W1 the whole
list is in every checkpoint (`add_messages`); in W2 a `DeltaChannel` leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages

from benchmarks.workloads.graph import Graph, Workload, node
from benchmarks.workloads.text import prose

_MESSAGES_PER_TURN = 4
_TEXT_SIZE = 1_200

_reducer: Any = _messages_delta_reducer
MESSAGES_DELTA: DeltaChannel[Any] = DeltaChannel(_reducer, list)


class ChatState(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class DeltaChatState(TypedDict):
    messages: Annotated[list[AnyMessage], MESSAGES_DELTA]


@cache
def scripted_message(position: int) -> AnyMessage:
    """The message at this place of the conversation."""
    turn, role = divmod(position, _MESSAGES_PER_TURN)
    text = prose(f"chat {position}", _TEXT_SIZE)
    identifier = f"message-{position:06d}"
    call_id = f"call_{turn:024x}"
    usage = {"input_tokens": 300 * position, "output_tokens": 300, "total_tokens": 300 * position}
    answer_metadata = {"model_name": "scripted-1", "finish_reason": "stop", "service_tier": "none"}
    if role == 0:
        return HumanMessage(text, id=identifier)
    if role == 1:
        arguments = {"query": prose(f"query {position}", 300), "limit": 10}
        call = {"name": "search", "args": arguments, "id": call_id, "type": "tool_call"}
        return AIMessage(
            text[:600],
            id=identifier,
            tool_calls=[call],
            response_metadata=answer_metadata,
            usage_metadata=usage,
        )
    if role == 2:
        return ToolMessage(text, id=identifier, tool_call_id=call_id, name="search")
    return AIMessage(text, id=identifier, response_metadata=answer_metadata, usage_metadata=usage)


def _next_message(state: Any) -> dict[str, list[AnyMessage]]:
    return {"messages": [scripted_message(len(state["messages"]))]}


def _after_model(state: Any) -> str:
    return "tools" if state["messages"][-1].tool_calls else END


def _builder(schema: type[Any]) -> Callable[[BaseCheckpointSaver[Any], bool], Graph]:
    def build(saver: BaseCheckpointSaver[Any], asynchronous: bool) -> Graph:
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(schema)
        builder.add_node("model", node(_next_message, asynchronous))
        builder.add_node("tools", node(_next_message, asynchronous))
        builder.add_edge(START, "model")
        builder.add_conditional_edges("model", _after_model, ["tools", END])
        builder.add_edge("tools", "model")
        return builder.compile(checkpointer=saver)

    return build


def _turns(count: int) -> Sequence[Any]:
    return [{"messages": [scripted_message(turn * _MESSAGES_PER_TURN)]} for turn in range(count)]


CHAT = Workload("W1", "growing chat", _builder(ChatState), _turns, full=160, quick=20)
DELTA_CHAT = Workload(
    "W2",
    "chat on a DeltaChannel",
    _builder(DeltaChatState),
    _turns,
    full=160,
    quick=20,
    delta_channels=("messages",),
)
