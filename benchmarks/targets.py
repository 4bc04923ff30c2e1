"""The targets: mostly ratios against the stock saver of the same run, a few limits of their own.

A target is reported as met or not; nothing fails on it. Sizes of a quick run are too small for
the ratios of growing states to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks import results as m
from benchmarks.measures.forking import by_head
from benchmarks.measures.limit import limit
from benchmarks.places import Database
from benchmarks.plan import Plan
from benchmarks.results import Results
from benchmarks.savers import Role, name_of


@dataclass(frozen=True, slots=True)
class Target:
    """One line of the summary."""

    topic: str
    text: str
    bound: float
    measured: Callable[[Results], float | None]
    at_least: bool = False
    """True where more is better."""
    unit: str = "x"
    """``x`` for a ratio."""

    def met(self, value: float) -> bool:
        """Whether a measured value is within the bound."""
        return value >= self.bound if self.at_least else value <= self.bound


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target with what was measured; `value` is None where it was not."""

    target: Target
    value: float | None

    @property
    def met(self) -> bool | None:
        return None if self.value is None else self.target.met(self.value)


def verdicts(results: Results, plan: Plan) -> list[Verdict]:
    """Every target, in the order of the summary."""
    return [Verdict(target, target.measured(results)) for target in _targets(plan)]


@dataclass(frozen=True, slots=True)
class _Column:
    """Makes the targets of one database."""

    database: Database

    def name(self, role: Role) -> str:
        return name_of(self.database, role)

    def ratio(
        self,
        topic: str,
        measure: str,
        bound: float,
        *,
        ours: Role = Role.OURS,
        rival: Role | str = Role.STOCK,
        at_least: bool = False,
    ) -> Target:
        where, own = self.database.topic(topic), self.name(ours)
        other = rival if isinstance(rival, str) else self.name(rival)
        text = f"{_bare(measure)}: {own} / {other}"
        return Target(
            where, text, bound, lambda found: found.ratio(where, measure, own, other), at_least
        )

    def absolute(self, topic: str, measure: str, bound: float, unit: str) -> Target:
        where, own = self.database.topic(topic), self.name(Role.OURS)
        return Target(
            where,
            f"{_bare(measure)}: {own}",
            bound,
            lambda found: found.get(where, measure, own),
            unit=unit,
        )

    def steady(self, topic: str, measures: Sequence[str], bound: float) -> Target:
        """The last of some measures over the first."""
        where, own = self.database.topic(topic), self.name(Role.OURS)
        first, last = measures[0], measures[-1]

        def measured(found: Results) -> float | None:
            value, other = found.get(where, last, own), found.get(where, first, own)
            return None if value is None or not other else value / other

        return Target(where, f"{_bare(last)} / {_bare(first)}: {own}", bound, measured)

    def bytes_per_fork(self, bound: float) -> Target:
        where, own = self.database.topic("forks"), self.name(Role.OURS)

        def measured(found: Results) -> float | None:
            value = found.get(where, m.MANY_BYTES, own)
            return None if value is None else value * 1e6 / 1_000

        return Target(where, f"bytes per fork: {own}", bound, measured, unit="B")


def _bare(measure: str) -> str:
    """A measure without its unit."""
    return measure.rsplit(", ", 1)[0]


_WORKLOADS = ("W1", "W2", "W3", "W4", "W5")


def _targets(plan: Plan) -> Iterator[Target]:
    yield from _on_sqlite(_Column(Database.SQLITE), plan)
    yield from _on_postgres(_Column(Database.POSTGRES), plan)


def _on_sqlite(on: _Column, plan: Plan) -> Iterator[Target]:
    yield on.ratio("W1", m.SUPERSTEP, 1 / 6)
    yield on.ratio("W1", m.SUPERSTEP, 1, rival=Role.MEMORY)
    yield on.ratio("W1", m.DISK, 1 / 200)
    yield on.ratio("W1", m.DISK, 1 / 400, ours=Role.ZSTD)
    yield on.ratio("W1", m.PAGE, 1 / 60)
    yield on.ratio("W1", m.WALK, 60, at_least=True)
    yield on.ratio("W1", m.LATEST_COLD, 1 / 2)
    yield on.ratio("W1", m.LATEST_WARM, 1 / 100, ours=Role.SHARING)
    yield on.ratio("W2", m.SUPERSTEP, 1)
    yield on.ratio("W2", m.DISK, 1 / 3)
    yield on.ratio("W2", m.LATEST_COLD, 1 / 3)
    yield on.ratio("W2", m.LATEST_WARM, 1 / 3, ours=Role.SHARING)
    yield on.ratio("W3", m.SUPERSTEP, 1 / 5)
    yield on.ratio("W3", m.DISK, 1 / 20)
    yield on.ratio("W4", m.SUPERSTEP, 0.6)
    yield on.ratio("W4", m.PAGE, 1 / 7)
    yield on.ratio("W5", m.SUPERSTEP, 1.15)
    yield on.ratio("W5", m.SUPERSTEP, 0.75, ours=Role.RIDING)
    yield on.ratio("W5", m.DISK, 1 / 5)
    for ours in (Role.OURS, Role.SHARING):
        yield on.ratio("W1", m.WALL, 1, ours=ours, rival=Role.MEMORY)
        yield on.ratio("W1", m.ASYNC_WALL, 1, ours=ours, rival=Role.MEMORY)
    yield from _forks(on, plan, one=0.3, thousand=0.5)
    for topic in _WORKLOADS:
        yield on.absolute(topic, m.TIMELINE, 1, "ms")
    yield on.ratio("filter", m.FILTER_ALL, 1)
    yield on.absolute("lineage", m.CHAIN_OLDEST, 5, "ms")
    yield on.ratio("writers", m.WRITERS, 3, at_least=True)
    yield on.ratio("writers", m.ASYNC_WRITERS, 3, rival=Role.ASYNC_STOCK, at_least=True)
    yield from _distances(on)


def _on_postgres(on: _Column, plan: Plan) -> Iterator[Target]:
    yield on.ratio("W1", m.SUPERSTEP, 1 / 12)
    yield on.ratio("W1", m.DISK, 1 / 70)
    yield on.ratio("W1", m.DISK, 1 / 100, ours=Role.ZSTD)
    yield on.ratio("W1", m.PAGE, 1 / 40)
    yield on.ratio("W1", m.WALK, 40, at_least=True)
    yield on.ratio("W1", m.LATEST_COLD, 1 / 2)
    yield on.ratio("W1", m.LATEST_WARM, 1 / 100, ours=Role.SHARING)
    yield on.ratio("W2", m.SUPERSTEP, 1)
    yield on.ratio("W2", m.DISK, 1 / 2)
    yield on.ratio("W2", m.LATEST_COLD, 1 / 3)
    yield on.ratio("W2", m.LATEST_WARM, 1 / 3, ours=Role.SHARING)
    yield on.ratio("W3", m.SUPERSTEP, 1 / 15)
    yield on.ratio("W3", m.DISK, 1 / 8)
    yield on.ratio("W4", m.SUPERSTEP, 1 / 3)
    yield on.ratio("W4", m.PAGE, 1 / 5)
    yield on.ratio("W5", m.SUPERSTEP, 1.25)
    yield on.ratio("W5", m.SUPERSTEP, 1, ours=Role.RIDING)
    yield on.ratio("W5", m.DISK, 1 / 3)
    for ours in (Role.OURS, Role.SHARING):
        yield on.ratio("W1", m.WALL, 1 / 4, ours=ours)
        yield on.ratio("W1", m.ASYNC_WALL, 1 / 4, ours=ours, rival=Role.ASYNC_STOCK)
    yield from _forks(on, plan, one=1.5, thousand=1.5)
    for topic in _WORKLOADS:
        yield on.absolute(topic, m.TIMELINE, 2, "ms")
    yield on.ratio("filter", m.FILTER_ALL, 1)
    yield on.absolute("lineage", m.CHAIN_OLDEST, 10, "ms")
    for rival in (Role.STOCK, Role.POOLED_STOCK):
        yield on.ratio("writers", m.WRITERS, 4, rival=rival, at_least=True)
    yield on.ratio("writers", m.ASYNC_WRITERS, 4, rival=Role.ASYNC_STOCK, at_least=True)
    yield from _distances(on)


def _forks(on: _Column, plan: Plan, *, one: float, thousand: float) -> Iterator[Target]:
    at = [m.FORK_TIME.format(depth=depth) for depth in plan.fork_depths]
    for measure in at:
        yield on.absolute("fork of W5", measure, one, "ms")
    yield on.steady("fork of W5", at, 1.5)
    yield on.absolute("forks", m.MANY_TIME, thousand, "s")
    yield on.absolute("forks", m.MANY_BYTES, 1, "MB")
    yield on.bytes_per_fork(500)
    yield on.ratio("forks", m.MANY_TIME, 1 / 50, rival=by_head(on.database))


def _distances(on: _Column) -> Iterator[Target]:
    """How far from the database alone."""
    for topic in _WORKLOADS:
        for ours, riding in ((Role.OURS, False), (Role.RIDING, True)):
            rival = limit(on.database, riding=riding)
            yield on.ratio(topic, m.SUPERSTEP, 2, ours=ours, rival=rival)
