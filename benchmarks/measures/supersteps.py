"""Each workload written and read back: supersteps, disk, single reads, pages, walks, timelines."""

from __future__ import annotations

import asyncio
from functools import partial

from langgraph.checkpoint.memory import InMemorySaver

from benchmarks import results as m
from benchmarks.measure import Bench, last_tenth, mean, seconds, typical_seconds
from benchmarks.measures.limit import measure_limit
from benchmarks.measures.reading import read, settle, thread, timeline, walk
from benchmarks.places import Place
from benchmarks.replay import areplay, prepare, replay
from benchmarks.savers import Contender, Role, Saver, contenders
from benchmarks.workloads import Recording

THREAD = "conversation"
_PAGE = 50
_MOST_ASYNC_SUPERSTEPS = 1_000


def measure_workload(bench: Bench, name: str) -> None:
    """Writes the workload with every saver, and reads it back with those that are compared."""
    recording = bench.recording(name)
    for contender in bench.turns(
        name, Role.STOCK, Role.ASYNC_STOCK, Role.MEMORY, Role.OURS, Role.RIDING, Role.ZSTD
    ):
        if contender.opened is not None:
            with bench.new_place(contender) as place:
                _measure_sync(bench, recording, contender, place)
        if contender.aopened is not None:
            with bench.new_place(contender) as place:
                _measure_async(bench, recording, contender, place)


def _measure_sync(bench: Bench, recording: Recording, contender: Contender, place: Place) -> None:
    topic = recording.workload.name
    with contender.open(place) as saver:
        settle(saver)
        calls = prepare(recording, saver, THREAD, durability=contender.durability)
        times = replay(saver, calls)
        bench.note(contender, topic, m.SUPERSTEP, mean(times) * 1e3)
        bench.note(contender, topic, m.TAIL, mean(last_tenth(times)) * 1e3)
        if isinstance(saver, InMemorySaver):
            bench.note(contender, topic, m.DISK, _megabytes_in_memory(saver))
            _measure_pages(bench, recording, contender, saver)
            return
    bench.note(contender, topic, m.DISK, place.megabytes())
    if contender.role in (Role.STOCK, Role.OURS, Role.ZSTD):
        _measure_single_reads(bench, recording, contender, place)
    if contender.role in (Role.STOCK, Role.OURS):
        with contender.open(place) as saver:
            settle(saver)
            _measure_pages(bench, recording, contender, saver)
            _measure_timeline(bench, recording, contender, saver)
    if contender.role is Role.OURS:
        _measure_shared_reads(bench, recording, contender, place)
        measure_limit(bench, recording, place, len(calls))


def _measure_async(bench: Bench, recording: Recording, contender: Contender, place: Place) -> None:
    async def run() -> float:
        async with contender.aopen(place) as saver:
            await saver.aget_tuple(thread("nobody"))
            calls = prepare(
                recording,
                saver,
                THREAD,
                durability=contender.durability,
                supersteps=_MOST_ASYNC_SUPERSTEPS,
            )
            return mean(await areplay(saver, calls))

    value = asyncio.run(run()) * 1e3
    bench.note(contender, recording.workload.name, m.ASYNC_SUPERSTEP, value)


def _measure_single_reads(
    bench: Bench, recording: Recording, contender: Contender, place: Place
) -> None:
    topic, deltas = recording.workload.name, recording.workload.delta_channels
    latest = thread(THREAD)
    old = thread(THREAD, recording.root_ids[len(recording.root_ids) // 2])
    for _ in range(bench.plan.repeats):

        def open_and_read() -> None:
            with contender.open(place) as saver:
                read(saver, latest, deltas)

        bench.note(contender, topic, m.OPEN_LATEST, seconds(open_and_read) * 1e3)
        for measure, config in ((m.LATEST_COLD, latest), (m.OLD_COLD, old)):
            with contender.open(place) as saver:
                settle(saver)
                value = seconds(partial(read, saver, config, deltas))
                bench.note(contender, topic, measure, value * 1e3)
    with contender.open(place) as saver:
        for measure, config in ((m.LATEST_WARM, latest), (m.OLD_WARM, old)):
            value = typical_seconds(partial(read, saver, config, deltas), bench.plan.repeats)
            bench.note(contender, topic, measure, value * 1e3)


def _measure_pages(bench: Bench, recording: Recording, contender: Contender, saver: Saver) -> None:
    """Pages and walks on a saver that has just been opened."""
    topic, whole = recording.workload.name, thread(THREAD)
    page = partial(walk, saver, whole, limit=_PAGE)
    bench.note(contender, topic, m.PAGE, seconds(page) * 1e3)
    bench.note(contender, topic, m.PAGE_WARM, seconds(page) * 1e3)
    graph = recording.workload.build(saver, False)
    value = seconds(lambda: list(graph.get_state_history(thread(THREAD), limit=_PAGE)))
    bench.note(contender, topic, m.HISTORY, value * 1e3)
    value = seconds(partial(walk, saver, whole))
    bench.note(contender, topic, m.WALK, len(recording.root_ids) / value)


def _measure_timeline(
    bench: Bench, recording: Recording, contender: Contender, saver: Saver
) -> None:
    """Ours by `timeline`; what a user of the stock saver has instead is the state history."""
    topic = recording.workload.name
    if not contender.ours:
        value = bench.results.last(contender.topic(topic), m.HISTORY, contender.name)
        bench.note(contender, topic, m.TIMELINE, value)
        return
    value = typical_seconds(partial(timeline, saver, THREAD), bench.plan.repeats)
    bench.note(contender, topic, m.TIMELINE, value * 1e3)


def _measure_shared_reads(
    bench: Bench, recording: Recording, contender: Contender, place: Place
) -> None:
    topic, deltas = recording.workload.name, recording.workload.delta_channels
    for _ in range(bench.plan.repeats):
        with contender.open(place) as saver:
            settle(saver)
            value = seconds(partial(timeline, saver, THREAD))
            bench.note(contender, topic, m.TIMELINE_COLD, value * 1e3)
    (sharing,) = contenders([contender.database], Role.SHARING)
    with sharing.open(place) as saver:
        latest = partial(read, saver, thread(THREAD), deltas)
        value = typical_seconds(latest, bench.plan.repeats)
        bench.note(sharing, topic, m.LATEST_WARM, value * 1e3)
        page = partial(walk, saver, thread(THREAD), limit=_PAGE)
        page()
        bench.note(sharing, topic, m.PAGE_WARM, seconds(page) * 1e3)
        graph = recording.workload.build(saver, False)
        value = seconds(lambda: list(graph.get_state_history(thread(THREAD), limit=_PAGE)))
        bench.note(sharing, topic, m.HISTORY, value * 1e3)


def _megabytes_in_memory(saver: InMemorySaver) -> float:
    values = sum(len(data) for _, data in saver.blobs.values())
    writes = sum(len(write[2][1]) for slots in saver.writes.values() for write in slots.values())
    return (values + writes) / 1e6
