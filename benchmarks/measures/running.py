"""Whole graphs, end to end: what a user of LangGraph waits for in a growing chat."""

from __future__ import annotations

import asyncio
from time import perf_counter

from langchain_core.runnables import RunnableConfig

from benchmarks import results as m
from benchmarks.measure import Bench
from benchmarks.measures.reading import settle, thread
from benchmarks.savers import Contender, Role
from benchmarks.workloads import WORKLOADS, Workload

_TOPIC = "W1"
_SUPERSTEPS_PER_TURN = 5


def measure_graph_runs(bench: Bench) -> None:
    """Runs W1's graph on each saver, with LangGraph's default durability."""
    workload = WORKLOADS[_TOPIC]
    size = bench.plan.size(workload)
    supersteps = size * _SUPERSTEPS_PER_TURN
    for contender in bench.turns(
        f"{_TOPIC} end to end",
        Role.STOCK,
        Role.ASYNC_STOCK,
        Role.MEMORY,
        Role.OURS,
        Role.SHARING,
    ):
        if contender.opened is not None:
            value = _run(bench, workload, size, contender) / supersteps
            bench.note(contender, _TOPIC, m.WALL, value * 1e3)
        if contender.aopened is not None:
            value = asyncio.run(_arun(bench, workload, size, contender)) / supersteps
            bench.note(contender, _TOPIC, m.ASYNC_WALL, value * 1e3)


_CONFIG: RunnableConfig = {"configurable": {"thread_id": "conversation"}}


def _run(bench: Bench, workload: Workload, size: int, contender: Contender) -> float:
    inputs = workload.inputs(size)
    with bench.new_place(contender) as place, contender.open(place) as saver:
        settle(saver)
        graph = workload.build(saver, False)
        start = perf_counter()
        for value in inputs:
            graph.invoke(value, _CONFIG, durability="async")
        return perf_counter() - start


async def _arun(bench: Bench, workload: Workload, size: int, contender: Contender) -> float:
    inputs = workload.inputs(size)
    with bench.new_place(contender) as place:
        async with contender.aopen(place) as saver:
            await saver.aget_tuple(thread("nobody"))
            graph = workload.build(saver, True)
            start = perf_counter()
            for value in inputs:
                await graph.ainvoke(value, _CONFIG, durability="async")
            return perf_counter() - start
