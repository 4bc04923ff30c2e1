"""A metadata filter over many threads: all checkpoints of one user among hundreds."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from benchmarks import results as m
from benchmarks.measure import Bench, typical_seconds
from benchmarks.measures.reading import walk
from benchmarks.replay import prepare, replay
from benchmarks.savers import Contender, Role, Saver, contenders

_TOPIC = "filter"
_ROLES = (Role.STOCK, Role.MEMORY, Role.OURS)


def measure_filter(bench: Bench) -> None:
    """`list(None, filter={"user_id": …})` where each user has one thread."""
    recording, plan = bench.recording("W5"), bench.plan
    with ExitStack() as stack:
        savers: dict[Contender, Saver] = {}
        for contender in contenders(bench.databases, *_ROLES):
            bench.say(f"filter: filling {contender.name} on {contender.database.value}")
            place = stack.enter_context(bench.new_place(contender))
            saver = stack.enter_context(contender.open(place))
            for number in range(plan.filter_threads):
                calls = prepare(
                    recording,
                    saver,
                    f"thread-{number}",
                    durability="async",
                    supersteps=plan.filter_checkpoints,
                    configurable={"user_id": f"user-{number}"},
                )
                replay(saver, calls)
            savers[contender] = saver
        for contender in bench.turns(_TOPIC, *_ROLES):
            saver = savers[contender]
            wanted = {"user_id": f"user-{plan.filter_threads // 2}"}
            for measure, options in ((m.FILTER_ALL, {}), (m.FILTER_PAGE, {"limit": 10})):
                listing = partial(walk, saver, None, filter=wanted, **options)
                value = typical_seconds(listing, plan.repeats)
                bench.note(contender, _TOPIC, measure, value * 1e3)
