"""How much is measured: the full run, and a quick one that shows that everything works."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.workloads import Workload


@dataclass(frozen=True, slots=True)
class Plan:
    """The sizes of one run of the benchmarks."""

    quick: bool
    rounds: int
    """Times that every saver gets its turn; medians are taken over them."""
    repeats: int
    """Times that a short read is repeated within a round."""
    fork_depths: tuple[int, ...]
    forks_per_depth: int
    many_forks: int
    stock_forks: int
    """Forks that the stock saver makes for the same question; its figures are scaled up."""
    generations: int
    """Length of the chain of forks of forks."""
    filter_threads: int
    filter_checkpoints: int
    """Checkpoints of each of those threads."""
    writers: int
    writer_supersteps: int

    def size(self, workload: Workload) -> int:
        """How long the workload runs, in its own unit."""
        return workload.quick if self.quick else workload.full


FULL = Plan(
    quick=False,
    rounds=3,
    repeats=5,
    fork_depths=(10, 100, 1_000, 10_000),
    forks_per_depth=50,
    many_forks=1_000,
    stock_forks=25,
    generations=200,
    filter_threads=200,
    filter_checkpoints=100,
    writers=16,
    writer_supersteps=100,
)

QUICK = Plan(
    quick=True,
    rounds=1,
    repeats=3,
    fork_depths=(10, 100),
    forks_per_depth=10,
    many_forks=100,
    stock_forks=5,
    generations=20,
    filter_threads=20,
    filter_checkpoints=50,
    writers=16,
    writer_supersteps=20,
)
