"""Each rule that keeps a checkpoint, and what goes when none does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base.id import uuid6

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import at, chain, head, ids, place, put, values, write

ONLY_HEADS = fp.RetentionPolicy(
    keep_last=1, keep_fork_points=False, keep_labelled=False, keep_pending=False
)
GREGORIAN = 0x01B21DD213814000


def id_made(age: timedelta) -> str:
    """A checkpoint id that was made some time ago."""
    moment = datetime.now(UTC) - age
    steps = int(moment.timestamp() * 10_000_000) + GREGORIAN
    digits = f"{steps:015x}"
    tail = uuid6(clock_seq=0).hex[16:]
    made = f"{digits[:12]}6{digits[12:]}{tail}"
    return f"{made[:8]}-{made[8:12]}-{made[12:16]}-{made[16:20]}-{made[20:]}"


def aged(store: Store, thread: str, *ages: timedelta) -> list[str]:
    """A chain whose checkpoints are so old; oldest first."""
    made: list[str] = []
    for version, age in enumerate(ages):
        parent = made[-1] if made else None
        identity = id_made(age)
        put(store.saver(), thread, parent, {"x": version}, checkpoint_id=identity, version=version)
        made.append(identity)
    return made


def test_keep_last_keeps_those_written_last(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "s", 10)
    report = store.collect(fp.RetentionPolicy(keep_last=4))
    assert ids(saver, "s") == made[:5:-1]
    assert values(head(saver, "s")) == {"items": [f"item {number}" for number in range(10)]}
    assert saver.get_tuple(place("s", made[2])) is None
    assert (report.checkpoints, report.rows) == (6, 5)


def test_keep_last_counts_the_order_of_writing_and_not_of_branches(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "s", 5)
    branch = put(saver, "s", made[1], {"items": ["branch"]}, version=9)
    store.collect(fp.RetentionPolicy(keep_last=2))
    assert ids(saver, "s") == [branch, made[4]]
    assert head(saver, "s").checkpoint["id"] == branch


def test_keep_last_of_more_than_there_are_keeps_all(store: Store) -> None:
    made = chain(store.saver(), "s", 3)
    assert store.collect(fp.RetentionPolicy(keep_last=3)).checkpoints == 0
    assert ids(store.saver(), "s") == made[::-1]


def test_keep_newer_than_goes_by_the_time_in_the_id(store: Store) -> None:
    made = aged(store, "s", *(timedelta(days=days) for days in (40, 31, 29, 1)))
    store.collect(fp.RetentionPolicy(keep_newer_than=timedelta(days=30)))
    assert ids(store.saver(), "s") == made[:1:-1]


def test_a_head_is_kept_however_old(store: Store) -> None:
    made = aged(store, "s", timedelta(days=900), timedelta(days=800))
    store.collect(fp.RetentionPolicy(keep_newer_than=timedelta(days=30)))
    assert ids(store.saver(), "s") == made[1:]


def test_of_two_rules_one_is_enough(store: Store) -> None:
    made = aged(store, "s", *(timedelta(days=days) for days in (50, 40, 20, 10)))
    store.collect(fp.RetentionPolicy(keep_last=3, keep_newer_than=timedelta(days=15)))
    assert ids(store.saver(), "s") == made[:0:-1]
    store.collect(fp.RetentionPolicy(keep_last=1, keep_newer_than=timedelta(days=30)))
    assert ids(store.saver(), "s") == made[:1:-1]


def test_an_id_without_a_time_goes_by_the_time_stored_with_it(store: Store) -> None:
    saver = store.saver()
    parent = None
    for number, ts in enumerate(
        ["2020-01-01T00:00:00+00:00", "2020-01-01T01:00:00Z", "soon", "2999-01-01T00:00:00"]
    ):
        checkpoint = {
            "v": 4,
            "id": f"own-{number}",
            "ts": ts,
            "channel_values": {"x": number},
            "channel_versions": {"x": number + 1},
            "versions_seen": {},
        }
        saver.put(place("s", parent), checkpoint, {"step": number}, {"x": number + 1})  # type: ignore[arg-type]
        parent = f"own-{number}"
    put(saver, "s", parent, {"x": 9}, version=9)
    store.collect(fp.RetentionPolicy(keep_newer_than=timedelta(days=30)))
    assert ids(saver, "s")[1:] == ["own-3", "own-2"], "one that tells no time stays"


def test_keep_fork_points(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "s", 8)
    saver.fork_session("s", made[2], "fork")
    saver.fork_session("s", made[4], "deleted fork")
    saver.delete_thread("deleted fork")
    store.collect(fp.RetentionPolicy(keep_last=1))
    assert ids(saver, "s") == [made[7], made[2]]
    store.collect(fp.RetentionPolicy(keep_last=1, keep_fork_points=False))
    assert ids(saver, "s") == [made[7]]
    assert values(head(saver, "fork")) == {"items": ["item 0", "item 1", "item 2"]}


def test_keep_labelled(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "s", 6)
    store.label("s", made[1], "good")
    store.label("s", made[3], "taken off")
    store.unlabel("s", "taken off")
    store.collect(fp.RetentionPolicy(keep_last=1))
    assert ids(saver, "s") == [made[5], made[1]]
    assert store.resolve("s", "good") == made[1]
    store.collect(fp.RetentionPolicy(keep_last=1, keep_labelled=False))
    assert ids(saver, "s") == [made[5]]
    assert store.labels("s") == ()


def test_keep_labelled_in_a_fork_keeps_what_its_source_named(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "source", 4)
    store.label("source", made[1], "good")
    saver.fork_session("source", made[3], "fork")
    for number in range(3):
        put(saver, "fork", ids(saver, "fork")[0], {"items": [number]}, version=10 + number)
    store.collect(fp.RetentionPolicy(keep_last=1), sessions=["fork"])
    assert store.resolve("fork", "good") == made[1]
    assert values(at(saver, "fork", made[1])) == {"items": ["item 0", "item 1"]}
    store.collect(fp.RetentionPolicy(keep_last=1, keep_labelled=False), sessions=["fork"])
    assert len(ids(saver, "fork")) == 1


def test_keep_pending_keeps_the_end_of_a_branch_that_waits(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "s", 3)
    waiting = put(saver, "s", made[1], {"items": ["asks"]}, version=8)
    write(saver, "s", waiting, [("__interrupt__", "go on?")])
    write(saver, "s", made[0], [("x", "was answered")])
    idle = put(saver, "s", made[1], {"items": ["idle"]}, version=9)
    last = put(saver, "s", made[2], {"items": ["last"]}, version=10)
    store.collect(fp.RetentionPolicy(keep_last=1))
    assert ids(saver, "s") == [last, waiting]
    assert [item[2] for item in at(saver, "s", waiting).pending_writes or []] == ["go on?"]
    assert idle not in ids(saver, "s")
    store.collect(fp.RetentionPolicy(keep_last=1, keep_pending=False))
    assert ids(saver, "s") == [last]


def test_writes_that_were_followed_do_not_keep_a_checkpoint(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "s", 4)
    for one in made[:3]:
        write(saver, "s", one, [("items", "x")])
    saver.fork_session("s", made[1], "fork")
    store.collect(fp.RetentionPolicy(keep_last=1))
    assert ids(saver, "s") == [made[3], made[1]]
    saver.delete_thread("fork")
    store.collect(fp.RetentionPolicy(keep_last=1))
    assert ids(saver, "s") == [made[3]]


def test_sub_namespaces_follow_their_root(store: Store) -> None:
    saver = store.saver()
    roots: list[str] = []
    subs: list[str] = []
    for number in range(4):
        roots.append(
            put(saver, "s", roots[-1] if roots else None, {"x": number}, version=number + 1)
        )
        subs.append(
            put(
                saver,
                "s",
                subs[-1] if subs else None,
                {"y": number},
                version=number + 1,
                namespace="sub",
                parents={"": roots[-1]},
            )
        )
    store.label("s", roots[1], "good")
    store.collect(fp.RetentionPolicy(keep_last=2))
    assert ids(saver, "s") == [roots[3], roots[2], roots[1]]
    assert ids(saver, "s", "sub") == [subs[3], subs[2], subs[1]]


def test_the_head_of_every_namespace_is_kept(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "s", 5)
    old = put(saver, "s", None, {"y": 1}, namespace="memory", parents={"": made[0]})
    memory = put(saver, "s", old, {"y": 2}, version=2, namespace="memory", parents={"": made[1]})
    store.collect(ONLY_HEADS)
    assert ids(saver, "s") == [made[4]]
    assert ids(saver, "s", "memory") == [memory]
    put(saver, "s", memory, {"y": 3}, version=3, namespace="memory", parents={"": made[4]})
    assert values(head(saver, "s", "memory")) == {"y": 3}


def test_a_sub_checkpoint_that_waits_for_its_root_stays(store: Store) -> None:
    saver = store.saver()
    chain(saver, "s", 3)
    late = str(uuid6(clock_seq=0))
    first = put(saver, "s", None, {"y": 1}, namespace="sub", parents={"": late})
    second = put(saver, "s", first, {"y": 2}, version=2, namespace="sub", parents={"": late})
    store.collect(ONLY_HEADS)
    assert ids(saver, "s", "sub") == [second, first]
    put(saver, "s", head(saver, "s").checkpoint["id"], {"x": 1}, checkpoint_id=late, version=9)
    assert ids(saver, "s", "sub") == [second, first]


def test_what_a_fork_inherits_goes_as_a_whole(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "source", 6)
    saver.fork_session("source", made[3], "fork")
    own = [put(saver, "fork", made[3], {"items": ["own 0"]}, version=10)]
    own.append(put(saver, "fork", own[0], {"items": ["own 1"]}, version=11))
    store.collect(fp.RetentionPolicy(keep_last=4), sessions=["fork"])
    assert ids(saver, "fork") == [own[1], own[0], *made[3::-1]], "4 are not had without it"
    store.collect(fp.RetentionPolicy(keep_last=3), sessions=["fork"])
    assert ids(saver, "fork") == [own[1], own[0], made[3]]
    assert ids(saver, "source") == made[::-1]


def test_what_a_fork_inherits_is_as_old_as_the_newest_of_it(store: Store) -> None:
    saver = store.saver()
    made = aged(store, "source", *(timedelta(days=days) for days in (50, 40, 20, 10)))
    saver.fork_session("source", made[3], "fork")
    policy = fp.RetentionPolicy(keep_newer_than=timedelta(days=30))
    store.collect(policy, sessions=["fork"])
    assert ids(saver, "fork") == made[::-1]
    store.collect(fp.RetentionPolicy(keep_newer_than=timedelta(days=15)), sessions=["fork"])
    assert ids(saver, "fork") == [made[3]]


def test_a_fork_keeps_what_its_source_lets_go(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "source", 6)
    write(saver, "source", made[1], [("w", 1)])
    saver.fork_session("source", made[3], "fork")
    saver.fork_session("fork", made[2], "fork of it")
    store.collect(ONLY_HEADS, sessions=["source"])
    assert ids(saver, "source") == [made[5]]
    assert ids(saver, "fork") == made[3::-1]
    assert ids(saver, "fork of it") == made[2::-1]
    assert [item[2] for item in at(saver, "fork", made[1]).pending_writes or []] == [1]


def test_what_no_fork_shows_any_more_goes_below_it_too(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "source", 60)
    saver.fork_session("source", made[40], "fork")
    for number in range(5):
        put(saver, "fork", ids(saver, "fork")[0], {"items": [number]}, version=100 + number)
    first = store.collect(ONLY_HEADS, sessions=["source"])
    assert first.checkpoints == 59
    assert first.rows == 18, "the fork shows the others"
    second = store.collect(fp.RetentionPolicy(keep_last=3), sessions=["fork"])
    gone = {item.session_id: item.rows for item in second.sessions}
    assert gone == {"source": 39, "fork": 2}
    assert ids(saver, "source") == [made[59]]
    assert len(ids(saver, "fork")) == 3


def test_what_was_hidden_before_a_fork_was_taken_goes_with_the_forks_that_see_it(
    store: Store,
) -> None:
    saver = store.saver()
    made = chain(saver, "source", 60)
    saver.fork_session("source", made[59], "early")
    saver.prune(["source"])
    saver.fork_session("source", made[59], "late")
    assert (len(ids(saver, "early")), len(ids(saver, "late"))) == (60, 1)
    held = store.examine().checkpoints
    store.delete("early")
    store.collect()
    # The fork point, the first row of its lane, and the copy that the fork has.
    assert store.examine().checkpoints == 3 < held
    assert ids(saver, "late") == [made[59]]
    assert store.examine().sound


def test_a_place_that_was_emptied_lies_on_the_path_of_a_later_fork(
    store: Store, tmp_path: Path
) -> None:
    saver = store.saver()
    source = chain(saver, "source", 3)
    saver.fork_session("source", source[2], "fork")
    head = source[2]
    for number in range(4):
        head = put(saver, "fork", head, {"items": [number]}, version=100 + number)
    saver.prune(["fork"])
    saver.fork_session("fork", head, "fork of the fork")
    saver.prune(["source"])
    store.collect()
    store.export("fork of the fork", tmp_path / "fork.forkpoint")
    assert store.detach("fork").detached
    assert store.detach("fork of the fork").detached
    for session in ("fork", "fork of the fork"):
        assert values(at(saver, session, head)) == {"items": [3]}
    assert store.examine().sound


@pytest.mark.parametrize("number", [1, 999, 1000, 1001, 2600])
def test_many_checkpoints_go_in_several_transactions(file_store: Store, number: int) -> None:
    saver = file_store.saver()
    made = [put(saver, "s", None, {"x": 0})]
    for version in range(1, number + 1):
        made.append(put(saver, "s", made[-1], {"x": version}, version=version))
    transactions = 0
    plain = file_store._driver.write

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal transactions
        transactions += 1
        return plain(*arguments, **options)

    file_store._driver.write = counted  # type: ignore[method-assign]
    report = file_store.collect(ONLY_HEADS)
    assert report.checkpoints == number
    assert ids(saver, "s") == [made[-1]]
    assert number / 500 <= transactions <= number / 250 + 10


def test_a_second_collection_finds_nothing(store: Store) -> None:
    saver = store.saver()
    made = chain(saver, "s", 30)
    saver.fork_session("s", made[10], "fork")
    policy = fp.RetentionPolicy(keep_last=5)
    assert store.collect(policy).checkpoints
    again = store.collect(policy)
    assert (again.sessions, again.families) == ((), ())
