"""The benchmarks' harness: what is replayed on two savers is the same conversation on both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from benchmarks.measure import Bench
from benchmarks.measures.limit import limit
from benchmarks.measures.reading import thread
from benchmarks.measures.supersteps import measure_workload
from benchmarks.places import Database, Places
from benchmarks.plan import QUICK
from benchmarks.replay import areplay, prepare, replay
from benchmarks.report import print_report
from benchmarks.savers import Role, Saver, contenders, name_of
from benchmarks.workloads import WORKLOADS, Recording, record
from tests.postgres import Postgres

THREAD = "conversation"


@pytest.fixture(params=list(Database), ids=lambda database: database.value)
def database(request: pytest.FixtureRequest) -> Database:
    """Each kind of database."""
    found: Database = request.param
    return found


@pytest.fixture
def bench(database: Database, tmp_path: Path, postgres: Postgres) -> Iterator[Bench]:
    """The harness on one database."""
    server = postgres.uri if database is Database.POSTGRES else None
    with closing(Places(tmp_path, server)) as places:
        yield Bench(QUICK, places, [database])


@pytest.fixture(params=sorted(WORKLOADS))
def recording(request: pytest.FixtureRequest, tmp_path: Path) -> Recording:
    """Every workload, as short as it can be."""
    return record(WORKLOADS[request.param], 4, cache_dir=tmp_path)


def visible_history(saver: Saver, recording: Recording) -> list[Any]:
    """What a user sees of the thread, newest first. Versions and writers' order apart, which are
    each saver's own."""
    graph = recording.workload.build(saver, False)
    return [
        (
            snapshot.values,
            snapshot.next,
            snapshot.metadata,
            snapshot.config["configurable"]["checkpoint_id"],
            [(task.name, task.result, task.interrupts) for task in snapshot.tasks],
        )
        for snapshot in graph.get_state_history(thread(THREAD))
    ]


def test_both_savers_end_with_the_same_visible_history(recording: Recording, bench: Bench) -> None:
    histories = []
    for contender in contenders(bench.databases, Role.STOCK, Role.OURS):
        with bench.new_place(contender) as place, contender.open(place) as saver:
            times = replay(saver, prepare(recording, saver, THREAD))
            histories.append(visible_history(saver, recording))
        assert len(times) == len(recording.puts)
    assert len(histories[0]) == len(recording.root_ids)
    assert histories[0] == histories[1]


def test_asynchronous_replay_stores_what_synchronous_replay_stores(
    recording: Recording, bench: Bench
) -> None:
    (ours,) = contenders(bench.databases, Role.OURS)
    with bench.new_place(ours) as place:

        async def write_async() -> None:
            async with ours.aopen(place) as saver:
                await areplay(saver, prepare(recording, saver, THREAD, durability="async"))

        asyncio.run(write_async())
        with ours.open(place) as saver:
            found = visible_history(saver, recording)
    with bench.new_place(ours) as place, ours.open(place) as saver:
        replay(saver, prepare(recording, saver, THREAD))
        assert visible_history(saver, recording) == found


def test_a_recording_is_the_same_from_the_cache(tmp_path: Path) -> None:
    first, again = (record(WORKLOADS["W4"], 2, cache_dir=tmp_path) for _ in range(2))
    assert first == again


def test_report_names_every_target_that_was_measured(
    bench: Bench, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    measure_workload(bench, "W3")
    capsys.readouterr()
    print_report(bench.results, QUICK)
    report = capsys.readouterr().out
    stock = name_of(database, Role.STOCK)
    assert f"W3 on {database.value}: wide state" in report
    assert f"W3 on {database.value}, disk: Forkpoint / {stock}" in report
    assert f"superstep: Forkpoint / {limit(database, riding=False)}" in report
