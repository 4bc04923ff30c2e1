"""What a workload is: a graph to build, and what to invoke it with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

Graph = CompiledStateGraph[Any, Any, Any, Any]
Node = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Workload:
    """A scripted conversation of adjustable length.

    The graph comes in two forms because LangGraph runs a synchronous node of an asynchronous run
    in a thread pool, and the hop would drown what is measured.
    """

    name: str
    title: str
    build: Callable[[BaseCheckpointSaver[Any], bool], Graph]
    """Compiles the graph on a saver; the flag asks for coroutine nodes."""
    inputs: Callable[[int], Sequence[Any]]
    """One input per invocation, for a size in the workload's own unit."""
    full: int
    """Size of a full run: turns, or supersteps where one invocation does it all."""
    quick: int
    delta_channels: tuple[str, ...] = ()
    recursion_limit: int = 50


def node(function: Node, asynchronous: bool) -> Any:
    """The node in the form that the run needs: itself, or as a coroutine function."""
    if not asynchronous:
        return function

    async def coroutine(state: Any) -> Any:
        return function(state)

    return coroutine
