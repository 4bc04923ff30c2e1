"""The benchmarks' harness: what is replayed on two savers is the same conversation on both."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from benchmarks.measure import Bench
from benchmarks.measures.reading import thread
from benchmarks.measures.supersteps import measure_workload
from benchmarks.plan import QUICK
from benchmarks.replay import areplay, prepare, replay
from benchmarks.report import print_report
from benchmarks.savers import FORKPOINT, SQLITE, Saver
from benchmarks.workloads import WORKLOADS, Recording, record

THREAD = "conversation"


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


def test_both_savers_end_with_the_same_visible_history(
    recording: Recording, tmp_path: Path
) -> None:
    histories = []
    for contender in (SQLITE, FORKPOINT):
        with contender.open(tmp_path / contender.name) as saver:
            times = replay(saver, prepare(recording, saver, THREAD))
            histories.append(visible_history(saver, recording))
        assert len(times) == len(recording.puts)
    assert len(histories[0]) == len(recording.root_ids)
    assert histories[0] == histories[1]


def test_asynchronous_replay_stores_what_synchronous_replay_stores(
    recording: Recording, tmp_path: Path
) -> None:
    async def write_async() -> None:
        async with FORKPOINT.aopen(tmp_path / "async.db") as saver:
            await areplay(saver, prepare(recording, saver, THREAD, durability="async"))

    asyncio.run(write_async())
    with FORKPOINT.open(tmp_path / "sync.db") as saver:
        replay(saver, prepare(recording, saver, THREAD))
        expected = visible_history(saver, recording)
    with FORKPOINT.open(tmp_path / "async.db") as saver:
        assert visible_history(saver, recording) == expected


def test_a_recording_is_the_same_from_the_cache(tmp_path: Path) -> None:
    first, again = (record(WORKLOADS["W4"], 2, cache_dir=tmp_path) for _ in range(2))
    assert first == again


def test_report_names_every_target_that_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(QUICK, tmp_path)
    measure_workload(bench, "W5")
    capsys.readouterr()
    print_report(bench.results, QUICK)
    report = capsys.readouterr().out
    assert "W5: tiny checkpoints" in report
    assert "W5, disk: Forkpoint / SqliteSaver" in report
