"""Giving checkpoints names and taking them off."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import chain, put


def names(store: Store, session: str) -> dict[str, str]:
    """Labels of a session: name to checkpoint."""
    return {label.name: label.checkpoint_id for label in store.labels(session)}


def test_a_label_says_what_it_names_and_since_when(store: Store) -> None:
    ids = chain(store.saver(), "talk", 3)
    label = store.label("talk", ids[1], "before refund")
    assert (label.name, label.checkpoint_id, label.inherited) == ("before refund", ids[1], False)
    assert label.created.endswith("+00:00")
    assert store.labels("talk") == (label,)


def test_labels_are_listed_oldest_first(store: Store) -> None:
    ids = chain(store.saver(), "talk", 3)
    for name in ("zebra", "ant", "crow"):
        store.label("talk", ids[0], name)
    assert [label.name for label in store.labels("talk")] == ["zebra", "ant", "crow"]


def test_a_checkpoint_may_have_several_labels(store: Store) -> None:
    ids = chain(store.saver(), "talk", 1)
    store.label("talk", ids[0], "one")
    store.label("talk", ids[0], "two")
    assert names(store, "talk") == {"one": ids[0], "two": ids[0]}


def test_a_taken_label_is_refused(store: Store) -> None:
    ids = chain(store.saver(), "talk", 2)
    store.label("talk", ids[0], "best")
    with pytest.raises(fp.ConflictError, match=f"'best'.*{ids[0]}"):
        store.label("talk", ids[1], "best")
    assert names(store, "talk") == {"best": ids[0]}


def test_a_taken_label_moves_when_it_may_be_replaced(store: Store) -> None:
    ids = chain(store.saver(), "talk", 2)
    store.label("talk", ids[0], "best")
    store.label("talk", ids[1], "best", replace=True)
    assert names(store, "talk") == {"best": ids[1]}


def test_the_same_label_again_changes_nothing(store: Store) -> None:
    ids = chain(store.saver(), "talk", 1)
    first = store.label("talk", ids[0], "best")
    assert store.label("talk", ids[0], "best") == first


def test_the_same_name_in_two_sessions(store: Store) -> None:
    saver = store.saver()
    one, two = chain(saver, "one", 1), chain(saver, "two", 1)
    store.label("one", one[0], "best")
    store.label("two", two[0], "best")
    assert (names(store, "one"), names(store, "two")) == ({"best": one[0]}, {"best": two[0]})


def test_a_label_can_be_given_by_a_label(store: Store) -> None:
    ids = chain(store.saver(), "talk", 1)
    store.label("talk", ids[0], "one")
    assert store.label("talk", "one", "two").checkpoint_id == ids[0]


def test_a_label_that_was_taken_off_is_gone_and_free(store: Store) -> None:
    ids = chain(store.saver(), "talk", 2)
    store.label("talk", ids[0], "best")
    store.unlabel("talk", "best")
    assert store.labels("talk") == ()
    store.label("talk", ids[1], "best")
    assert names(store, "talk") == {"best": ids[1]}


def test_taking_off_what_is_not_there(store: Store) -> None:
    chain(store.saver(), "talk", 1)
    with pytest.raises(fp.LabelNotFoundError, match="'best'"):
        store.unlabel("talk", "best")


@pytest.mark.parametrize(
    "name",
    ["", "turn:3", "a@b", "x" * 201, "ö" * 101, "1ef4f797-8335-6428-8001-8a1503f9b875", "a\0b", 7],
)
def test_a_name_that_cannot_be_one(store: Store, name: str) -> None:
    ids = chain(store.saver(), "talk", 1)
    with pytest.raises(fp.InvalidArgumentError, match="name"):
        store.label("talk", ids[0], name)
    assert store.labels("talk") == ()


@pytest.mark.parametrize("name", ["x" * 200, "vor der Rückgabe", "%s", "'; --", "1ef4", "turn 3"])
def test_a_name_that_can(store: Store, name: str) -> None:
    ids = chain(store.saver(), "talk", 1)
    store.label("talk", ids[0], name)
    assert store.resolve("talk", name) == ids[0]


def test_the_id_of_a_checkpoint_is_no_name_for_another(store: Store) -> None:
    saver = store.saver()
    put(saver, "talk", checkpoint_id="first")
    second = put(saver, "talk", "first", version=2)
    with pytest.raises(fp.InvalidArgumentError, match="'first' is the id"):
        store.label("talk", second, "first")


def test_an_id_comes_before_a_label(store: Store) -> None:
    saver = store.saver()
    first = put(saver, "talk")
    store.label("talk", first, "later")
    put(saver, "talk", first, checkpoint_id="later", version=2)
    assert store.resolve("talk", "later") == "later"


def test_unknown_session_and_unknown_checkpoint(store: Store) -> None:
    chain(store.saver(), "talk", 1)
    for call in (
        lambda: store.label("nobody", "x", "best"),
        lambda: store.unlabel("nobody", "best"),
        lambda: store.labels("nobody"),
        lambda: store.resolve("nobody", "best"),
    ):
        with pytest.raises(fp.SessionNotFoundError, match="'nobody'"):
            call()
    with pytest.raises(fp.CheckpointNotFoundError, match="'x'"):
        store.label("talk", "x", "best")
    with pytest.raises(fp.CheckpointNotFoundError, match="'best'"):
        store.resolve("talk", "best")


def test_a_pruned_checkpoint_has_no_label_any_more(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 3)
    store.label("talk", ids[0], "first")
    store.label("talk", ids[2], "last")
    saver.prune(["talk"])
    assert names(store, "talk") == {"last": ids[2]}
    with pytest.raises(fp.CheckpointNotFoundError):
        store.resolve("talk", "first")


def test_a_copied_session_has_labels_of_its_own(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 2)
    store.label("talk", ids[0], "first")
    saver.copy_thread("talk", "copy")
    store.unlabel("talk", "first")
    assert names(store, "copy") == {"first": ids[0]}
    assert not store.labels("copy")[0].inherited


def test_a_new_session_under_an_old_name_has_no_labels(store: Store) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 1)
    store.label("talk", ids[0], "first")
    saver.delete_thread("talk")
    chain(saver, "talk", 1)
    assert store.labels("talk") == ()


def test_an_imported_session_has_labels_of_its_own(store: Store, tmp_path: Path) -> None:
    saver = store.saver()
    ids = chain(saver, "talk", 3)
    store.label("talk", ids[0], "first")
    saver.fork_session("talk", ids[1], "fork")
    store.label("fork", ids[1], "second")
    store.export("fork", tmp_path / "fork.archive")
    store.import_session(tmp_path / "fork.archive", "imported")
    assert names(store, "imported") == {"first": ids[0], "second": ids[1]}
    store.unlabel("imported", "first")
    assert names(store, "imported") == {"second": ids[1]}


def test_labels_are_seen_by_another_store(url: str) -> None:
    with fp.open(url) as one, fp.open(url) as two:
        ids = chain(one.saver(), "talk", 2)
        assert two.labels("talk") == ()
        one.label("talk", ids[0], "first")
        assert two.resolve("talk", "first") == ids[0]
        two.unlabel("talk", "first")
        assert one.labels("talk") == ()
        chain(one.saver(), "other", 1)


def test_of_many_who_give_one_name_one_has_it(url: str) -> None:
    async def race() -> None:
        with fp.open(url) as one, fp.open(url) as two:
            ids = chain(one.saver(), "talk", 8)
            results = await asyncio.gather(
                *(
                    store.alabel("talk", checkpoint_id, "best")
                    for store, checkpoint_id in zip((one, two) * 4, ids, strict=True)
                ),
                return_exceptions=True,
            )
            given = [label for label in results if isinstance(label, fp.Label)]
            refused = [error for error in results if isinstance(error, fp.ConflictError)]
            assert (len(given), len(refused)) == (1, 7)
            assert names(two, "talk") == {"best": given[0].checkpoint_id}

    asyncio.run(race())


async def test_async_twins(store: Store) -> None:
    ids = chain(store.saver(), "talk", 2)
    label = await store.alabel("talk", ids[0], "first")
    assert await store.alabels("talk") == (label,)
    assert await store.aresolve("talk", "first") == ids[0]
    await store.alabel("talk", ids[1], "first", replace=True)
    await store.aunlabel("talk", "first")
    assert await store.alabels("talk") == ()
