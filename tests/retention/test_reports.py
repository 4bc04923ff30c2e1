"""What a collection says it did, and what a dry run says it would do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import TASK, chain, ids, place, put, write
from tests.retention.reachability import read_tables, walk

ONLY_HEADS = fp.RetentionPolicy(
    keep_last=1, keep_fork_points=False, keep_labelled=False, keep_pending=False
)
PADDING = "a text that is worth sharing between checkpoints " * 4


def conversation(saver: Any, thread: str, length: int) -> list[str]:
    """A chain with lists that grow, writes, and a sub-namespace."""
    made: list[str] = []
    subs: list[str] = []
    for number in range(length):
        items = [f"{thread} {index} {PADDING}" for index in range(number + 1)]
        values = {"items": items, "once": f"{thread} {number} once {PADDING}"}
        made.append(
            put(saver, thread, made[-1] if made else None, values, version=number + 1, run_id="r")
        )
        write(saver, thread, made[-1], [("items", [f"{thread} wrote {number} {PADDING}"])])
        subs.append(
            put(
                saver,
                thread,
                subs[-1] if subs else None,
                {"note": f"{thread} note {number} {PADDING}"},
                version=number + 1,
                namespace="sub",
                parents={"": made[-1]},
            )
        )
    return made


def family_of_forks(saver: Any) -> dict[str, list[str]]:
    """A source, forks of it, and a fork of a fork, each with checkpoints of its own."""
    made = {"source": conversation(saver, "source", 12)}
    for name, source, at in (
        ("early", "source", 3),
        ("late", "source", 9),
        ("of late", "late", 9),
        ("untouched", "source", 6),
    ):
        point = made["source"][at]
        saver.fork_session(source, point, name)
        made[name] = [point]
        if name != "untouched":
            for number in range(4):
                values = {"items": [f"{name} {number} {PADDING}"]}
                made[name].append(put(saver, name, made[name][-1], values, version=50 + number))
    return made


@pytest.mark.parametrize(
    "policy",
    [
        ONLY_HEADS,
        fp.RetentionPolicy(keep_last=2),
        fp.RetentionPolicy(keep_last=6),
        fp.RetentionPolicy(keep_last=1, keep_fork_points=False),
    ],
)
def test_a_dry_run_writes_nothing_and_equals_what_then_happens(
    url: str, policy: fp.RetentionPolicy
) -> None:
    with fp.open(url) as store:
        family_of_forks(store.saver())
        conversation(store.saver(), "alone", 5)
        store.saver().delete_thread("early")
        before = read_tables(url)
        foreseen = store.collect(policy, dry_run=True)
        assert foreseen.dry_run
        assert foreseen.given_back == 0
        assert read_tables(url) == before
        done = store.collect(policy)
        assert (foreseen.sessions, foreseen.families) == (done.sessions, done.families)
        after = read_tables(url)
        went = {table: len(before[table]) - len(after[table]) for table in before}
        assert done.values == went["blob"]
        # What a fork gets as its own, when it stops showing what it inherits, is more.
        assert done.rows >= went["checkpoint"] + went["pending"]
        assert (done.rows, done.values) == (foreseen.rows, foreseen.values)
        assert walk(url).waste == walk(url).missing == []
        assert store.examine().sound


def test_a_report_counts_by_session_and_by_family(store: Store) -> None:
    saver = store.saver()
    for thread, length in (("one", 6), ("two", 4)):
        conversation(saver, thread, length)
    chain(saver, "short", 1)
    report = store.collect(fp.RetentionPolicy(keep_last=2))
    found = {item.session_id: item for item in report.sessions}
    assert found.keys() == {"one", "two"}
    assert {name: item.checkpoints for name, item in found.items()} == {"one": 8, "two": 4}
    # Of each row its note, what was written on it, and what was in it once; and the first list,
    # which was stored whole. Lists that grew are shared with those that stay.
    assert {item.root: item.values for item in report.families} == {"one": 13, "two": 7}
    assert report.checkpoints == 12
    assert report.rows == sum(item.rows for item in report.sessions)
    assert report.values == 20
    assert report.bytes == sum(item.bytes for item in (*report.sessions, *report.families))
    assert found["one"].bytes > found["two"].bytes > 0


def test_only_the_sessions_asked_for_are_collected(store: Store) -> None:
    saver = store.saver()
    for thread in ("one", "two"):
        conversation(saver, thread, 4)
    saver.delete_for_runs(["r"])
    for thread in ("one", "two"):
        conversation(saver, thread, 4)
    report = store.collect(ONLY_HEADS, sessions=["two", "two"])
    assert {item.session_id for item in report.sessions} == {"two"}
    assert {item.root for item in report.families} == {"two"}
    assert len(ids(saver, "one")) == 4


def test_what_a_deletion_left_is_counted(store: Store) -> None:
    saver = store.saver()
    made = conversation(saver, "source", 6)
    saver.fork_session("source", made[5], "fork")
    for number in range(3):
        saver.fork_session("fork", made[5], f"fork {number}")
        put(saver, f"fork {number}", made[5], {"items": [f"{number} {PADDING}"]}, version=90)
        saver.delete_thread(f"fork {number}")
    report = store.collect()
    assert report.sessions == ()
    assert [(item.root, item.values) for item in report.families] == [("source", 3)]


def test_progress_is_told_step_by_step(store: Store) -> None:
    saver = store.saver()
    for number in range(5):
        chain(saver, f"t{number}", 3)
    told: list[tuple[int, int]] = []
    store.collect(ONLY_HEADS, progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 10), (4, 10), (6, 10), (8, 10), (10, 10)]
    told.clear()
    store.collect(progress=lambda done, total: told.append((done, total)))
    assert told == []


async def test_async_twins(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "s", 5)
    report = await store.acollect(fp.RetentionPolicy(keep_last=2))
    assert report.checkpoints == 3
    assert ids(saver, "s") == made[:2:-1]
    erased = await store.aerase("s")
    assert erased.session_id == "s"
    with pytest.raises(fp.SessionNotFoundError):
        await store.aerase("nobody")


def test_a_row_that_a_fork_adopted_goes_with_what_it_inherits(store: Store) -> None:
    saver = store.saver()
    root = put(saver, "source", None, {"x": 1})
    first = put(saver, "source", None, {"y": 1}, namespace="sub", parents={"": root})
    store.label("source", root, "good")
    point = put(saver, "source", root, {"x": 2}, version=2)
    sub = put(saver, "source", first, {"y": 2}, version=2, namespace="sub", parents={"": root})
    saver.fork_session("source", point, "fork")
    write(saver, "fork", sub, [("y", "written by the fork")], namespace="sub")
    own = put(saver, "fork", sub, {"y": 3}, version=3, namespace="sub", parents={"": point})
    last = put(saver, "fork", point, {"x": 3}, version=3)
    store.collect(fp.RetentionPolicy(keep_last=1), sessions=["fork"])
    assert ids(saver, "fork") == [last, root], "the name keeps what is inherited"
    listed = ids(saver, "fork", "sub")
    assert listed == [own, sub, first]
    for one in listed:
        assert saver.get_tuple(place("fork", one, "sub")) is not None
    found = saver.get_tuple(place("fork", sub, "sub"))
    assert found is not None
    assert found.pending_writes == [(TASK, "y", "written by the fork")]
    store.collect(ONLY_HEADS, sessions=["fork"])
    assert ids(saver, "fork", "sub") == [own]


def test_a_deleted_fork_of_an_old_file_is_found(database: Path) -> None:
    """A family that was dirty when the process ended is collected by the next."""
    with fp.open(str(database)) as store:
        made = conversation(store.saver(), "source", 4)
        store.saver().fork_session("source", made[3], "fork")
        put(store.saver(), "fork", made[3], {"items": [PADDING]}, version=90)
        store.saver().delete_thread("fork")
    assert walk(f"sqlite:///{database}").waste
    with fp.open(str(database)) as store:
        store.collect()
    assert walk(f"sqlite:///{database}").waste == []
