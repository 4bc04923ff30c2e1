"""Forks: at several depths, a thousand of one checkpoint, and a long chain of forks of forks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import forkpoint as fp
from benchmarks import results as m
from benchmarks.measure import Bench, mean, seconds, typical_seconds
from benchmarks.measures.copying import copy_chain, copy_head, copy_rows
from benchmarks.measures.reading import read, settle, thread
from benchmarks.places import Database, Place
from benchmarks.replay import call_for, prepare, renumbering, replay
from benchmarks.savers import Contender, Role, Saver, contenders, name_of
from benchmarks.workloads import Put, Recording

SOURCE = "source"
Copy = Callable[[Saver, Place, str, str], None]
"""Makes a fork: saver, its place, the destination, and the id of the fork point."""


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
    recording, plan = bench.recording("W2"), bench.plan
    point = recording.root_ids[-1]
    for contender in bench.turns("1,000 forks", Role.STOCK, Role.OURS):
        name, copy, count = contender.name, _FORK, plan.many_forks
        if not contender.ours:
            name, count = by_head(contender.database), plan.stock_forks
            copy = _copier_of_heads(recording)
        with bench.new_place(contender) as place, contender.open(place) as saver:
            replay(saver, prepare(recording, saver, SOURCE))
            before = place.bytes_used()
            start = perf_counter()
            for number in range(count):
                copy(saver, place, f"fork-{number}", point)
            taken = perf_counter() - start
            grown = place.bytes_used() - before
        topic = contender.topic("forks")
        bench.results.add(topic, m.MANY_TIME, name, taken * 1_000 / count)
        bench.results.add(topic, m.MANY_BYTES, name, grown * 1_000 / count / 1e6)


def measure_lineage(bench: Bench) -> None:
    """Every superstep goes to a new fork of the one before; then the first one is read."""
    recording, topic, plan = bench.recording("W5"), "lineage", bench.plan
    for contender in bench.turns("chain of forks", Role.OURS):
        with bench.new_place(contender) as place:
            with contender.open(place) as saver:
                times = _chain_of_forks(saver, recording, plan.generations)
            youngest, oldest_id = f"generation-{plan.generations}", recording.root_ids[0]
            bench.note(contender, topic, m.CHAIN_FORK, mean(times[-20:]) * 1e3)
            for measure, config in (
                (m.CHAIN_HEAD, thread(youngest)),
                (m.CHAIN_OLDEST, thread(youngest, oldest_id)),
            ):
                with contender.open(place) as saver:
                    settle(saver)
                    value = seconds(partial(read, saver, config))
                    bench.note(contender, topic, measure, value * 1e3)
            with contender.open(place) as saver:
                oldest = partial(read, saver, thread(youngest, oldest_id))
                value = typical_seconds(oldest, plan.repeats)
                bench.note(contender, topic, m.CHAIN_OLDEST_WARM, value * 1e3)


def by_head(database: Database) -> str:
    """What the stock saver's quickest way to fork is called."""
    return f"{name_of(database, Role.STOCK)}, head only"


def _topic(recording: Recording) -> str:
    return f"fork of {recording.workload.name}"


def _copies(contender: Contender, recording: Recording) -> dict[str, Copy]:
    """The ways in which a contender can fork, by name."""
    if contender.ours:
        return {contender.name: _FORK}
    return {
        f"{contender.name}, chain": lambda saver, _, to, point: copy_chain(
            saver, SOURCE, point, to
        ),
        f"{contender.name}, rows by SQL": lambda _, place, to, point: copy_rows(
            place, SOURCE, point, to
        ),
        by_head(contender.database): _copier_of_heads(recording),
    }


def _measure_at_depths(bench: Bench, recording: Recording, depths: list[int], topic: str) -> None:
    with ExitStack() as stack:
        opened: dict[Contender, tuple[Saver, Place]] = {}
        for contender in contenders(bench.databases, Role.STOCK, Role.OURS):
            place = stack.enter_context(bench.new_place(contender))
            saver = stack.enter_context(contender.open(place))
            replay(saver, prepare(recording, saver, SOURCE))
            opened[contender] = (saver, place)
        for turn, contender in enumerate(bench.turns(topic, Role.STOCK, Role.OURS)):
            saver, place = opened[contender]
            for name, copy in _copies(contender, recording).items():
                count = bench.plan.forks_per_depth if contender.ours else 1
                for depth in depths:
                    names = [f"{name} {turn} {depth} {number}" for number in range(count)]
                    point = recording.root_ids[depth - 1]
                    before = place.bytes_used()
                    times = [seconds(partial(copy, saver, place, fork, point)) for fork in names]
                    grown = (place.bytes_used() - before) / count
                    first_read = partial(
                        read, saver, thread(names[0]), recording.workload.delta_channels
                    )
                    for measure, value in (
                        (m.FORK_TIME, median(times) * 1e3),
                        (m.FORK_BYTES, grown),
                        (m.FORK_READ, seconds(first_read) * 1e3),
                    ):
                        where = contender.topic(topic)
                        bench.results.add(where, measure.format(depth=depth), name, value)


def _copier_of_heads(recording: Recording) -> Copy:
    deltas = recording.workload.delta_channels
    return lambda saver, _, to, point: copy_head(saver, SOURCE, point, to, deltas)


def _fork(saver: Saver, place: Place, destination: str, point: str) -> None:
    _forkpoint(saver).fork_session(SOURCE, point, destination)


_FORK: Copy = _fork


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
