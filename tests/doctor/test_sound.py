"""What nobody has damaged is sound."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import place, put
from tests.doctor.conftest import kinds, told
from tests.doctor.shapes import LONG, everything, plain
from tests.traps.test_values import Cipher


def test_an_empty_database_is_sound(store: Store) -> None:
    assert store.examine() == fp.Diagnosis((), 0, 0, 0)


def test_a_database_with_everything_in_it_is_sound(store: Store) -> None:
    everything(store)
    diagnosis = store.examine()
    assert kinds(diagnosis) == {}, told(diagnosis)
    assert diagnosis.sound
    assert diagnosis.sessions > 20
    assert diagnosis.checkpoints > 100
    assert diagnosis.values > 20


def test_everything_stays_sound_when_sessions_go_one_by_one(store: Store) -> None:
    everything(store)
    names = sorted(session.session_id for session in store.sessions(1000))
    for name in names[::2] + names[1::2]:
        store.delete(name)
        diagnosis = store.examine()
        assert kinds(diagnosis) == {}, f"after {name}: {told(diagnosis)}"
    assert diagnosis.checkpoints == 0
    assert diagnosis.values == 0


def test_everything_stays_sound_when_forks_are_detached(store: Store) -> None:
    everything(store)
    for session in store.sessions(1000):
        if session.forked_from is not None:
            store.detach(session.session_id)
            diagnosis = store.examine()
            assert kinds(diagnosis) == {}, f"after {session.session_id}: {told(diagnosis)}"


def test_compressed_values_are_compared_with_their_digests(url: str) -> None:
    with fp.open(url, compress=True) as store:
        plain(store.saver(), "talk", 5)
        assert store.examine().findings == ()


def test_encrypted_values_are_looked_at_from_outside(url: str) -> None:
    with fp.open(url) as store:
        plain(store.saver(serde=EncryptedSerializer(Cipher(os.urandom(32)))), "talk", 5)
        diagnosis = store.examine()
        assert diagnosis.findings == ()
        assert diagnosis.values > 5


def test_values_that_nothing_refers_to_are_worth_knowing(store: Store) -> None:
    saver = store.saver()
    plain(saver, "talk", 3)
    saver.prune(["talk"])
    diagnosis = store.examine()
    assert diagnosis.sound
    assert [finding.kind for finding in diagnosis.findings] == ["unreachable"]
    assert diagnosis.findings[0].details["values"] > 0
    assert diagnosis.findings[0].details["bytes"] > len(LONG)


def test_collection_leaves_nothing_that_nothing_refers_to(store: Store) -> None:
    everything(store)
    store.collect()
    assert store.examine().findings == ()


def test_an_import_is_sound_while_it_goes_on_and_when_it_is_done(url: str, tmp_path: Path) -> None:
    archive = tmp_path / "talk.archive"
    with fp.open("sqlite:///:memory:") as source:
        plain(source.saver(), "talk", 8)
        source.export("talk", archive)
    with fp.open(url) as store, fp.open(url) as other:
        seen: list[set[str]] = []

        def look(done: int, total: int) -> None:
            diagnosis = other.examine()
            assert diagnosis.sound, told(diagnosis)
            seen.append({finding.kind for finding in diagnosis.findings})

        store.import_session(archive, progress=look)
        assert {"import"} in seen
        assert store.examine().findings == ()


def test_progress_counts_the_sessions(store: Store) -> None:
    saver = store.saver()
    first = plain(saver, "a", 2)
    plain(saver, "b", 2)
    saver.fork_session("a", first[0], "c")
    seen: list[tuple[int, int]] = []
    store.examine(lambda done, total: seen.append((done, total)))
    assert seen == [(2, 3), (3, 3)]


async def test_async_twins(store: Store) -> None:
    plain(store.saver(), "talk", 2)
    diagnosis = await store.aexamine()
    assert diagnosis.sound
    report = await store.arepair(diagnosis)
    assert report == fp.RepairReport((), (), ())


def test_a_closed_store_is_no_finding(store: Store) -> None:
    store.close()
    with pytest.raises(fp.StoreClosedError):
        store.examine()


def test_examining_does_not_block_the_event_loop(store: Store) -> None:
    async def work() -> int:
        everything(store)
        ticks = 0
        examination = asyncio.ensure_future(store.aexamine())
        while not examination.done():
            await asyncio.sleep(0)
            ticks += 1
        return ticks

    assert asyncio.run(work()) > 3


def test_a_list_that_stands_on_one_of_another_process(url: str) -> None:
    with fp.open(url) as here, fp.open(url) as there:
        mine, theirs = here.saver(), there.saver()
        first = put(mine, "shared", values={"items": [LONG + "first"]})
        other = [f"{LONG}{number}" for number in range(3)]
        second = put(theirs, "shared", first, {"items": other}, version=2)
        put(theirs, "shared", second, {"items": [*other, f"{LONG}theirs"]}, version=3)
        branch = put(mine, "shared", second, {"items": [*other, f"{LONG}mine"]}, version=3)
        found = mine.get_tuple(place("shared", branch))
        assert found is not None
        assert found.checkpoint["channel_values"]["items"] == [*other, f"{LONG}mine"]
        diagnosis = here.examine()
        assert diagnosis.sound, told(diagnosis)
