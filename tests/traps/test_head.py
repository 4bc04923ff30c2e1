"""The head is what was written last, and a put says what it follows."""

from __future__ import annotations

from pathlib import Path

import pytest

import forkpoint as fp
from tests.checkpoints import Saver, at, chain, checkpoint, head, ids, place, put, values, write

EARLY = "1ef00000-0000-6000-8000-000000000000"
LATE = "1fffffff-ffff-6fff-8000-000000000000"


def test_checkpoint_of_a_slow_clock_is_the_head(saver: Saver) -> None:
    first = put(saver, "t", None, {"x": 1}, checkpoint_id=LATE)
    second = put(saver, "t", first, {"x": 2}, checkpoint_id=EARLY, version=2)
    assert head(saver, "t").checkpoint["id"] == second
    assert values(head(saver, "t")) == {"x": 2}
    assert ids(saver, "t") == [second, first]
    assert ids(saver, "t", before=place("t", second)) == [first]
    assert ids(saver, "t", before=place("t", first)) == []
    assert ids(saver, "t", limit=1) == [second]


def test_slow_clock_inside_a_fork(saver: Saver) -> None:
    first = put(saver, "source", None, {"x": 1}, checkpoint_id=LATE)
    saver.fork_session("source", first, "fork")  # type: ignore[attr-defined]
    second = put(saver, "fork", first, {"x": 2}, checkpoint_id=EARLY, version=2)
    assert head(saver, "fork").checkpoint["id"] == second
    assert ids(saver, "fork") == [second, first]


def test_branch_from_an_old_checkpoint_moves_the_head(saver: Saver) -> None:
    first, second, third = chain(saver, "t", 3)
    branch = put(saver, "t", first, {"items": ["branch"]}, version=7)
    assert head(saver, "t").checkpoint["id"] == branch
    parent = head(saver, "t").parent_config
    assert parent is not None
    assert parent["configurable"]["checkpoint_id"] == first
    assert ids(saver, "t") == [branch, third, second, first]


@pytest.mark.parametrize("parent", [EARLY, "not a uuid", "x" * 500])
def test_put_on_an_unknown_parent_is_refused(saver: Saver, parent: str) -> None:
    with pytest.raises(fp.CheckpointNotFoundError):
        put(saver, "t", parent, {"x": 1})
    assert ids(saver, "t", None) == []
    known = put(saver, "t", None, {"x": 1})
    with pytest.raises(fp.CheckpointNotFoundError):
        put(saver, "t", parent, {"x": 2}, version=2)
    with pytest.raises(fp.CheckpointNotFoundError):
        put(saver, "t", known, {"x": 2}, namespace="sub:1")
    assert ids(saver, "t", None) == [known]


def test_identical_put_is_a_no_op_and_a_different_one_a_conflict(saver: Saver) -> None:
    first, second = chain(saver, "t", 2)
    third = put(saver, "t", second, {"items": ["three"]}, version=3)
    stored = at(saver, "t", second)
    metadata = dict(stored.metadata)
    returned = saver.put(
        place("t", first),
        stored.checkpoint,
        metadata,
        stored.checkpoint["channel_versions"],  # type: ignore[arg-type]
    )
    assert returned["configurable"]["checkpoint_id"] == second
    assert ids(saver, "t") == [third, second, first]
    assert head(saver, "t").checkpoint["id"] == third
    other = checkpoint({"items": ["other"]}, second, 2)
    with pytest.raises(fp.ConflictError):
        saver.put(place("t", first), other, {"source": "loop", "step": 2}, {"items": 2})  # type: ignore[arg-type]
    with pytest.raises(fp.ConflictError):
        saver.put(
            place("t", third),
            stored.checkpoint,
            metadata,
            stored.checkpoint["channel_versions"],  # type: ignore[arg-type]
        )
    assert values(at(saver, "t", second)) == values(stored)
    parent = at(saver, "t", second).parent_config
    assert parent is not None
    assert parent["configurable"]["checkpoint_id"] == first


def test_writes_that_arrive_before_their_checkpoint_show_once_it_is_there(saver: Saver) -> None:
    first = put(saver, "t", None, {"x": 1})
    write(saver, "t", EARLY, [("a", 1), ("b", [2])])
    write(saver, "t", LATE, [("never", 1)])
    assert saver.get_tuple(place("t", EARLY)) is None
    assert ids(saver, "t") == [first]
    put(saver, "t", first, {"x": 2}, checkpoint_id=EARLY, version=2)
    assert [(item[1], item[2]) for item in at(saver, "t", EARLY).pending_writes or []] == [
        ("a", 1),
        ("b", [2]),
    ]


def test_writes_before_the_first_checkpoint_of_a_thread(saver: Saver) -> None:
    write(saver, "t", EARLY, [("a", 1)])
    assert saver.get_tuple(place("t")) is None
    put(saver, "t", None, {"x": 2}, checkpoint_id=EARLY)
    assert [item[1] for item in head(saver, "t").pending_writes or []] == ["a"]


def test_regular_writes_stay_and_special_writes_are_replaced(saver: Saver) -> None:
    first = put(saver, "t", None, {"x": 1})
    write(saver, "t", first, [("a", 1), ("__interrupt__", "q1"), ("__resume__", ["r1"])])
    write(saver, "t", first, [("a", 2), ("__interrupt__", "q2"), ("__resume__", ["r1", "r2"])])
    found = {item[1]: item[2] for item in at(saver, "t", first).pending_writes or []}
    assert found == {"a": 1, "__interrupt__": "q2", "__resume__": ["r1", "r2"]}


def test_writes_come_in_the_order_of_path_task_and_index(saver: Saver) -> None:
    first = put(saver, "t", None, {"x": 1})
    tasks = ["00000000-0000-0000-0000-00000000000" + digit for digit in "321"]
    write(saver, "t", first, [("a", "z"), ("b", "z")], tasks[0], "~2")
    write(saver, "t", first, [("a", "y")], tasks[1], "~1")
    write(saver, "t", first, [("a", "x")], tasks[2], "")
    write(saver, "t", first, [("a", "w")], "ffffffff-0000-0000-0000-000000000001", "")
    found = [item[2] for item in at(saver, "t", first).pending_writes or []]
    assert found == ["x", "w", "y", "z", "z"]


def test_head_survives_a_reopen(database: Path) -> None:
    with fp.open(str(database)) as store:
        first = put(store.saver(), "t", None, {"x": 1}, checkpoint_id=LATE)
        put(store.saver(), "t", first, {"x": 2}, checkpoint_id=EARLY, version=2)
    with fp.open(str(database)) as store:
        assert values(head(store.saver(), "t")) == {"x": 2}


def test_threads_are_apart(saver: Saver) -> None:
    names = ["a", "A", "a ", "ä", "a%", "a_", "", "'; DROP TABLE checkpoint; --", "\U0001f600"]
    for number, name in enumerate(names):
        if name:
            put(saver, name, None, {"x": number})
    for number, name in enumerate(names):
        if name:
            assert values(head(saver, name)) == {"x": number}
