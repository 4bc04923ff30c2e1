"""The clock, and the turns that savers take."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import TypeVar

from benchmarks.places import Database, Place, Places
from benchmarks.plan import Plan
from benchmarks.results import Results
from benchmarks.savers import Contender, Role, contenders
from benchmarks.workloads import WORKLOADS, Recording, record

T = TypeVar("T")


@dataclass(slots=True)
class Bench:
    """One run of the benchmarks: its plan, its databases, its results."""

    plan: Plan
    places: Places
    databases: Sequence[Database] = tuple(Database)
    results: Results = field(default_factory=Results)
    _recording: Recording | None = None

    def recording(self, workload: str) -> Recording:
        """The calls of a workload at the plan's size. One recording is held at a time.

        Its many objects are kept from the garbage collector, which would otherwise walk over them
        in the middle of what is timed.
        """
        if self._recording is None or self._recording.workload.name != workload:
            self.say(f"recording {workload}")
            gc.unfreeze()
            self._recording = None
            found = WORKLOADS[workload]
            self._recording = record(found, self.plan.size(found))
            gc.collect()
            gc.freeze()
        return self._recording

    @contextmanager
    def new_place(self, contender: Contender) -> Iterator[Place]:
        """A database for a contender, removed when the block ends."""
        place = self.places.new(contender.database)
        try:
            if contender.prepare is not None:
                contender.prepare(place)
            yield place
        finally:
            place.discard()

    def turns(self, topic: str, *roles: Role) -> Iterator[Contender]:
        """Whoever plays one of the roles on the chosen databases, once per round, another one first
        each time."""
        chosen = contenders(self.databases, *roles)
        for number in range(self.plan.rounds):
            first = number % len(chosen)
            self.say(f"{topic}: round {number + 1} of {self.plan.rounds}")
            for contender in (*chosen[first:], *chosen[:first]):
                gc.collect()
                yield contender

    def note(self, contender: Contender, topic: str, measure: str, value: float) -> None:
        """Notes a sample of a contender's."""
        self.results.add(contender.topic(topic), measure, contender.name, value)

    def say(self, text: str) -> None:
        """Progress, on stderr: stdout is the report's."""
        print(text, file=sys.stderr, flush=True)


def seconds(action: Callable[[], object]) -> float:
    """How long one call takes."""
    start = perf_counter()
    action()
    return perf_counter() - start


def typical_seconds(action: Callable[[], object], repeats: int) -> float:
    """The median of several calls, the first one not counted."""
    action()
    return median(seconds(action) for _ in range(repeats))


def mean(times: Sequence[float]) -> float:
    """The mean of a non-empty sequence."""
    return sum(times) / len(times)


def last_tenth(times: Sequence[float]) -> Sequence[float]:
    """The end of a run, where a growing state is largest."""
    return times[-max(1, len(times) // 10) :]
