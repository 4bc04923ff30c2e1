"""A detached fork stands on its own, and nobody sees a difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import forkpoint as fp
from tests.checkpoints import at, chain, head, place, put, values, write
from tests.checkpoints import ids as listed
from tests.langgraph.scenarios import SCENARIOS, Scenario
from tests.moving.seeing import THREAD, everything, ids, play_in, timeline

EVERY_SCENARIO = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda item: item.name)


@EVERY_SCENARIO
def test_a_detached_fork_shows_what_it_showed(scenario: Scenario, store: fp.Store) -> None:
    play_in(store, scenario)
    for number, point in enumerate(ids(store.saver())[::3]):
        name = f"fork {number}"
        store.saver().fork_session(THREAD, point, name)
        before = everything(store, scenario, name), timeline(store, name)
        assert store.detach(name).detached
        assert (everything(store, scenario, name), timeline(store, name)) == before


@EVERY_SCENARIO
def test_its_source_can_be_deleted(scenario: Scenario, store: fp.Store) -> None:
    play_in(store, scenario)
    names: list[str] = []
    for number, point in enumerate(ids(store.saver())[::4]):
        names.append(f"fork {number}")
        store.saver().fork_session(THREAD, point, names[-1])
    before = {name: everything(store, scenario, name) for name in names}
    for name in names:
        store.detach(name)
    store.delete(THREAD)
    store.collect()
    assert {name: everything(store, scenario, name) for name in names} == before


@EVERY_SCENARIO
def test_forks_that_were_taken_before_go_on(scenario: Scenario, store: fp.Store) -> None:
    play_in(store, scenario)
    saver = store.saver()
    below = ids(saver)[len(ids(saver)) // 2]
    saver.fork_session(THREAD, below, "fork")
    names = []
    for number, point in enumerate(ids(saver, "fork")[::2]):
        names.append(f"fork of fork {number}")
        saver.fork_session("fork", point, names[-1])
    before = {name: everything(store, scenario, name) for name in names}
    store.detach("fork")
    assert {name: everything(store, scenario, name) for name in names} == before
    store.delete(THREAD)
    store.collect()
    assert {name: everything(store, scenario, name) for name in names} == before
    store.delete("fork")
    store.collect()
    assert {name: everything(store, scenario, name) for name in names} == before


def nested_talk(saver: Any) -> str:
    """A conversation whose head has a checkpoint of a subgraph; the head's id."""
    ids = chain(saver, "talk", 3)
    put(saver, "talk", None, {"inner": 1}, namespace="sub", parents={"": ids[-1]})
    return ids[-1]


def inner_of(saver: Any, thread: str) -> dict[str, Any] | None:
    found = saver.get_tuple(place(thread, namespace="sub"))
    return None if found is None else values(found)


def test_a_fork_keeps_a_row_that_its_source_adopted_later(store: fp.Store) -> None:
    saver = store.saver()
    point = nested_talk(saver)
    saver.fork_session("talk", point, "fork")
    saver.fork_session("fork", point, "before")
    inner = head(saver, "fork", "sub").checkpoint["id"]
    write(saver, "fork", inner, [("channel", "later")], namespace="sub")
    saver.fork_session("fork", point, "after")
    seen = {name: everything(store, None, name) for name in ("fork", "before", "after")}
    store.detach("fork")
    assert {name: everything(store, None, name) for name in seen} == seen
    assert head(saver, "before", "sub").pending_writes == []
    assert [write[2] for write in head(saver, "after", "sub").pending_writes or ()] == ["later"]


def test_a_fork_that_goes_on_in_a_subgraph_after_its_source_is_detached(store: fp.Store) -> None:
    saver = store.saver()
    point = nested_talk(saver)
    saver.fork_session("talk", point, "fork")
    saver.fork_session("fork", point, "before")
    store.detach("fork")
    store.delete("talk")
    store.collect()
    inner = head(saver, "before", "sub").checkpoint["id"]
    put(saver, "before", inner, {"inner": 2}, namespace="sub", parents={"": point})
    assert inner_of(saver, "before") == {"inner": 2}
    assert inner_of(saver, "fork") == {"inner": 1}


def test_a_pruned_fork_stays_pruned(store: fp.Store) -> None:
    saver = store.saver()
    made = chain(saver, "talk", 6)
    saver.fork_session("talk", made[3], "fork")
    saver.fork_session("fork", made[3], "before")
    saver.prune(["fork"])
    saver.fork_session("fork", made[3], "after")
    store.detach("fork")
    assert listed(saver, "fork") == [made[3]]
    assert listed(saver, "before") == made[3::-1]
    assert listed(saver, "after") == [made[3]]


def test_what_it_wrote_on_inherited_checkpoints_stays_there(store: fp.Store) -> None:
    saver = store.saver()
    made = chain(saver, "talk", 4)
    write(saver, "talk", made[1], [("channel", "source")])
    saver.fork_session("talk", made[3], "fork")
    write(saver, "fork", made[1], [("channel", "fork")], task="task of the fork")
    write(saver, "talk", made[1], [("channel", "later")], task="later task")
    before = everything(store, None, "fork")
    store.detach("fork")
    assert everything(store, None, "fork") == before
    written = at(saver, "fork", made[1]).pending_writes or []
    assert [write[2] for write in written] == ["source", "fork"]


def test_it_can_be_forked_at_what_it_inherited(store: fp.Store) -> None:
    saver = store.saver()
    made = chain(saver, "talk", 5)
    saver.fork_session("talk", made[3], "fork")
    store.detach("fork")
    outcome = saver.fork_session("fork", made[1], "again")
    assert outcome.superseded
    assert listed(saver, "again") == made[1::-1]
    store.delete("talk")
    store.delete("fork")
    store.collect()
    assert listed(saver, "again") == made[1::-1]
    assert store.detach("again").checkpoints == 1
    assert listed(saver, "again") == made[1::-1]


def test_it_goes_on(store: fp.Store) -> None:
    saver = store.saver()
    made = chain(saver, "talk", 4)
    saver.fork_session("talk", made[3], "fork")
    store.detach("fork")
    new = put(saver, "fork", made[3], {"items": ["new"]}, version=9)
    branch = put(saver, "fork", made[1], {"items": ["branch"]}, version=10)
    assert listed(saver, "fork") == [branch, new, *made[::-1]]
    assert saver.has_child("fork", made[1])


def test_it_still_knows_where_it_came_from(store: fp.Store) -> None:
    saver = store.saver()
    made = chain(saver, "talk", 4)
    saver.fork_session("talk", made[2], "fork", by="me", reason="another way")
    before = store.session("fork")
    store.detach("fork")
    assert store.session("fork").forked_from == before.forked_from
    assert store.session("fork").depth == 1
    assert [fork.session_id for fork in store.forks_of("talk")] == ["fork"]
    assert [entry.source for entry in saver.timeline("fork")][:2] == ["fork", "loop"]


def test_only_a_fork_is_detached_and_only_once(store: fp.Store) -> None:
    saver = store.saver()
    made = chain(saver, "talk", 3)
    saver.fork_session("talk", made[-1], "fork")
    assert not store.detach("talk").detached
    assert store.detach("fork") == fp.DetachReport("fork", True, checkpoints=2, writes=0)
    assert store.detach("fork") == fp.DetachReport("fork", False, checkpoints=0, writes=0)


def test_nobody_is_there_to_detach(store: fp.Store) -> None:
    with pytest.raises(fp.SessionNotFoundError, match="nobody"):
        store.detach("nobody")


def test_another_process_sees_a_detached_fork_as_it_is(url: str) -> None:
    with fp.open(url) as one, fp.open(url) as other:
        made = chain(one.saver(), "talk", 5)
        one.saver().fork_session("talk", made[3], "fork")
        one.saver().fork_session("fork", made[3], "above")
        before = {name: everything(other, None, name) for name in ("fork", "above")}
        one.detach("fork")
        one.delete("talk")
        one.collect()
        assert {name: everything(other, None, name) for name in before} == before
        put(other.saver(), "fork", made[2], {"items": ["branch"]}, version=9)
        assert len(listed(one.saver(), "fork")) == 5


def test_its_labels_stay(store: fp.Store) -> None:
    saver = store.saver()
    made = chain(saver, "talk", 5)
    store.label("talk", made[0], "start")
    store.label("talk", made[1], "good")
    saver.fork_session("talk", made[3], "fork")
    saver.fork_session("fork", made[3], "before")
    store.label("fork", made[2], "good")
    store.label("talk", made[2], "late")
    seen = {
        name: {label.name: label.checkpoint_id for label in store.labels(name)}
        for name in ("fork", "before")
    }
    assert seen == {
        "fork": {"start": made[0], "good": made[2]},
        "before": {"start": made[0], "good": made[1]},
    }
    store.detach("fork")
    for name, labels in seen.items():
        assert {label.name: label.checkpoint_id for label in store.labels(name)} == labels


async def test_without_blocking_the_event_loop(file_store: fp.Store) -> None:
    saver = file_store.saver()
    saver.fork_session("talk", chain(saver, "talk", 3)[-1], "fork")
    assert (await file_store.adetach("fork")).detached


@pytest.mark.parametrize("collected", [False, True])
def test_what_its_source_had_stopped_to_show_stays_out_of_view(
    store: fp.Store, tmp_path: Path, collected: bool
) -> None:
    saver = store.saver()
    made = chain(saver, "talk", 3)
    saver.fork_session("talk", made[2], "pruned")
    saver.prune(["pruned"])
    saver.fork_session("pruned", made[2], "fork")
    if collected:
        store.collect()
    assert listed(saver, "fork") == [made[2]]
    store.export("fork", tmp_path / "fork.forkpoint")
    store.import_session(tmp_path / "fork.forkpoint", "imported")
    store.detach("fork")
    assert listed(saver, "fork") == listed(saver, "imported") == [made[2]]
    assert store.examine().sound
