"""Workers that share a database: each writes, reads, forks, and keeps a record of what it did."""

from __future__ import annotations

import json
import random
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import forkpoint as fp
from tests.checkpoints import at, head, ids, place, put, values

TASK = "00000000-0000-0000-0000-00000000000a"
SHARED = ["shared 0", "shared 1", "shared 2"]


def state_of(worker: str, number: int) -> dict[str, Any]:
    """What a worker's checkpoint holds; long enough to be stored as shared values."""
    return {
        "items": [f"{worker} {index} " + "text " * 20 for index in range(number % 40 + 1)],
        "who": worker,
        "number": number,
    }


class Worker:
    """One thread's work; `facts` is what must be found in the end."""

    def __init__(self, store: Any, name: str, seed: int) -> None:
        self.store = store
        self.saver = store.saver(share_values=seed % 2 == 0)
        self.name = name
        self.chance = random.Random(seed)
        self.facts: list[dict[str, Any]] = []
        self.number = 0
        self.own: str | None = None
        self.slowest_read = 0.0

    def run(self, until: float) -> None:
        """Work until a time of the monotonic clock."""
        try:
            while time.monotonic() < until:
                self.turn()
                self.chance.choice([self.talk, self.look, self.look, self.fork])()
        except BaseException as error:
            self.facts.append({"error": "".join(traceback.format_exception(error))})

    def _put(self, thread: str, parent: str | None) -> str:
        self.number += 1
        state = state_of(self.name, self.number)
        made = put(
            self.saver, thread, parent, state, version=self.number, who=self.name, n=self.number
        )
        self.facts.append(
            {"thread": thread, "id": made, "parent": parent, "n": self.number, "who": self.name}
        )
        return made

    def turn(self) -> None:
        """One step of the worker's own session, which must be its head at once."""
        thread = f"own {self.name}"
        self.own = self._put(thread, self.own)
        assert head(self.saver, thread).checkpoint["id"] == self.own, "does not read its own write"
        self.saver.put_writes(place(thread, self.own), [("a", self.number), ("b", [1])], TASK)
        found = head(self.saver, thread)
        assert [write[2] for write in found.pending_writes or []] == [self.number, [1]]

    def talk(self) -> None:
        """A turn of a session that everybody writes to, on whatever its head is now."""
        thread = self.chance.choice(SHARED)
        made = self._put(thread, head(self.saver, thread).checkpoint["id"])
        found = at(self.saver, thread, made)
        assert values(found) == state_of(self.name, self.number)

    def look(self) -> None:
        """Reads of all kinds; every checkpoint that is read must be whole."""
        began = time.monotonic()
        thread = self.chance.choice(SHARED)
        for item in self.saver.list(place(thread), limit=5):
            if "who" in item.metadata:
                state = state_of(item.metadata["who"], item.metadata["n"])
                assert values(item) == state, f"{item.config} is not whole"
        assert self.saver.timeline(thread, limit=5)
        assert self.store.sessions(limit=5)
        self.slowest_read = max(self.slowest_read, time.monotonic() - began)

    def fork(self) -> None:
        """A fork of the newest turn of a shared session, and a turn of its own there."""
        source = self.chance.choice(SHARED)
        point = head(self.saver, source).checkpoint["id"]
        destination = f"fork {self.name} {self.number}"
        self.saver.fork_session(source, point, destination)
        self.facts.append({"fork": destination, "source": source, "point": point})
        assert head(self.saver, destination).checkpoint["id"] == point
        made = self._put(destination, point)
        assert ids(self.saver, destination, limit=2) == [made, point]


def work(url: str, name: str, seed: int, threads: int, seconds: float, record: str) -> None:
    """Several workers in this process; what they did goes to a file, one JSON object a line."""
    with fp.open(url) as store:
        workers = [Worker(store, f"{name}.{number}", seed + number) for number in range(threads)]
        until = time.monotonic() + seconds
        running = [threading.Thread(target=worker.run, args=(until,)) for worker in workers]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    lines = [json.dumps(fact) for worker in workers for fact in worker.facts]
    slowest = max(worker.slowest_read for worker in workers)
    lines.append(json.dumps({"slowest_read": slowest}))
    Path(record).write_text("\n".join(lines), encoding="utf-8")
