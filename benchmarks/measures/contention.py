"""Many conversations at once on one database, each with words of its own (nothing to share)."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from time import perf_counter
from typing import Any

from langchain_core.messages import BaseMessage

from benchmarks import results as m
from benchmarks.measure import Bench
from benchmarks.measures.reading import settle, thread
from benchmarks.replay import Call, PutCall, areplay, prepare, replay
from benchmarks.savers import Contender, Role, Saver

_TOPIC = "writers"


def measure_writers(bench: Bench) -> None:
    """The growing chat written by many threads, or many tasks, on one saver."""
    supersteps = bench.plan.writers * bench.plan.writer_supersteps
    for contender in bench.turns(
        "many writers", Role.STOCK, Role.POOLED_STOCK, Role.ASYNC_STOCK, Role.OURS, Role.RIDING
    ):
        if contender.opened is not None:
            rate = supersteps / _threads(bench, contender)
            bench.note(contender, _TOPIC, m.WRITERS, rate)
        if contender.aopened is not None:
            rate = supersteps / asyncio.run(_tasks(bench, contender))
            bench.note(contender, _TOPIC, m.ASYNC_WRITERS, rate)


def _threads(bench: Bench, contender: Contender) -> float:
    with bench.new_place(contender) as place, contender.open(place) as saver:
        settle(saver)
        conversations = _conversations(bench, contender, saver)
        start_together = Barrier(len(conversations) + 1)

        def write(calls: list[Call]) -> None:
            start_together.wait()
            replay(saver, calls)

        with ThreadPoolExecutor(len(conversations)) as threads:
            written = [threads.submit(write, calls) for calls in conversations]
            start_together.wait()
            start = perf_counter()
            for future in written:
                future.result()
            return perf_counter() - start


async def _tasks(bench: Bench, contender: Contender) -> float:
    with bench.new_place(contender) as place:
        async with contender.aopen(place) as saver:
            await saver.aget_tuple(thread("nobody"))
            conversations = _conversations(bench, contender, saver)
            start = perf_counter()
            await asyncio.gather(*(areplay(saver, calls) for calls in conversations))
            return perf_counter() - start


def _conversations(bench: Bench, contender: Contender, saver: Saver) -> list[list[Call]]:
    recording, plan = bench.recording("W1"), bench.plan
    return [
        _in_own_words(
            prepare(
                recording,
                saver,
                f"writer-{number}",
                durability=contender.durability,
                supersteps=plan.writer_supersteps,
            ),
            f"writer {number}: ",
        )
        for number in range(plan.writers)
    ]


def _in_own_words(calls: list[Call], prefix: str) -> list[Call]:
    """The same calls with every message changed; a message stays one object."""
    changed: dict[int, BaseMessage] = {}

    def own(value: Any) -> Any:
        if isinstance(value, BaseMessage):
            if id(value) not in changed:
                changed[id(value)] = value.model_copy(update={"content": f"{prefix}{value.text}"})
            return changed[id(value)]
        if isinstance(value, list | tuple):
            return type(value)(own(item) for item in value)
        if isinstance(value, dict):
            return {key: own(item) for key, item in value.items()}
        return value

    own_calls: list[Call] = []
    for call in calls:
        if isinstance(call, PutCall):
            checkpoint = call.checkpoint.copy()
            checkpoint["channel_values"] = own(checkpoint["channel_values"])
            own_calls.append(replace(call, checkpoint=checkpoint))
        else:
            own_calls.append(replace(call, writes=own(call.writes)))
    return own_calls
