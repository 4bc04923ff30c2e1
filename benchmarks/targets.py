"""The targets: mostly ratios against the stock saver of the same run, a few limits of their own.

A target is reported as met or not; nothing fails on it. Sizes of a quick run are too small for
the ratios of growing states to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks import results as m
from benchmarks.measures import forking, limit
from benchmarks.plan import Plan
from benchmarks.results import Results
from benchmarks.savers import ASYNC_SQLITE, FORKPOINT, MEMORY, RIDING, SHARING, SQLITE, ZSTD

_STOCK, _OURS = SQLITE.name, FORKPOINT.name


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


def _ratio(
    topic: str,
    measure: str,
    bound: float,
    *,
    ours: str = _OURS,
    rival: str = _STOCK,
    at_least: bool = False,
) -> Target:
    text = f"{measure.rsplit(', ', 1)[0]}: {ours} / {rival}"
    return Target(
        topic, text, bound, lambda found: found.ratio(topic, measure, ours, rival), at_least
    )


def _absolute(topic: str, measure: str, bound: float, unit: str, *, ours: str = _OURS) -> Target:
    text = f"{measure.rsplit(', ', 1)[0]}: {ours}"
    return Target(topic, text, bound, lambda found: found.get(topic, measure, ours), unit=unit)


def _against(
    topic: str, measure: str, bound: float, ours: str, rival_measure: str, rival: str
) -> Target:
    def measured(found: Results) -> float | None:
        value, other = found.get(topic, measure, ours), found.get(topic, rival_measure, rival)
        return None if value is None or not other else value / other

    return Target(topic, f"{measure.rsplit(', ', 1)[0]}: {ours} / {rival}", bound, measured)


def _targets(plan: Plan) -> Iterator[Target]:
    yield _ratio("W1", m.SUPERSTEP, 1 / 6)
    yield _ratio("W1", m.SUPERSTEP, 1, rival=MEMORY.name)
    yield _ratio("W1", m.DISK, 1 / 200)
    yield _ratio("W1", m.DISK, 1 / 400, ours=ZSTD.name)
    yield _ratio("W1", m.PAGE, 1 / 60)
    yield _ratio("W1", m.WALK, 60, at_least=True)
    yield _ratio("W1", m.LATEST_COLD, 1 / 2)
    yield _ratio("W1", m.LATEST_WARM, 1 / 100, ours=SHARING.name)
    yield _ratio("W2", m.SUPERSTEP, 1)
    yield _ratio("W2", m.DISK, 1 / 3)
    yield _ratio("W2", m.LATEST_COLD, 1 / 3)
    yield _ratio("W2", m.LATEST_WARM, 1 / 3, ours=SHARING.name)
    yield _ratio("W3", m.SUPERSTEP, 1 / 5)
    yield _ratio("W3", m.DISK, 1 / 20)
    yield _ratio("W4", m.SUPERSTEP, 0.6)
    yield _ratio("W4", m.PAGE, 1 / 7)
    yield _ratio("W5", m.SUPERSTEP, 1.15)
    yield _ratio("W5", m.SUPERSTEP, 0.75, ours=RIDING.name)
    yield _ratio("W5", m.DISK, 1 / 5)
    for ours in (_OURS, SHARING.name):
        yield _ratio("W1", m.WALL, 1, ours=ours, rival=MEMORY.name)
        yield _ratio("W1", m.ASYNC_WALL, 1, ours=ours, rival=MEMORY.name)
    yield from _fork_targets(plan)
    for topic in ("W1", "W2", "W3", "W4", "W5"):
        yield _absolute(topic, m.TIMELINE, 1, "ms")
    yield _ratio("filter", m.FILTER_ALL, 1)
    yield _absolute("lineage", m.CHAIN_OLDEST, 5, "ms")
    yield _ratio("writers", m.WRITERS, 3, at_least=True)
    yield _ratio("writers", m.ASYNC_WRITERS, 3, rival=ASYNC_SQLITE.name, at_least=True)
    for topic in ("W1", "W2", "W3", "W4", "W5"):
        yield _ratio(topic, m.SUPERSTEP, 2, rival=limit.LIMIT)
        yield _ratio(topic, m.SUPERSTEP, 2, ours=RIDING.name, rival=limit.LIMIT_RIDING)


def _fork_targets(plan: Plan) -> Iterator[Target]:
    shallow, deep = plan.fork_depths[0], plan.fork_depths[-1]
    for depth in plan.fork_depths:
        yield _absolute("fork of W5", m.FORK_TIME.format(depth=depth), 0.3, "ms")
    yield _against(
        "fork of W5",
        m.FORK_TIME.format(depth=deep),
        1.5,
        _OURS,
        m.FORK_TIME.format(depth=shallow),
        _OURS,
    )
    yield _absolute("forks", m.MANY_TIME, 0.5, "s")
    yield _absolute("forks", m.MANY_BYTES, 1, "MB")
    yield Target(
        "forks",
        f"bytes per fork: {_OURS}",
        500,
        lambda found: _scaled(found.get("forks", m.MANY_BYTES, _OURS), 1e6 / 1_000),
        unit="B",
    )
    yield _ratio("forks", m.MANY_TIME, 1 / 50, rival=forking.BY_HEAD)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
