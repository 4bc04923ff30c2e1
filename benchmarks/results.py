"""What was measured: samples by topic, measure and saver, and the medians of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

SUPERSTEP = "superstep, ms"
TAIL = "superstep, last tenth, ms"
ASYNC_SUPERSTEP = "superstep async, ms"
DISK = "disk, MB"
OPEN_LATEST = "open and read latest, ms"
LATEST_COLD = "read latest, cold, ms"
LATEST_WARM = "read latest, warm, ms"
OLD_COLD = "read old, cold, ms"
OLD_WARM = "read old, warm, ms"
PAGE = "list(limit=50), cold, ms"
PAGE_WARM = "list(limit=50), warm, ms"
WALK = "full walk, checkpoints/s"
HISTORY = "get_state_history(limit=50), ms"
TIMELINE_COLD = "timeline of 50, cold, ms"
TIMELINE = "timeline of 50, ms"
WALL = "graph wall per superstep, ms"
ASYNC_WALL = "graph wall per superstep async, ms"
FORK_TIME = "fork at {depth:,}, ms"
FORK_BYTES = "fork at {depth:,}, bytes"
FORK_READ = "first read of a fork at {depth:,}, ms"
MANY_TIME = "1,000 forks, s"
MANY_BYTES = "1,000 forks, MB"
CHAIN_FORK = "last fork of the chain, ms"
CHAIN_HEAD = "head of the last fork, ms"
CHAIN_OLDEST = "oldest ancestor, cold, ms"
CHAIN_OLDEST_WARM = "oldest ancestor, warm, ms"
FILTER_ALL = "metadata filter, all hits, ms"
FILTER_PAGE = "metadata filter, limit=10, ms"
WRITERS = "supersteps/s"
ASYNC_WRITERS = "supersteps/s async"
COLLECTED = "all but the last removed, checkpoints/s"
IMPORTED = "imported and compared, checkpoints/s"
COLLECTED_DISK = "disk after that, MB"


@dataclass(slots=True)
class Results:
    """Samples of one run of the benchmarks."""

    samples: dict[str, dict[str, dict[str, list[float]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    )
    """By topic, measure and saver."""

    def add(self, topic: str, measure: str, saver: str, value: float) -> None:
        """Notes one sample."""
        self.samples[topic][measure][saver].append(value)

    def get(self, topic: str, measure: str, saver: str) -> float | None:
        """The median, or None if this was not measured."""
        found = self.samples.get(topic, {}).get(measure, {}).get(saver)
        return median(found) if found else None

    def last(self, topic: str, measure: str, saver: str) -> float:
        """The newest sample."""
        return self.samples[topic][measure][saver][-1]

    def ratio(self, topic: str, measure: str, saver: str, rival: str) -> float | None:
        """`saver`'s median over `rival`'s."""
        value, other = self.get(topic, measure, saver), self.get(topic, measure, rival)
        return None if value is None or not other else value / other

    def savers(self, topic: str) -> list[str]:
        """Every saver with a sample in this topic, in order of appearance."""
        return list(dict.fromkeys(name for row in self.samples[topic].values() for name in row))

    def rows(self, topic: str) -> Iterator[tuple[str, dict[str, float]]]:
        """Each measure of a topic with its medians by saver."""
        for measure, by_saver in self.samples[topic].items():
            yield measure, {saver: median(values) for saver, values in by_saver.items()}
