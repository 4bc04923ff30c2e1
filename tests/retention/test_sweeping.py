"""Garbage collection of values: everything that is referred to stays, nothing else does, whatever
other processes remember."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import forkpoint as fp
from tests.checkpoints import at, chain, head, ids, place, put, values, write
from tests.retention.reachability import read_tables, walk

LONG = "a text that is worth sharing between checkpoints " * 4


@pytest.fixture
def two(url: str) -> Iterator[tuple[fp.Store, fp.Store]]:
    """Two stores on one database, as two processes have it: each remembers what it has seen."""
    with fp.open(url) as one, fp.open(url) as other:
        yield one, other


def check(url: str) -> None:
    """Nothing is missing and nothing is left over."""
    found = walk(url)
    assert (found.missing, found.waste) == ([], [])


def drop(store: fp.Store, run: str) -> None:
    """Take away what a run made, with its values."""
    store.saver().delete_for_runs([run])
    store.collect()


def test_a_value_that_comes_again_is_stored_again(two: Any, url: str) -> None:
    one, other = two
    text = f"the very same {LONG}"
    first = put(one.saver(), "t", None, {"x": "y"})
    put(one.saver(), "t", first, {"x": text}, version=2, run_id="gone")
    drop(other, "gone")
    check(url)
    # The first store placed this text, and must not think that it is there.
    put(one.saver(), "t", first, {"x": text}, version=3)
    assert values(head(other.saver(), "t")) == {"x": text}
    check(url)


def test_number_blocks_are_not_used_on(two: Any, url: str) -> None:
    one, other = two
    made = chain(one.saver(), "t", 3)
    for round_ in range(4):
        texts = {f"c{number}": f"{round_} {number} {LONG}" for number in range(5)}
        put(one.saver(), "t", made[2], texts, version=10 + round_, run_id="gone")
        drop(other, "gone")
        check(url)
        put(one.saver(), "t", made[2], texts, version=20 + round_)
        assert values(head(other.saver(), "t")) == texts


def test_a_list_grows_on_after_its_end_was_cut_off(two: Any, url: str) -> None:
    one, other = two
    items = [f"item {number} {LONG}" for number in range(6)]
    short = put(one.saver(), "t", None, {"items": items[:3]})
    put(one.saver(), "t", short, {"items": items}, version=2, run_id="gone")
    assert values(head(other.saver(), "t")) == {"items": items}
    drop(other, "gone")
    check(url)
    # Either store remembers the list as it was.
    put(one.saver(), "t", short, {"items": [*items[:3], "other", "end"]}, version=3)
    for store in (one, other):
        assert values(head(store.saver(), "t")) == {"items": [*items[:3], "other", "end"]}
    check(url)


def test_a_shared_reader_does_not_keep_the_old_end_of_a_list(url: str) -> None:
    with fp.open(url) as store:
        from langchain_core.messages import AIMessage

        saver = store.saver(share_values=True)
        messages = [AIMessage(f"message {number} {LONG}", id=f"m{number}") for number in range(5)]
        short = put(saver, "t", None, {"messages": messages[:2]})
        put(saver, "t", short, {"messages": messages}, version=2, run_id="gone")
        assert values(head(saver, "t")) == {"messages": messages}
        drop(store, "gone")
        other = [*messages[:2], AIMessage(f"another way {LONG}", id="o")]
        put(saver, "t", short, {"messages": other}, version=3)
        assert values(head(saver, "t")) == {"messages": other}


def test_lists_on_lists_keep_what_they_stand_on(url: str) -> None:
    with fp.open(url) as store:
        saver = store.saver()
        items = [f"item {number} {LONG}" for number in range(8)]
        made = [put(saver, "t", None, {"items": items[:4]}, run_id="gone")]
        for number in range(4):
            edited = [*items[: 4 - number], f"edit {number} {LONG}", *items[6:]]
            made.append(put(saver, "t", made[-1], {"items": edited}, version=2 + number))
        before = [values(at(saver, "t", one)) for one in made[1:]]
        drop(store, "gone")
        assert [values(at(saver, "t", one)) for one in made[1:]] == before
        check(url)


def test_values_in_mappings_and_written_out_lists_are_followed(url: str) -> None:
    with fp.open(url) as store:
        saver = store.saver()
        held = {"document": LONG, "parts": [f"part {number} {LONG}" for number in range(4)]}
        first = put(saver, "t", None, {"input": held}, run_id="gone")
        put(saver, "t", first, {"parts": held["parts"], "x": LONG}, version=2)
        write(saver, "t", head(saver, "t").checkpoint["id"], [("w", held), ("v", [LONG, LONG])])
        drop(store, "gone")
        found = head(saver, "t")
        assert values(found) == {"parts": held["parts"], "x": LONG}
        assert [item[2] for item in found.pending_writes or []] == [held, [LONG, LONG]]
        check(url)


def test_writes_that_wait_for_their_checkpoint_are_roots(url: str) -> None:
    with fp.open(url) as store:
        saver = store.saver()
        made = chain(saver, "t", 2)
        put(saver, "t", made[1], {"x": LONG}, version=9, run_id="gone")
        late = "1f0d5b2c-0000-6000-8000-000000000001"
        write(saver, "t", late, [("x", f"early {LONG}")])
        drop(store, "gone")
        check(url)
        put(saver, "t", made[1], {"y": 1}, checkpoint_id=late, version=3)
        assert [item[2] for item in head(saver, "t").pending_writes or []] == [f"early {LONG}"]


def test_metadata_goes_with_the_last_checkpoint_that_has_it(two: Any, url: str) -> None:
    one, other = two
    made = chain(one.saver(), "t", 2)
    put(one.saver(), "t", made[1], {"x": 1}, version=5, run_id="gone", user="somebody")
    assert len(list(other.saver().list(place("t"), filter={"user": "somebody"}))) == 1
    before = len(read_tables(url)["metadata"])
    drop(other, "gone")
    assert len(read_tables(url)["metadata"]) == before - 1
    check(url)
    # Both remember its number.
    for number, store in enumerate(two):
        put(
            store.saver(),
            "t",
            made[1],
            {"x": 2},
            version=6 + number,
            run_id="gone",
            user="somebody",
        )
        found = list(two[1 - number].saver().list(place("t"), filter={"user": "somebody"}))
        assert len(found) == number + 1
        check(url)


def test_metadata_of_a_deleted_session_goes(url: str) -> None:
    with fp.open(url) as store:
        saver = store.saver()
        chain(saver, "stays", 2, user="shared")
        chain(saver, "goes", 2, user="shared")
        chain(saver, "goes", 0)
        put(saver, "goes", ids(saver, "goes")[0], {"x": 1}, version=9, user="only here")
        saver.delete_thread("goes")
        store.collect()
        check(url)
        assert len(list(saver.list(None, filter={"user": "shared"}))) == 2


def test_a_family_that_is_not_dirty_costs_nothing(url: str) -> None:
    with fp.open(url) as store:
        chain(store.saver(), "t", 5)
        before = read_tables(url)
        report = store.collect()
        assert (report.sessions, report.families) == ((), ())
        assert read_tables(url) == before


def test_many_values_go_in_several_transactions(url: str) -> None:
    with fp.open(url) as store:
        saver = store.saver()
        first = put(saver, "t", None, {"x": 1})
        for number in range(3):
            items = [f"{number} {index} {LONG}" for index in range(900)]
            put(saver, "t", first, {"items": items}, version=2 + number, run_id="gone")
        saver.delete_for_runs(["gone"])
        report = store.collect()
        assert report.values == 2700
        check(url)
        assert values(head(saver, "t")) == {"x": 1}
