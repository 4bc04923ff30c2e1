"""A conversation with a graph as plain values, so that one script runs sync and async.

A script is a generator: it yields an action and is sent what came of it (an `Outcome`, a
snapshot, or a history). `play` and `aplay` are the only places that call the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from langgraph.types import StateSnapshot, StateUpdate

Durability = Literal["sync", "async", "exit"]


@dataclass(frozen=True)
class Invoke:
    """Run the graph; `at` is a snapshot's config (replay or branch), default the head."""

    input: Any
    at: RunnableConfig | None = None
    extra: RunnableConfig = field(default_factory=dict)  # type: ignore[assignment]


@dataclass(frozen=True)
class Update:
    """`update_state`."""

    values: Any
    as_node: str | None = None
    at: RunnableConfig | None = None


@dataclass(frozen=True)
class BulkUpdate:
    """`bulk_update_state`."""

    supersteps: Sequence[Sequence[StateUpdate]]
    at: RunnableConfig | None = None


@dataclass(frozen=True)
class State:
    """`get_state` with subgraphs."""

    at: RunnableConfig | None = None


@dataclass(frozen=True)
class History:
    """`get_state_history` of the thread, or of the namespace in `at`."""

    at: RunnableConfig | None = None


Action = Invoke | Update | BulkUpdate | State | History


@dataclass(frozen=True)
class Outcome:
    """What an action returned, or the error it raised."""

    value: Any = None
    error: str | None = None


Script = Callable[[], Generator[Action, Any, None]]


def at_step(history: Sequence[StateSnapshot], step: int) -> StateSnapshot:
    """The oldest snapshot of this step, which is the one on the first branch.

    Under ``durability="exit"`` most steps are not stored; then it is the nearest one.
    """
    steps = {index: (item.metadata or {}).get("step", -9) for index, item in enumerate(history)}
    return history[min(steps, key=lambda index: (abs(steps[index] - step), -index))]


def _config(thread: str, action: Action) -> RunnableConfig:
    base: dict[str, Any] = {"configurable": {"thread_id": thread}}
    if action.at is not None:
        base["configurable"].update(action.at["configurable"])
    if isinstance(action, Invoke):
        base["max_concurrency"] = action.extra.get("max_concurrency")
        base = {key: value for key, value in base.items() if value is not None}
        if "metadata" in action.extra:
            base["metadata"] = dict(action.extra["metadata"])
        base["configurable"].update(action.extra.get("configurable", {}))
    return base  # type: ignore[return-value]


def play(
    graph: Pregel[Any, Any, Any, Any], thread: str, script: Script, durability: Durability
) -> list[Any]:
    """Run a script with the sync methods; everything that came of it, in order."""
    log: list[Any] = []
    actions = script()
    sent: Any = None
    while True:
        try:
            action = actions.send(sent)
        except StopIteration:
            return log
        config = _config(thread, action)
        try:
            match action:
                case Invoke():
                    sent = Outcome(graph.invoke(action.input, config, durability=durability))
                case Update():
                    sent = Outcome(graph.update_state(config, action.values, action.as_node))
                case BulkUpdate():
                    sent = Outcome(graph.bulk_update_state(config, action.supersteps))
                case State():
                    sent = graph.get_state(config, subgraphs=True)
                case History():
                    sent = list(graph.get_state_history(config))
        except Exception as error:
            sent = Outcome(error=f"{type(error).__name__}: {error}")
        log.append(sent)


async def aplay(
    graph: Pregel[Any, Any, Any, Any], thread: str, script: Script, durability: Durability
) -> list[Any]:
    """Run a script with the async methods; everything that came of it, in order."""
    log: list[Any] = []
    actions = script()
    sent: Any = None
    while True:
        try:
            action = actions.send(sent)
        except StopIteration:
            return log
        config = _config(thread, action)
        try:
            match action:
                case Invoke():
                    sent = Outcome(await graph.ainvoke(action.input, config, durability=durability))
                case Update():
                    sent = Outcome(await graph.aupdate_state(config, action.values, action.as_node))
                case BulkUpdate():
                    sent = Outcome(await graph.abulk_update_state(config, action.supersteps))
                case State():
                    sent = await graph.aget_state(config, subgraphs=True)
                case History():
                    sent = [snapshot async for snapshot in graph.aget_state_history(config)]
        except Exception as error:
            sent = Outcome(error=f"{type(error).__name__}: {error}")
        log.append(sent)
