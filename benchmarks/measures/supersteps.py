"""Each workload written and read back: supersteps, disk, single reads, pages, walks, timelines."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from benchmarks import results as m
from benchmarks.measure import (
    Bench,
    discard,
    last_tenth,
    mean,
    megabytes_on_disk,
    seconds,
    typical_seconds,
)
from benchmarks.measures.limit import measure_limit
from benchmarks.measures.reading import read, thread, timeline, walk
from benchmarks.replay import areplay, prepare, replay
from benchmarks.savers import (
    ASYNC_SQLITE,
    FORKPOINT,
    MEMORY,
    RIDING,
    SHARING,
    SQLITE,
    ZSTD,
    Contender,
    Saver,
)
from benchmarks.workloads import Recording

THREAD = "conversation"
_PAGE = 50
_MOST_ASYNC_SUPERSTEPS = 1_000


def measure_workload(bench: Bench, name: str) -> None:
    """Writes the workload with every saver, and reads it back with those that are compared."""
    recording = bench.recording(name)
    for contender in bench.turns(name, (SQLITE, ASYNC_SQLITE, MEMORY, FORKPOINT, RIDING, ZSTD)):
        if contender.opened is not None:
            _measure_sync(bench, recording, contender)
        if contender.aopened is not None:
            _measure_async(bench, recording, contender)


def _measure_sync(bench: Bench, recording: Recording, contender: Contender) -> None:
    topic, path = recording.workload.name, bench.new_file()
    with contender.open(path) as saver:
        calls = prepare(recording, saver, THREAD, durability=contender.durability)
        times = replay(saver, calls)
        bench.results.add(topic, m.SUPERSTEP, contender.name, mean(times) * 1e3)
        bench.results.add(topic, m.TAIL, contender.name, mean(last_tenth(times)) * 1e3)
        if isinstance(saver, InMemorySaver):
            bench.results.add(topic, m.DISK, contender.name, _megabytes_in_memory(saver))
            _measure_pages(bench, recording, contender, saver)
    if contender.on_disk:
        bench.results.add(topic, m.DISK, contender.name, megabytes_on_disk(path))
    if contender in (SQLITE, FORKPOINT, ZSTD):
        _measure_single_reads(bench, recording, contender, path)
    if contender in (SQLITE, FORKPOINT):
        with contender.open(path) as saver:
            _measure_pages(bench, recording, contender, saver)
            _measure_timeline(bench, recording, contender, saver)
    if contender == FORKPOINT:
        _measure_shared_reads(bench, recording, path)
        measure_limit(bench, recording, path, len(calls))
    discard(path)


def _measure_async(bench: Bench, recording: Recording, contender: Contender) -> None:
    path = bench.new_file()

    async def run() -> float:
        async with contender.aopen(path) as saver:
            calls = prepare(
                recording,
                saver,
                THREAD,
                durability=contender.durability,
                supersteps=_MOST_ASYNC_SUPERSTEPS,
            )
            return mean(await areplay(saver, calls))

    value = asyncio.run(run()) * 1e3
    bench.results.add(recording.workload.name, m.ASYNC_SUPERSTEP, contender.name, value)
    discard(path)


def _measure_single_reads(
    bench: Bench, recording: Recording, contender: Contender, path: Path
) -> None:
    topic, deltas = recording.workload.name, recording.workload.delta_channels
    latest = thread(THREAD)
    old = thread(THREAD, recording.root_ids[len(recording.root_ids) // 2])
    for _ in range(bench.plan.repeats):

        def open_and_read() -> None:
            with contender.open(path) as saver:
                read(saver, latest, deltas)

        bench.results.add(topic, m.OPEN_LATEST, contender.name, seconds(open_and_read) * 1e3)
        for measure, config in ((m.LATEST_COLD, latest), (m.OLD_COLD, old)):
            with contender.open(path) as saver:
                _set_up(saver)
                value = seconds(partial(read, saver, config, deltas))
                bench.results.add(topic, measure, contender.name, value * 1e3)
    with contender.open(path) as saver:
        for measure, config in ((m.LATEST_WARM, latest), (m.OLD_WARM, old)):
            value = typical_seconds(partial(read, saver, config, deltas), bench.plan.repeats)
            bench.results.add(topic, measure, contender.name, value * 1e3)


def _measure_pages(bench: Bench, recording: Recording, contender: Contender, saver: Saver) -> None:
    """Pages and walks on a saver that has just been opened."""
    topic, whole = recording.workload.name, thread(THREAD)
    _set_up(saver)
    page = partial(walk, saver, whole, limit=_PAGE)
    bench.results.add(topic, m.PAGE, contender.name, seconds(page) * 1e3)
    bench.results.add(topic, m.PAGE_WARM, contender.name, seconds(page) * 1e3)
    graph = recording.workload.build(saver, False)
    value = seconds(lambda: list(graph.get_state_history(thread(THREAD), limit=_PAGE)))
    bench.results.add(topic, m.HISTORY, contender.name, value * 1e3)
    value = seconds(partial(walk, saver, whole))
    bench.results.add(topic, m.WALK, contender.name, len(recording.root_ids) / value)


def _measure_timeline(
    bench: Bench, recording: Recording, contender: Contender, saver: Saver
) -> None:
    """Ours by `timeline`; what a user of the stock saver has instead is the state history."""
    topic = recording.workload.name
    if not contender.ours:
        value = bench.results.samples[topic][m.HISTORY][contender.name][-1]
        bench.results.add(topic, m.TIMELINE, contender.name, value)
        return
    value = typical_seconds(partial(timeline, saver, THREAD), bench.plan.repeats)
    bench.results.add(topic, m.TIMELINE, contender.name, value * 1e3)


def _measure_shared_reads(bench: Bench, recording: Recording, path: Path) -> None:
    topic, deltas = recording.workload.name, recording.workload.delta_channels
    for _ in range(bench.plan.repeats):
        with FORKPOINT.open(path) as saver:
            value = seconds(partial(timeline, saver, THREAD))
            bench.results.add(topic, m.TIMELINE_COLD, FORKPOINT.name, value * 1e3)
    with SHARING.open(path) as saver:
        latest = partial(read, saver, thread(THREAD), deltas)
        value = typical_seconds(latest, bench.plan.repeats)
        bench.results.add(topic, m.LATEST_WARM, SHARING.name, value * 1e3)
        page = partial(walk, saver, thread(THREAD), limit=_PAGE)
        page()
        value = seconds(page)
        bench.results.add(topic, m.PAGE_WARM, SHARING.name, value * 1e3)
        graph = recording.workload.build(saver, False)
        value = seconds(lambda: list(graph.get_state_history(thread(THREAD), limit=_PAGE)))
        bench.results.add(topic, m.HISTORY, SHARING.name, value * 1e3)


def _set_up(saver: Saver) -> None:
    """The stock saver creates its tables on first use; that is not part of a read."""
    if isinstance(saver, SqliteSaver):
        saver.setup()


def _megabytes_in_memory(saver: InMemorySaver) -> float:
    values = sum(len(data) for _, data in saver.blobs.values())
    writes = sum(len(write[2][1]) for slots in saver.writes.values() for write in slots.values())
    return (values + writes) / 1e6
