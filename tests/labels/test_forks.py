"""A fork sees the labels that its source had when it was taken."""

from __future__ import annotations

import pytest

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import chain, put


def names(store: Store, session: str) -> dict[str, str]:
    """Labels of a session: name to checkpoint."""
    return {label.name: label.checkpoint_id for label in store.labels(session)}


def test_labels_on_the_way_and_on_the_fork_point_are_inherited(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 4)
    for number, name in enumerate(("a", "b", "c", "d")):
        store.label("talk", ids[number], name)
    saver.fork_session("talk", ids[2], "fork")
    assert names(store, "fork") == {"a": ids[0], "b": ids[1], "c": ids[2]}
    assert all(label.inherited for label in store.labels("fork"))


def test_labels_on_another_branch_are_not(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 3)
    branch = put(saver, "talk", ids[0], {"items": ["other"]}, version=2)
    store.label("talk", branch, "branch")
    store.label("talk", ids[0], "root")
    saver.fork_session("talk", ids[2], "fork")
    assert names(store, "fork") == {"root": ids[0]}
    with pytest.raises(fp.CheckpointNotFoundError):
        store.resolve("fork", "branch")


def test_what_the_source_labels_later_is_not_seen(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 2)
    saver.fork_session("talk", ids[1], "fork")
    store.label("talk", ids[0], "late")
    assert names(store, "fork") == {}


def test_what_the_source_takes_off_later_stays(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 2)
    store.label("talk", ids[0], "kept")
    store.label("talk", ids[0], "moved")
    saver.fork_session("talk", ids[1], "fork")
    store.unlabel("talk", "kept")
    store.label("talk", ids[1], "moved", replace=True)
    assert names(store, "fork") == {"kept": ids[0], "moved": ids[0]}
    saver.fork_session("talk", ids[1], "later")
    assert names(store, "later") == {"moved": ids[1]}


def test_a_forks_own_label_comes_first(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 2)
    store.label("talk", ids[0], "best")
    saver.fork_session("talk", ids[1], "fork")
    store.label("fork", ids[1], "best")
    assert (names(store, "fork"), names(store, "talk")) == ({"best": ids[1]}, {"best": ids[0]})
    store.unlabel("fork", "best")
    assert names(store, "fork") == {"best": ids[0]}


def test_an_inherited_label_cannot_be_taken_off(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 2)
    store.label("talk", ids[0], "best")
    saver.fork_session("talk", ids[1], "fork")
    with pytest.raises(fp.LabelNotFoundError, match="inherits"):
        store.unlabel("fork", "best")
    assert names(store, "talk") == {"best": ids[0]}


def test_a_fork_labels_what_it_inherits_for_itself(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 3)
    saver.fork_session("talk", ids[2], "fork")
    store.label("fork", ids[0], "mine")
    assert (names(store, "fork"), names(store, "talk")) == ({"mine": ids[0]}, {})


def test_labels_pass_through_forks_of_forks(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 2)
    store.label("talk", ids[0], "root")
    source, at = "talk", ids[1]
    for number in range(5):
        fork = f"fork {number}"
        saver.fork_session(source, at, fork)
        at = put(saver, fork, at, {"items": [fork]}, version=number + 3)
        store.label(fork, at, f"own {number}")
        source = fork
    assert set(names(store, source)) == {"root", *(f"own {number}" for number in range(5))}


def test_labels_of_the_source_reach_a_fork_at_what_the_source_inherits(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 4)
    store.label("talk", ids[0], "of talk")
    saver.fork_session("talk", ids[3], "fork")
    store.label("fork", ids[1], "of fork")
    store.label("fork", ids[3], "not seen")
    saver.fork_session("fork", ids[2], "deep")
    assert names(store, "deep") == {"of talk": ids[0], "of fork": ids[1]}
    assert all(label.inherited for label in store.labels("deep"))
    store.unlabel("fork", "of fork")
    saver.fork_session("deep", ids[2], "deeper")
    assert names(store, "deeper") == {"of talk": ids[0], "of fork": ids[1]}


def test_labels_outlive_the_session_that_gave_them(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 3)
    store.label("talk", ids[0], "root")
    saver.fork_session("talk", ids[1], "fork")
    saver.delete_thread("talk")
    assert names(store, "fork") == {"root": ids[0]}
    assert store.resolve("fork", "root") == ids[0]


def test_a_pruned_source_leaves_a_fork_its_labels(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 3)
    store.label("talk", ids[0], "root")
    saver.fork_session("talk", ids[1], "fork")
    saver.prune(["talk"])
    assert (names(store, "talk"), names(store, "fork")) == ({}, {"root": ids[0]})
