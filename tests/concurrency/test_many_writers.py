"""Sixteen threads and four processes on a database: no error, nothing lost, nothing overwritten."""

from __future__ import annotations

import json
import multiprocessing
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import forkpoint as fp
from tests.checkpoints import Saver, at, ids, put, values
from tests.concurrency.working import SHARED, state_of, work

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["forkpoint", "tests.concurrency.working"])


def work_together(url: str, directory: Path, seconds: float) -> None:
    """Sixteen threads here and two in each of four processes; then look for everything."""
    with fp.open(url) as store:
        for thread in SHARED:
            put(store.saver(), thread, None, {"begin": True})
    records = [directory / f"record {number}" for number in range(5)]
    processes = [
        PROCESSES.Process(
            target=work, args=(url, f"p{number}", 100 * number, 2, seconds, str(records[number]))
        )
        for number in range(4)
    ]
    for process in processes:
        process.start()
    work(url, "here", 1000, 16, seconds, str(records[4]))
    for process in processes:
        process.join(seconds + 60)
        assert process.exitcode == 0
    facts = [json.loads(line) for record in records for line in record.read_text().splitlines()]
    check(url, facts)


def check(url: str, facts: list[dict[str, Any]]) -> None:
    """Every acknowledged turn is where it was put, and nothing else is."""
    errors = [fact["error"] for fact in facts if "error" in fact]
    assert not errors, f"{len(errors)} workers failed, the first with:\n{errors[0]}"
    turns = [fact for fact in facts if "id" in fact]
    assert {fact["who"].split(".")[0] for fact in turns} == {"here", "p0", "p1", "p2", "p3"}
    with fp.open(url) as store:
        saver = store.saver()
        per_thread: dict[str, set[str]] = defaultdict(set)
        for fact in turns:
            found = at(saver, fact["thread"], fact["id"])
            assert values(found) == state_of(fact["who"], fact["n"])
            parent = found.parent_config
            assert (parent and parent["configurable"]["checkpoint_id"]) == fact["parent"]
            per_thread[fact["thread"]].add(fact["id"])
        for thread in SHARED:
            listed = ids(saver, thread)
            assert len(listed) == len(set(listed))
            assert set(listed[:-1]) == per_thread[thread]
        check_forks(saver, [fact for fact in facts if "fork" in fact], per_thread)
        assert store.examine().sound


def check_forks(saver: Saver, forks: list[dict[str, Any]], own: dict[str, set[str]]) -> None:
    """Each fork holds its turn, its point, and the point's ancestors: no more, no less."""
    assert forks
    for fork in forks[:: max(1, len(forks) // 150)]:
        chain: list[str] = []
        cursor: str | None = fork["point"]
        while cursor is not None:
            chain.append(cursor)
            parent = at(saver, fork["source"], cursor).parent_config
            cursor = parent["configurable"]["checkpoint_id"] if parent else None
        assert set(ids(saver, fork["fork"])) == own[fork["fork"]] | set(chain)


def test_sixteen_threads_and_four_processes(url: str, tmp_path: Path) -> None:
    work_together(url, tmp_path, seconds=5)


@pytest.mark.soak
def test_sixteen_threads_and_four_processes_at_length(url: str, tmp_path: Path) -> None:
    work_together(url, tmp_path, seconds=20)
