"""A label is taken wherever a checkpoint id is, and the answer names the id."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Command

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import at, chain, head, ids, place, put, values, write
from tests.traps.conversations import Runs, history, id_of, on, payment


@pytest.fixture
def talk(store: Store) -> list[str]:
    """Ids of a session "talk"; its second checkpoint is called "second"."""
    made = chain(store.saver(), "talk", 4)
    store.label("talk", made[1], "second")
    return made


def test_get_tuple(store: Store, talk: list[str]) -> None:
    found = at(store.saver(), "talk", "second")
    assert found.config == place("talk", talk[1])
    assert found.parent_config == place("talk", talk[0])
    assert found.checkpoint["id"] == talk[1]


def test_get_tuple_of_what_is_no_label(store: Store, talk: list[str]) -> None:
    assert store.saver().get_tuple(place("talk", "third")) is None


def test_a_label_is_of_the_root_namespace_only(store: Store, talk: list[str]) -> None:
    saver = store.saver()
    put(saver, "talk", namespace="sub", parents={"": talk[1]})
    assert saver.get_tuple(place("talk", "second", "sub")) is None


def test_listing_one_checkpoint(store: Store, talk: list[str]) -> None:
    found = store.saver().list(place("talk", "second"))
    assert [item.config for item in found] == [place("talk", talk[1])]


def test_listing_below_a_label(store: Store, talk: list[str]) -> None:
    assert ids(store.saver(), "talk", before=place("talk", "second")) == [talk[0]]


async def test_async_reading(store: Store, talk: list[str]) -> None:
    saver = store.saver()
    found = await saver.aget_tuple(place("talk", "second"))
    assert found is not None
    assert found.config == place("talk", talk[1])
    before = place("talk", "second")
    listed = [item.checkpoint["id"] async for item in saver.alist(place("talk"), before=before)]
    assert listed == [talk[0]]
    entries = await saver.atimeline("talk", before="second")
    assert [entry.checkpoint_id for entry in entries] == [talk[0]]


def test_timeline_below_a_label(store: Store, talk: list[str]) -> None:
    entries = store.saver().timeline("talk", before="second")
    assert [entry.checkpoint_id for entry in entries] == [talk[0]]


def test_has_child(store: Store, talk: list[str]) -> None:
    saver = store.saver()
    store.label("talk", talk[3], "last")
    assert saver.has_child("talk", "second")
    assert not saver.has_child("talk", "last")


def test_put_below_a_label(store: Store, talk: list[str]) -> None:
    saver = store.saver()
    made = put(saver, "talk", "second", {"items": ["other"]}, version=9)
    assert at(saver, "talk", made).parent_config == place("talk", talk[1])
    again = {"items": ["other"]}
    assert put(saver, "talk", "second", again, version=9, checkpoint_id=made) == made


def test_put_below_what_is_no_label(store: Store, talk: list[str]) -> None:
    with pytest.raises(fp.CheckpointNotFoundError, match="'third'"):
        put(store.saver(), "talk", "third", version=9)


@pytest.mark.parametrize("face", ["sync", "async"])
async def test_writes_on_a_label(store: Store, talk: list[str], face: str) -> None:
    saver = store.saver()
    if face == "sync":
        write(saver, "talk", "second", [("answer", 42)])
    else:
        await saver.aput_writes(place("talk", "second"), [("answer", 42)], "a task")
    assert [write[1:] for write in at(saver, "talk", talk[1]).pending_writes or ()] == [
        ("answer", 42)
    ]


def test_a_moved_label_is_followed_at_once(store: Store, talk: list[str]) -> None:
    saver = store.saver()
    put(saver, "talk", "second", {"items": ["one"]}, version=9)
    store.label("talk", talk[3], "second", replace=True)
    made = put(saver, "talk", "second", {"items": ["two"]}, version=10)
    assert at(saver, "talk", made).parent_config == place("talk", talk[3])


def test_fork_on_the_saver(store: Store, talk: list[str]) -> None:
    saver = store.saver()
    outcome = saver.fork_session("talk", "second", "fork", request_id="r1")
    assert outcome.origin.ref == fp.CheckpointRef("talk", talk[1])
    assert head(saver, "fork").checkpoint["id"] == talk[1]
    again = saver.fork_session("talk", "second", "fork", request_id="r1")
    assert (again.created, again.origin.checkpoint_id) == (False, talk[1])


def _travel(store: Store) -> tuple[fp.TimeTravel, list[str]]:
    graph = payment(store.saver(), Runs())
    graph.invoke({"log": ["please"]}, on("talk"))
    graph.invoke(Command(resume="yes"), on("talk"))
    made = [id_of(snapshot) for snapshot in history(graph, "talk")]
    store.label("talk", made[1], "asked")
    return fp.TimeTravel(graph), made


def test_time_travel(store: Store) -> None:
    travel, made = _travel(store)
    asked = fp.CheckpointRef("talk", made[1])
    assert travel.get_state("talk", "asked").config.ref == asked
    older = [each.config.checkpoint_id for each in travel.get_state_history("talk", before="asked")]
    assert older == [made[0]]
    assert [e.checkpoint_id for e in travel.get_timeline("talk", before="asked")] == [made[0]]
    comparison = travel.compare(
        fp.CheckpointRef("talk", "asked"), fp.CheckpointRef("talk", made[2])
    )
    assert (comparison.before, comparison.common_ancestor) == (asked, asked)
    assert travel.forkable("talk", "asked").verdict == "yes"
    assert travel.fork_plan("talk", "asked").source == asked


def test_time_travel_forks_at_a_label(store: Store) -> None:
    travel, made = _travel(store)
    fork = travel.fork("talk", "asked", "fork")
    assert fork.ref == fp.CheckpointRef("fork", made[1])
    assert fork.forked_from.ref == fp.CheckpointRef("talk", made[1])
    assert fork.snapshot.interrupts == () or fork.snapshot.interrupts[0].value == "approve?"
    again = travel.fork("talk", "asked", "repeated", request_id="r1")
    assert travel.fork("talk", "asked", "repeated", request_id="r1").ref == again.ref


def test_time_travel_in_a_fork_goes_by_inherited_labels(store: Store) -> None:
    travel, made = _travel(store)
    travel.fork("talk", made[2], "fork")
    assert travel.get_state("fork", "asked").config.ref == fp.CheckpointRef("fork", made[1])
    history_ids = [
        each.config.checkpoint_id
        for each in travel.get_state_history("fork", before="asked", across_forks=True)
    ]
    assert history_ids == [made[0]]


def test_bulk_update_at_a_label(store: Store) -> None:
    travel, made = _travel(store)
    updated = travel.bulk_update_state("talk", [[fp.Write("receipt", {"log": ["x"]})]], "asked")
    assert updated.metadata.parents == (made[1],)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_graph_goes_on_from_a_label(store: Store, durability: Any) -> None:
    graph = payment(store.saver(), Runs())
    graph.invoke({"log": ["please"]}, on("talk"))
    waiting = id_of(graph.get_state(on("talk")))
    store.label("talk", waiting, "question")
    ended = graph.invoke(Command(resume="no"), on("talk", "question"), durability=durability)
    assert "approve:no" in ended["log"]
    parents = {
        snapshot.parent_config["configurable"]["checkpoint_id"]
        for snapshot in history(graph, "talk")
        if snapshot.parent_config is not None
    }
    assert "question" not in parents


async def test_a_graph_goes_on_from_a_label_on_an_event_loop(store: Store) -> None:
    graph = payment(store.saver(), Runs())
    await graph.ainvoke({"log": ["please"]}, on("talk"))
    waiting = id_of(await graph.aget_state(on("talk")))
    await store.alabel("talk", waiting, "question")
    ended = await graph.ainvoke(Command(resume="no"), on("talk", "question"))
    assert "approve:no" in ended["log"]


def test_a_graph_is_updated_at_a_label(store: Store) -> None:
    graph = payment(store.saver(), Runs())
    graph.invoke({"log": ["please"]}, on("talk"))
    first = id_of(history(graph, "talk")[1])
    store.label("talk", first, "asked")
    config = graph.update_state(on("talk", "asked"), {"log": ["patched"]}, as_node="receipt")
    updated = graph.get_state(config)
    assert updated.parent_config is not None
    assert updated.parent_config["configurable"]["checkpoint_id"] == first
    assert updated.values["log"][-1] == "patched"
    assert values(at(store.saver(), "talk", "asked")) is not None


def test_delta_history_at_a_label(store: Store, talk: list[str]) -> None:
    saver = store.saver()
    write(saver, "talk", talk[0], [("deltas", "first")])
    by_label = saver.get_delta_channel_history(config=place("talk", "second"), channels=["deltas"])
    by_id = saver.get_delta_channel_history(config=place("talk", talk[1]), channels=["deltas"])
    assert by_label == by_id
    assert [entry[2] for entry in by_label["deltas"]["writes"]] == ["first"]
