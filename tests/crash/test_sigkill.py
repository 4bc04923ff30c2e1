"""A writer killed at any moment loses nothing that it acknowledged and leaves nothing half done."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forkpoint as fp
from tests.checkpoints import place
from tests.crash.writing import items_of, write_until_killed, writes_of
from tests.postgres import Postgres

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["forkpoint", "tests.crash.writing"])


def start_writer(url: str, acknowledgements: Path, lines: list[str]) -> Any:
    """Start a writer and wait until it has written something."""
    process = PROCESSES.Process(target=write_until_killed, args=(url, str(acknowledgements), lines))
    process.start()
    assert process.pid is not None
    patience = time.monotonic() + 60
    while not (acknowledgements.exists() and acknowledgements.stat().st_size):
        assert process.is_alive(), "the writer ended by itself"
        assert time.monotonic() < patience, "the writer wrote nothing"
        time.sleep(0.002)
    return process


def kill(process: Any) -> None:
    """Kill a process that is still at work."""
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL


def acknowledged(path: Path) -> list[dict[str, Any]]:
    """What the writer said it did."""
    lines = path.read_bytes().split(b"\n")
    return [json.loads(line) for line in lines[:-1]]


def check_integrity(url: str) -> None:
    """The file is sound to SQLite itself."""
    if url.startswith("postgresql:"):
        return
    raw = sqlite3.connect(url)
    assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
    raw.close()


def check_acknowledged(saver: Any, facts: list[dict[str, Any]]) -> None:
    """Everything that was acknowledged is there."""
    deleted = {fact["thread"] for fact in facts if fact["did"] == "delete"}
    leaving = {fact["thread"] for fact in facts if fact["did"] == "begin to delete"}
    for thread in leaving - deleted:
        # Killed between the two: there as a whole, or gone as a whole.
        if saver.get_tuple(place(thread)) is not None:
            check_whole(saver, thread)
    for fact in facts:
        if fact["thread"] in leaving:
            continue
        found = saver.get_tuple(place(fact["thread"], fact["id"]))
        assert found is not None, f"lost: {fact}"
        if fact["did"] == "write":
            tasks = {task for task, _, _ in found.pending_writes or []}
            assert fact["task"] in tasks, f"lost: {fact}"
        if fact["did"] == "put":
            assert found.metadata["length"] == fact["length"]
            head = saver.get_tuple(place(fact["thread"]))
            assert head.metadata["length"] >= fact["length"]
        if fact["did"] == "fork":
            origin = saver.origin(fact["thread"])
            assert (origin.session_id, origin.checkpoint_id) == (fact["source"], fact["id"])
    for thread in deleted:
        assert list(saver.list({"configurable": {"thread_id": thread}})) == []


def check_whole(saver: Any, thread: str, of_interest: int | None = None) -> None:
    """Every visible checkpoint of a thread loads whole, and its writes are whole calls."""
    listed = list(saver.list(place(thread), limit=of_interest))
    lengths = [item.metadata["length"] for item in listed]
    assert lengths == list(range(lengths[0], lengths[0] - len(lengths), -1))
    if of_interest is None:
        assert lengths[-1] == 1
    for item in listed:
        length, line = item.metadata["length"], item.metadata["line"]
        assert item.checkpoint["channel_values"] == {
            "items": items_of(line, length),
            "length": length,
        }
        whole = writes_of(item.checkpoint["id"])
        found = [tuple(write) for write in item.pending_writes or []]
        assert found in ([], whole[1:], whole), f"half a call is visible on {item.config}"
        if lengths[0] > length:
            assert found == whole, "a checkpoint whose child is there has all its writes"


def survive(new_url: Callable[[], str], directory: Path, kills: int, seed: int) -> None:
    """Kill writers one after another on the same database, checking after each."""
    chance = random.Random(seed)
    url = ""
    everything: list[dict[str, Any]] = []
    lines = 0
    for number in range(kills):
        acknowledgements = directory / f"acknowledged {number}"
        if number % 20 == 0:
            url = new_url()
            everything = []
        mine = [f"main {number // 5}", f"plain {number}", f"forked {number}"]
        writer = start_writer(url, acknowledgements, mine)
        time.sleep(chance.choice([0.0, 0.005, 0.03, 0.1, 0.2]) * chance.random())
        kill(writer)
        facts = acknowledged(acknowledgements)
        everything += facts
        lines += len(facts)
        check_integrity(url)
        with fp.open(url) as store:
            saver = store.saver()
            check_acknowledged(saver, facts)
            for line in mine:
                if saver.get_tuple(place(line)) is not None:
                    check_whole(saver, line, 50)
            for summary in store.sessions(limit=20):
                check_whole(saver, summary.session_id, 10)
        check_integrity(url)
        if number % 20 == 19 or number == kills - 1:
            with fp.open(url) as store:
                check_acknowledged(store.saver(), everything)
                for thread in {fact["thread"] for fact in everything}:
                    if store.saver().get_tuple(place(thread)) is not None:
                        check_whole(store.saver(), thread)
                assert store.examine().sound
    assert lines > kills * 5


@pytest.fixture(params=["sqlite", "postgres"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Gives the URL of a new database at every call."""
    if request.param == "sqlite":
        numbers = itertools.count()
        return lambda: str(tmp_path / f"agent {next(numbers)}.db")
    server: Postgres = request.getfixturevalue("postgres")
    return server.url


def test_twenty_kills(new_url: Callable[[], str], tmp_path: Path) -> None:
    survive(new_url, tmp_path, kills=20, seed=1)


@pytest.mark.soak
def test_two_hundred_kills(new_url: Callable[[], str], tmp_path: Path) -> None:
    survive(new_url, tmp_path, kills=200, seed=2)


def test_kill_while_the_database_is_being_created(tmp_path: Path) -> None:
    chance = random.Random(3)
    for number in range(6):
        database = tmp_path / f"new {number}.db"
        process = PROCESSES.Process(
            target=write_until_killed,
            args=(str(database), str(tmp_path / f"acknowledged {number}"), ["a", "b", "c"]),
        )
        process.start()
        assert process.pid is not None
        patience = time.monotonic() + 60
        while not database.exists():
            assert time.monotonic() < patience
        time.sleep(chance.random() * 0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with fp.open(str(database)) as store:
            facts = tmp_path / f"acknowledged {number}"
            check_acknowledged(store.saver(), acknowledged(facts) if facts.exists() else [])
        check_integrity(str(database))
