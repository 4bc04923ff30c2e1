"""Who waits for whom: readers for nobody, writers for each other, and never for ever."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import forkpoint as fp
from tests.checkpoints import Saver, chain, head, ids, place, put, write

AT_ONCE = 1.0
"""Seconds within which a call that waits for nobody has long returned."""


@contextmanager
def lock_held_elsewhere(database: Path) -> Iterator[None]:
    """The write lock, held as another process would hold it."""
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        if other.in_transaction:
            other.execute("ROLLBACK")
        other.close()


def reads(store: Any, saver: Saver, made: list[str]) -> list[Callable[[], Any]]:
    """Every way to read."""
    return [
        lambda: head(saver, "t"),
        lambda: saver.get_tuple(place("t", made[0])),
        lambda: list(saver.list(place("t"))),
        lambda: list(saver.list(None, limit=3)),
        lambda: list(saver.list(place("t"), filter={"step": 1})),
        lambda: saver.get_delta_channel_history(config=place("t"), channels=["items"]),
        lambda: saver.timeline("t"),  # type: ignore[attr-defined]
        lambda: saver.origin("t"),  # type: ignore[attr-defined]
        lambda: store.sessions(),
        lambda: store.session("t"),
        lambda: store.forks_of("t"),
    ]


def test_readers_do_not_wait_for_a_writer_elsewhere(database: Path) -> None:
    with fp.open(str(database)) as store:
        saver = store.saver()
        made = chain(saver, "t", 5)
        with lock_held_elsewhere(database):
            for read in reads(store, saver, made):
                began = time.monotonic()
                read()
                assert time.monotonic() - began < AT_ONCE


def test_readers_do_not_wait_while_a_writer_here_waits(database: Path) -> None:
    with fp.open(str(database)) as store:
        saver = store.saver()
        made = chain(saver, "t", 5)
        done = threading.Event()

        def wait_for_the_lock() -> None:
            put(saver, "t", made[-1], {"x": 1}, version=99)
            done.set()

        writer = threading.Thread(target=wait_for_the_lock)
        with lock_held_elsewhere(database):
            writer.start()
            time.sleep(0.2)
            began = time.monotonic()
            for read in reads(store, saver, made):
                read()
            took = time.monotonic() - began
            assert not done.is_set()
            assert took < AT_ONCE, f"readers waited {took:.1f} s for the writer"
        writer.join(30)
        assert done.is_set()
        assert len(ids(saver, "t")) == 6


def test_new_store_can_be_opened_while_a_writer_is_at_work(database: Path) -> None:
    with fp.open(str(database)) as store:
        put(store.saver(), "t", None, {"x": 1})
        with lock_held_elsewhere(database):
            began = time.monotonic()
            with fp.open(str(database)) as other:
                assert len(ids(other.saver(), "t")) == 1
            assert time.monotonic() - began < AT_ONCE


def test_writer_waits_for_the_lock_and_then_writes(database: Path) -> None:
    with fp.open(str(database)) as store:
        saver = store.saver()
        first = put(saver, "t", None, {"x": 1})
        released = threading.Event()

        def hold() -> None:
            with lock_held_elsewhere(database):
                held.set()
                time.sleep(1.0)
            released.set()

        held = threading.Event()
        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        put(saver, "t", first, {"x": 2}, version=2)
        assert released.wait(1)
        holder.join()
        assert len(ids(saver, "t")) == 2


def test_lock_held_too_long_is_an_error_of_ours_and_nothing_is_written(database: Path) -> None:
    with fp.open(str(database), busy_timeout=0.2) as store:
        saver = store.saver()
        first = put(saver, "t", None, {"x": 1})
        with lock_held_elsewhere(database):
            for call in (
                lambda: put(saver, "t", first, {"x": 2}, version=2),
                lambda: put(saver, "new", None, {"x": 2}),
                lambda: saver.fork_session("t", first, "fork"),
                lambda: saver.delete_thread("t"),
                lambda: saver.prune(["t"]),
            ):
                with pytest.raises(fp.DatabaseBusyError) as caught:
                    call()
                assert "database is locked" not in str(caught.value)
        assert ids(saver, "t") == [first]
        second = put(saver, "t", first, {"x": 2}, version=2)
        write(saver, "t", second, [("a", 1)])
        saver.fork_session("t", second, "fork")
        assert ids(saver, "fork") == [second, first]


def test_files_opened_by_many_at_once(tmp_path: Path) -> None:
    """Whoever comes first creates the database; nobody fails."""
    for round_ in range(5):
        path = str(tmp_path / f"{round_}.db")
        errors: list[BaseException] = []
        ready = threading.Barrier(8)

        def begin(
            number: int,
            path: str = path,
            ready: threading.Barrier = ready,
            errors: list[BaseException] = errors,
        ) -> None:
            try:
                ready.wait()
                with fp.open(path) as store:
                    put(store.saver(), f"t{number}", None, {"x": number})
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=begin, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        with fp.open(path) as store:
            assert len(store.sessions()) == 8


def test_two_forks_into_one_destination_at_once(file_saver: Saver) -> None:
    made = chain(file_saver, "t", 3)
    for round_ in range(20):
        outcomes: list[str] = []
        ready = threading.Barrier(4)

        def fork(
            round_: int = round_, outcomes: list[str] = outcomes, ready: threading.Barrier = ready
        ) -> None:
            ready.wait()
            try:
                file_saver.fork_session("t", made[1], f"fork {round_}")  # type: ignore[attr-defined]
                outcomes.append("made")
            except fp.DestinationNotEmptyError:
                outcomes.append("refused")

        threads = [threading.Thread(target=fork) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["made", "refused", "refused", "refused"]


def test_writes_that_wait_for_a_checkpoint_do_not_outwait_the_store(database: Path) -> None:
    """A store that is closed under a background write answers it: durable, or closed."""
    for _ in range(20):
        store = fp.open(str(database))
        saver = store.saver()
        config = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "x"}}
        config["configurable"]["__pregel_durability"] = "async"
        outcomes: list[str] = []

        def write(saver: Any = saver, config: Any = config, outcomes: list[str] = outcomes) -> None:
            try:
                saver.put_writes(config, [("a", 1)], "task")
            except fp.StoreClosedError:
                outcomes.append("closed")
            else:
                outcomes.append("durable")

        writers = [threading.Thread(target=write) for _ in range(4)]
        for writer in writers:
            writer.start()
        store.close()
        for writer in writers:
            writer.join(timeout=20)
        assert len(outcomes) == 4
