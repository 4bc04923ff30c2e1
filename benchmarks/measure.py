"""The clock, the turns that savers take, and the size of what they leave on disk."""

from __future__ import annotations

import gc
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TypeVar

from benchmarks.plan import Plan
from benchmarks.results import Results
from benchmarks.savers import Contender
from benchmarks.workloads import WORKLOADS, Recording, record

T = TypeVar("T")


@dataclass(slots=True)
class Bench:
    """One run of the benchmarks: its plan, its files, its results."""

    plan: Plan
    directory: Path
    results: Results = field(default_factory=Results)
    _recording: Recording | None = None
    _files: int = 0

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

    def new_file(self) -> Path:
        """A path for a database in a directory of its own; `discard` removes it."""
        self._files += 1
        home = self.directory / str(self._files)
        home.mkdir()
        return home / "bench.db"

    def turns(self, topic: str, contenders: Sequence[Contender]) -> Iterator[Contender]:
        """Each contender once per round, another one first each time."""
        for number in range(self.plan.rounds):
            first = number % len(contenders)
            self.say(f"{topic}: round {number + 1} of {self.plan.rounds}")
            for contender in (*contenders[first:], *contenders[:first]):
                gc.collect()
                yield contender

    def say(self, text: str) -> None:
        """Progress, on stderr: stdout is the report's."""
        print(text, file=sys.stderr, flush=True)


def discard(path: Path) -> None:
    """Removes a database of `new_file`."""
    shutil.rmtree(path.parent, ignore_errors=True)


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


def megabytes_on_disk(path: Path) -> float:
    """The size of a closed database, its write-ahead log folded in."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return sum(file.stat().st_size for file in path.parent.glob(path.name + "*")) / 1e6


def bytes_used(path: Path) -> int:
    """Bytes in used pages of a database that may be open elsewhere."""
    with closing(sqlite3.connect(path)) as connection:
        pages, free, size = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * size
