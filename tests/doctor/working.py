"""A process that writes to a database in every way there is, until it is told to stop.

python -m tests.doctor.working URL NAME SEED SECONDS
"""

from __future__ import annotations

import math
import random
import sys
import time
from contextlib import suppress

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import ids, put, write
from tests.doctor.shapes import LONG
from tests.langgraph.graphs import delta
from tests.traps.conversations import on

SHARED = ("shared 0", "shared 1")
_EXPECTED = (
    fp.NotFoundError,
    fp.ConflictError,
)
"""What may happen when others write to the same sessions."""


class Worker:
    """One writer."""

    def __init__(self, store: Store, name: str, seed: int) -> None:
        self.store = store
        self.saver = store.saver()
        self.name = name
        self.chance = random.Random(seed)
        self.number = 0
        self.graph = delta(3)(self.saver)

    def work(self, until: float) -> int:
        """Do one thing after the other until a time of the monotonic clock; how many."""
        done = 0
        deeds = (
            *(self.talk,) * 5,
            *(self.replay,) * 2,
            *(self.fork,) * 3,
            self.subgraph,
            self.label,
            self.prune,
            self.delete,
            self.copy,
            self.detach,
            self.collect,
            self.erase,
        )
        while time.monotonic() < until:
            try:
                self.chance.choice(deeds)()
            except _EXPECTED:
                continue
            done += 1
        return done

    def _session(self) -> str:
        return self.chance.choice((f"{self.name} 0", f"{self.name} 1", f"{self.name} 2", *SHARED))

    def talk(self) -> None:
        session = self._session()
        self.number += 1
        there = ids(self.saver, session, limit=3)
        parent = self.chance.choice(there) if there else None
        items = [f"{LONG}{self.name}{index}" for index in range(self.number % 20)]
        values = {"items": items, "note": f"{LONG}{self.number}"}
        made = put(self.saver, session, parent, values, version=self.number, who=self.name)
        write(self.saver, session, made, [("items", [LONG + self.name])])

    def replay(self) -> None:
        place = on(f"{self.name} delta")
        self.graph.invoke({"log": [self.name], "other": [], "plain": []}, place)

    def subgraph(self) -> None:
        session = self._session()
        there = ids(self.saver, session, limit=1)
        if there:
            self.number += 1
            namespace, parents = f"sub:{self.number}", {"": there[0]}
            put(self.saver, session, values={"a": LONG}, namespace=namespace, parents=parents)

    def fork(self) -> None:
        session = self._session()
        there = ids(self.saver, session, limit=8)
        if there:
            self.number += 1
            fork = f"{self.name} {self.number % 3}"
            if self.chance.random() < 0.5:
                self.saver.delete_thread(fork)
            self.saver.fork_session(session, self.chance.choice(there), fork)

    def label(self) -> None:
        session = self._session()
        there = ids(self.saver, session, limit=5)
        if there:
            name = self.chance.choice(("good", "bad"))
            self.store.label(session, self.chance.choice(there), name, replace=True)
            if self.chance.random() < 0.3:
                self.store.unlabel(session, name)

    def prune(self) -> None:
        self.saver.prune([self._session()])
        self.saver.prune([f"{self.name} delta"])

    def delete(self) -> None:
        self.store.delete(self._session(), forks=self.chance.choice(("keep", "cascade")))

    def copy(self) -> None:
        copy = f"{self.name} copy"
        self.saver.delete_thread(copy)
        self.saver.copy_thread(self._session(), copy)

    def detach(self) -> None:
        self.store.detach(self._session())

    def collect(self) -> None:
        if self.chance.random() < 0.3:
            self.store.collect(fp.RetentionPolicy(keep_last=5), sessions=[self._session()])
        else:
            self.store.collect()

    def erase(self) -> None:
        self.store.erase(f"{self.name} {self.chance.randrange(3)}")


def work_until_killed(url: str, name: str, seed: int) -> None:
    """Work although the server comes and goes."""
    with fp.open(url) as store:
        worker = Worker(store, name, seed)
        while True:
            with suppress(fp.ConnectionLostError, fp.DatabaseBusyError):
                worker.work(math.inf)


def main(url: str, name: str, seed: str, seconds: str) -> None:
    """Work, and print how much was done."""
    with fp.open(url) as store:
        print(Worker(store, name, int(seed)).work(time.monotonic() + float(seconds)))


if __name__ == "__main__":
    main(*sys.argv[1:])
