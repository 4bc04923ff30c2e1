"""Four processes do all there is to do, killed every few seconds, on a server that comes and goes.

Two write lines of which every state is known in advance, two do everything else, collections and
erasures among it. What was acknowledged must be there whenever one of them was killed, and the
doctor must find nothing, while all goes on and in the end.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import forkpoint as fp
from tests.checkpoints import place
from tests.crash.test_sigkill import (
    PROCESSES,
    acknowledged,
    check_acknowledged,
    check_integrity,
    check_whole,
    kill,
    start_writer,
)
from tests.doctor.working import work_until_killed
from tests.postgres import Postgres

SOAK_MINUTES = float(os.environ.get("FORKPOINT_SOAK_MINUTES", "30"))
_REMEMBERED = 20
"""Killed writers whose lines stay; those of the others are deleted under the load."""
_FEWEST_KILLS = 3
_SAMPLE = 300
"""Acknowledgements that are looked up when a writer was killed."""


class Load:
    """The processes at work, and what is known of what they did."""

    def __init__(self, url: str, server: Postgres | None, directory: Path, seed: int) -> None:
        self.url = url
        self.server = server
        self.directory = directory
        self.chance = random.Random(seed)
        self.number = 0
        self.kills = 0
        self.lines = 0
        #: What killed writers had acknowledged, by their lines.
        self.done: list[tuple[list[str], list[dict[str, Any]]]] = []
        self.writers: list[tuple[Any, Path, list[str]]] = []
        self.others: list[Any] = []
        fp.open(url).close()
        self.store = fp.open(url)

    def start(self) -> None:
        """Have two of each at work."""
        while len(self.writers) < 2:
            self.number += 1
            path = self.directory / f"acknowledged {self.number}"
            mine = [f"main {self.number}", f"plain {self.number}", f"forked {self.number}"]
            self.writers.append((start_writer(self.url, path, mine), path, mine))
        while len(self.others) < 2:
            self.number += 1
            name = f"process {len(self.others)}"
            process = PROCESSES.Process(
                target=work_until_killed, args=(self.url, name, self.number)
            )
            process.start()
            self.others.append(process)

    def kill_one(self) -> None:
        """Kill one of them, and if it wrote lines, look for what it had acknowledged."""
        self.kills += 1
        if self.chance.random() < 0.5:
            kill(self.others.pop(self.chance.randrange(len(self.others))))
            return
        process, path, mine = self.writers.pop(self.chance.randrange(len(self.writers)))
        kill(process)
        facts = acknowledged(path)
        self.lines += len(facts)
        self.done.append((mine, facts))
        self.check(mine, facts)
        if len(self.done) > _REMEMBERED:
            self.forget(*self.done.pop(self.chance.randrange(_REMEMBERED)))

    def check(self, mine: list[str], facts: list[dict[str, Any]]) -> None:
        """What a killed writer had acknowledged is there, and what it had begun is whole."""
        saver = self.store.saver()
        some = self.chance.sample(facts, min(_SAMPLE, len(facts)))
        leaving = {fact["thread"] for fact in facts if fact["did"].endswith("delete")}
        check_acknowledged(
            saver,
            [fact for fact in some if fact["thread"] not in leaving]
            + [fact for fact in facts if fact["thread"] in leaving],
        )
        for line in mine:
            if saver.get_tuple(place(line)) is not None:
                check_whole(saver, line, 30)

    def forget(self, mine: list[str], facts: list[dict[str, Any]]) -> None:
        """Delete what a writer left, forks and all."""
        forks = {fact["thread"] for fact in facts if fact["did"] == "fork"}
        for line in mine:
            with suppress(fp.SessionNotFoundError):
                gone = self.store.delete(line, forks="cascade")
                assert {line} <= set(gone.deleted)
                forks -= set(gone.deleted)
        assert [fork for fork in forks if self.store.saver().get_tuple(place(fork))] == []

    def disturb(self) -> None:
        """Take the server away for a moment, in one of three ways."""
        assert self.server is not None
        way = self.chance.choice(("restart", "backend", "connections"))
        if way == "restart":
            self.server.restart()
        elif way == "backend":
            self.server.kill_backend(self.chance.choice(self.server.backends()))
            with suppress(fp.ConnectionLostError):
                self.store.sessions(limit=1)
        else:
            self.server.end_connections()

    def examine(self) -> None:
        """The doctor finds nothing, although all are at work."""
        diagnosis = self.store.examine()
        assert diagnosis.sound, "\n".join(map(str, diagnosis.findings))

    def run(self, seconds: float) -> None:
        """All of it, for some time, and until some of them were killed."""
        end = time.monotonic() + seconds
        next_disturbance, next_examination = time.monotonic() + 4, time.monotonic() + 2
        while time.monotonic() < end or self.kills < _FEWEST_KILLS:
            self.start()
            time.sleep(0.5 + 2 * self.chance.random())
            for process, _, _ in self.writers:
                assert process.is_alive(), "a writer ended by itself"
            for process in self.others:
                assert process.is_alive(), "a worker ended by itself"
            if self.server is not None and time.monotonic() > next_disturbance:
                self.disturb()
                next_disturbance = time.monotonic() + 5 + 10 * self.chance.random()
            self.kill_one()
            if time.monotonic() > next_examination:
                self.examine()
                next_examination = time.monotonic() + 20

    def finish(self) -> None:
        """Stop all, and look at everything once more."""
        for process, path, mine in self.writers:
            kill(process)
            self.done.append((mine, acknowledged(path)))
        for process in self.others:
            kill(process)
        self.writers, self.others = [], []
        for mine, facts in self.done:
            self.check(mine, facts)
        self.store.collect()
        self.examine()
        self.store.close()
        check_integrity(self.url.removeprefix("sqlite:///"))
        assert self.lines > 20 * self.kills

    def stop(self) -> None:
        """After a failure: leave no process behind."""
        for process in [*self.others, *(writer for writer, _, _ in self.writers)]:
            process.kill()
            process.join()


@pytest.fixture(params=["sqlite", "postgres"])
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Load]:
    """A load on a database of its own; the server too, for it is stopped under way."""
    if request.param == "sqlite":
        made = Load(f"sqlite:///{tmp_path / 'agent.db'}", None, tmp_path, 1)
        yield made
        made.stop()
        return
    server = Postgres()
    made = Load(server.url(), server, tmp_path, 2)
    yield made
    made.stop()
    server.stop()


def test_a_load_of_all_kinds(load: Load) -> None:
    load.run(12)
    load.finish()


@pytest.mark.soak
@pytest.mark.timeout(SOAK_MINUTES * 60 + 600)
def test_a_load_of_all_kinds_at_length(load: Load) -> None:
    load.run(SOAK_MINUTES * 60)
    load.finish()
