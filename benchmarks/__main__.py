"""``python -m benchmarks [--quick] [--only W1,fork] [--on sqlite,postgres] [--rounds N] …``."""

from __future__ import annotations

import argparse
import gc
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

from benchmarks.measure import Bench, seconds
from benchmarks.measures.collecting import measure_collection
from benchmarks.measures.contention import measure_writers
from benchmarks.measures.filtering import measure_filter
from benchmarks.measures.forking import measure_forks, measure_lineage, measure_many_forks
from benchmarks.measures.importing import measure_import
from benchmarks.measures.running import measure_graph_runs
from benchmarks.measures.supersteps import measure_workload
from benchmarks.places import Database, Places
from benchmarks.plan import FULL, QUICK
from benchmarks.report import print_report, write_json
from benchmarks.workloads import WORKLOADS

TOPICS: dict[str, Callable[[Bench], None]] = {
    **{name: partial(measure_workload, name=name) for name in WORKLOADS},
    "graph": measure_graph_runs,
    "fork": measure_forks,
    "forks": measure_many_forks,
    "lineage": measure_lineage,
    "filter": measure_filter,
    "writers": measure_writers,
    "collect": measure_collection,
    "import": measure_import,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the chosen topics and reports."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, one round")
    parser.add_argument(
        "--only", type=_topics, default=list(TOPICS), help=f"comma separated: {','.join(TOPICS)}"
    )
    parser.add_argument(
        "--on",
        type=_databases,
        default=list(Database),
        metavar="DATABASES",
        help=f"comma separated: {','.join(_NAMES)}; all of them unless said",
    )
    parser.add_argument(
        "--postgres",
        metavar="URL",
        help="a PostgreSQL server on which databases may be made and dropped; unless said, one "
        "from pip is started for the run",
    )
    parser.add_argument("--rounds", type=int, help="turns of every saver; medians are over them")
    parser.add_argument("--json", type=Path, help="also write every sample to this file")
    chosen = parser.parse_args(arguments)
    plan = QUICK if chosen.quick else FULL
    if chosen.rounds is not None:
        plan = replace(plan, rounds=max(1, chosen.rounds))
    start = perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="forkpoint-bench-") as directory,
        closing(Places(Path(directory), chosen.postgres)) as places,
    ):
        bench = Bench(plan, places, chosen.on)
        for topic in chosen.only:
            taken = seconds(partial(TOPICS[topic], bench))
            bench.say(f"{topic}: {taken:.0f} s")
            gc.collect()
        versions = places.versions(chosen.on)
    bench.say(f"{perf_counter() - start:.0f} s in all")
    print_report(bench.results, plan)
    if chosen.json is not None:
        write_json(bench.results, plan, chosen.json, versions)


_NAMES = {database.name.lower(): database for database in Database}


def _databases(text: str) -> list[Database]:
    names = text.split(",")
    unknown = [name for name in names if name not in _NAMES]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown: {', '.join(unknown)}; there is {', '.join(_NAMES)}"
        )
    return [_NAMES[name] for name in names]


def _topics(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in TOPICS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown: {', '.join(unknown)}; there is {', '.join(TOPICS)}"
        )
    return names


if __name__ == "__main__":
    main()
