"""Forks: at several depths, a thousand of one checkpoint, and a long chain of forks of forks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import forkpoint as fp
from benchmarks import results as m
from benchmarks.measure import Bench, bytes_used, discard, mean, seconds, typical_seconds
from benchmarks.measures.copying import copy_chain, copy_head, copy_rows
from benchmarks.measures.reading import read, thread
from benchmarks.replay import call_for, prepare, renumbering, replay
from benchmarks.savers import FORKPOINT, SQLITE, Contender, Saver
from benchmarks.workloads import Put, Recording

SOURCE = "source"
BY_CHAIN = "SqliteSaver, chain"
BY_ROWS = "SqliteSaver, rows by SQL"
BY_HEAD = "SqliteSaver, head only"
Copy = Callable[[Saver, Path, str, str], None]
"""Makes a fork: saver, its file, the destination, and the id of the fork point."""


def measure_forks(bench: Bench) -> None:
    """A fork at each depth of the counter (W5), and at the end of the delta chat (W2)."""
    for workload in ("W5", "W2"):
        recording = bench.recording(workload)
        ids = recording.root_ids
        depths = [depth for depth in bench.plan.fork_depths if depth < len(ids)] + [len(ids)]
        _measure_at_depths(
            bench, recording, depths if workload == "W5" else [len(ids)], _topic(recording)
        )


def measure_many_forks(bench: Bench) -> None:
    """A thousand forks of one checkpoint of the delta chat."""
    recording, topic = bench.recording("W2"), "forks"
    point, plan = recording.root_ids[-1], bench.plan
    copies: dict[str, tuple[Contender, Copy, int]] = {
        BY_HEAD: (SQLITE, _copier_of_heads(recording), plan.stock_forks),
        FORKPOINT.name: (FORKPOINT, _fork, plan.many_forks),
    }
    for contender in bench.turns("1,000 forks", (SQLITE, FORKPOINT)):
        for name, (candidate, copy, count) in copies.items():
            if candidate != contender:
                continue
            path = bench.new_file()
            with contender.open(path) as saver:
                replay(saver, prepare(recording, saver, SOURCE))
                before = bytes_used(path)
                start = perf_counter()
                for number in range(count):
                    copy(saver, path, f"fork-{number}", point)
                taken = perf_counter() - start
                grown = bytes_used(path) - before
            bench.results.add(topic, m.MANY_TIME, name, taken * 1_000 / count)
            bench.results.add(topic, m.MANY_BYTES, name, grown * 1_000 / count / 1e6)
            discard(path)


def measure_lineage(bench: Bench) -> None:
    """Every superstep goes to a new fork of the one before; then the first one is read."""
    recording, topic, plan = bench.recording("W5"), "lineage", bench.plan
    for contender in bench.turns("chain of forks", (FORKPOINT,)):
        path = bench.new_file()
        with contender.open(path) as saver:
            times = _chain_of_forks(saver, recording, plan.generations)
        youngest, oldest_id = f"generation-{plan.generations}", recording.root_ids[0]
        bench.results.add(topic, m.CHAIN_FORK, contender.name, mean(times[-20:]) * 1e3)
        for measure, config in (
            (m.CHAIN_HEAD, thread(youngest)),
            (m.CHAIN_OLDEST, thread(youngest, oldest_id)),
        ):
            with contender.open(path) as saver:
                value = seconds(partial(read, saver, config))
                bench.results.add(topic, measure, contender.name, value * 1e3)
        with contender.open(path) as saver:
            oldest = partial(read, saver, thread(youngest, oldest_id))
            value = typical_seconds(oldest, plan.repeats)
            bench.results.add(topic, m.CHAIN_OLDEST_WARM, contender.name, value * 1e3)
        discard(path)


def _topic(recording: Recording) -> str:
    return f"fork of {recording.workload.name}"


def _measure_at_depths(bench: Bench, recording: Recording, depths: list[int], topic: str) -> None:
    copies: dict[Contender, dict[str, Copy]] = {
        SQLITE: {
            BY_CHAIN: lambda saver, path, to, point: copy_chain(saver, SOURCE, point, to),
            BY_ROWS: lambda saver, path, to, point: copy_rows(path, SOURCE, point, to),
            BY_HEAD: _copier_of_heads(recording),
        },
        FORKPOINT: {FORKPOINT.name: _fork},
    }
    with ExitStack() as stack:
        opened: dict[Contender, tuple[Saver, Path]] = {}
        for contender in copies:
            path = bench.new_file()
            stack.callback(discard, path)
            saver = stack.enter_context(contender.open(path))
            replay(saver, prepare(recording, saver, SOURCE))
            opened[contender] = (saver, path)
        for turn, contender in enumerate(bench.turns(topic, tuple(copies))):
            saver, path = opened[contender]
            for name, copy in copies[contender].items():
                count = bench.plan.forks_per_depth if contender.ours else 1
                for depth in depths:
                    names = [f"{name} {turn} {depth} {number}" for number in range(count)]
                    point = recording.root_ids[depth - 1]
                    before = bytes_used(path)
                    times = [seconds(partial(copy, saver, path, fork, point)) for fork in names]
                    grown = (bytes_used(path) - before) / count
                    first_read = partial(
                        read, saver, thread(names[0]), recording.workload.delta_channels
                    )
                    for measure, value in (
                        (m.FORK_TIME, median(times) * 1e3),
                        (m.FORK_BYTES, grown),
                        (m.FORK_READ, seconds(first_read) * 1e3),
                    ):
                        bench.results.add(topic, measure.format(depth=depth), name, value)


def _copier_of_heads(recording: Recording) -> Copy:
    deltas = recording.workload.delta_channels
    return lambda saver, path, to, point: copy_head(saver, SOURCE, point, to, deltas)


def _fork(saver: Saver, path: Path, destination: str, point: str) -> None:
    _forkpoint(saver).fork_session(SOURCE, point, destination)


def _forkpoint(saver: Saver) -> fp.ForkpointSaver:
    if not isinstance(saver, fp.ForkpointSaver):
        raise TypeError(f"{type(saver).__name__} cannot fork")
    return saver


def _chain_of_forks(saver: Saver, recording: Recording, generations: int) -> list[float]:
    renumber, options = renumbering(saver), {"__pregel_durability": "sync"}
    operations: list[Any] = [op for ops in recording.invocations for op in ops]
    times: list[float] = []
    head: str | None = None
    generation = 0
    for operation in operations:
        if isinstance(operation, Put):
            if head is not None:
                if generation == generations:
                    break
                generation += 1
                source, destination = f"generation-{generation - 1}", f"generation-{generation}"
                start = perf_counter()
                _forkpoint(saver).fork_session(source, head, destination)
                times.append(perf_counter() - start)
            head = operation.checkpoint["id"]
        replay(saver, [call_for(operation, f"generation-{generation}", renumber, options)])
    return times
