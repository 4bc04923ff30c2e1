"""What every fork keeps to: refuse rather than guess, and leave the source as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.types import Command

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import Saver, at, chain, head, ids, place, put, values, write
from tests.langgraph.graphs import chat, delta
from tests.traps.conftest import MakeFork
from tests.traps.conversations import Runs, head_id, history, id_of, on, payment, two_levels
from tests.traps.database_rows import dump, lost

UNKNOWN = "1ef4f797-8335-6428-8001-8a1503f9b875"


def test_unknown_checkpoint_is_refused(saver: Saver, make_fork: MakeFork) -> None:
    graph = payment(saver, Runs())
    graph.invoke({"log": []}, on("source"))
    with pytest.raises(fp.CheckpointNotFoundError, match=UNKNOWN):
        make_fork(graph, "source", UNKNOWN, "fork")
    assert ids(saver, "fork", None) == []


def test_checkpoint_of_another_session_is_refused(saver: Saver, make_fork: MakeFork) -> None:
    graph = payment(saver, Runs())
    for thread in ("one", "two"):
        graph.invoke({"log": []}, on(thread))
    with pytest.raises(fp.CheckpointNotFoundError):
        make_fork(graph, "one", head_id(graph, "two"), "fork")
    assert ids(saver, "fork", None) == []


def test_checkpoint_that_came_after_the_fork_is_not_the_forks(
    saver: Saver, make_fork: MakeFork
) -> None:
    graph = payment(saver, Runs())
    graph.invoke({"log": []}, on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    graph.invoke(Command(resume="yes"), on("source"))
    later = head_id(graph, "source")
    assert saver.get_tuple(place("fork", later)) is None
    with pytest.raises(fp.CheckpointNotFoundError):
        make_fork(graph, "fork", later, "again")


def test_unknown_session_is_refused(saver: Saver, make_fork: MakeFork) -> None:
    graph = payment(saver, Runs())
    with pytest.raises(fp.NotFoundError, match="nobody"):
        make_fork(graph, "nobody", UNKNOWN, "fork")


def test_occupied_destination_is_refused_and_left_as_it_is(
    saver: Saver, make_fork: MakeFork
) -> None:
    graph = payment(saver, Runs())
    for thread in ("source", "busy"):
        graph.invoke({"log": [thread]}, on(thread))
    before = [snapshot.values for snapshot in history(graph, "busy")]
    with pytest.raises(fp.DestinationNotEmptyError, match="busy"):
        make_fork(graph, "source", head_id(graph, "source"), "busy")
    assert [snapshot.values for snapshot in history(graph, "busy")] == before
    with pytest.raises(fp.DestinationNotEmptyError):
        make_fork(graph, "source", head_id(graph, "source"), "source")


def test_second_fork_into_the_same_destination_is_refused(
    saver: Saver, make_fork: MakeFork
) -> None:
    graph = payment(saver, Runs())
    graph.invoke({"log": []}, on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    with pytest.raises(fp.DestinationNotEmptyError):
        make_fork(graph, "source", head_id(graph, "source"), "fork")


@pytest.mark.parametrize("builder", [payment, two_levels, lambda saver, runs: delta(2)(saver)])
def test_source_is_unchanged_to_the_byte(
    file_saver: Saver, database: Path, make_fork: MakeFork, builder: Any
) -> None:
    graph = builder(file_saver, Runs())
    start: Any = (
        {"log": []}
        if builder in (payment, two_levels)
        else {
            "log": ["in"],
            "other": [],
            "plain": [],
        }
    )
    graph.invoke(start, on("source"))
    if builder in (payment, two_levels):
        graph.invoke(Command(resume="yes"), on("source"))
    graph.invoke(start, on("source"))
    before = dump(database)
    for number, snapshot in enumerate(history(graph, "source")):
        make_fork(graph, "source", id_of(snapshot), f"fork {number}")
    assert lost(before, dump(database)) == {}
    for number in range(len(history(graph, "source"))):
        thread = f"fork {number}"
        graph.invoke(Command(resume="fork"), on(thread))
        graph.invoke(start, on(thread))
        graph.update_state(on(thread), {"log": ["patched"]}, as_node=next(iter(graph.nodes)))
        graph.update_state(history(graph, thread)[0].config, None)
    assert lost(before, dump(database)) == {}, "after the forks ran on"


def test_nothing_a_fork_writes_on_inherited_checkpoints_shows_in_the_source(
    saver: Saver,
) -> None:
    first, second = chain(saver, "source", 2)
    saver.fork_session("source", second, "fork")  # type: ignore[attr-defined]
    write(saver, "fork", first, [("late", 1)])
    write(saver, "fork", second, [("late", 2)])
    assert at(saver, "source", first).pending_writes == []
    assert at(saver, "source", second).pending_writes == []
    assert [found[2] for found in at(saver, "fork", first).pending_writes or []] == [1]
    branch = put(saver, "fork", first, {"items": ["branch"]}, version=9)
    assert saver.get_tuple(place("source", branch)) is None
    assert ids(saver, "fork") == [branch, second, first]
    assert head(saver, "source").checkpoint["id"] == second


def test_nothing_the_source_writes_later_shows_in_a_fork(saver: Saver) -> None:
    first, second = chain(saver, "source", 2)
    saver.fork_session("source", second, "fork")  # type: ignore[attr-defined]
    write(saver, "source", first, [("late", 1)])
    write(saver, "source", second, [("late", 2)])
    branch = put(saver, "source", first, {"items": ["branch"]}, version=9)
    assert at(saver, "fork", first).pending_writes == []
    assert at(saver, "fork", second).pending_writes == []
    assert ids(saver, "fork") == [second, first]
    assert saver.get_tuple(place("fork", branch)) is None


def test_fork_of_a_fork_of_a_fork_reads_and_goes_on(saver: Saver, make_fork: MakeFork) -> None:
    graph = chat(saver)
    graph.invoke({"messages": [HumanMessage("zero", id="h0")]}, on("s0"))
    for number in range(1, 6):
        before, here = f"s{number - 1}", f"s{number}"
        make_fork(graph, before, head_id(graph, before), here)
        graph.invoke({"messages": [HumanMessage(here, id=f"h{number}")]}, on(here))
        graph.invoke({"messages": [HumanMessage("aside", id="aside")]}, on(before))
    texts = [message.content for message in graph.get_state(on("s5")).values["messages"]]
    assert texts[::2] == ["zero", "s1", "s2", "s3", "s4", "s5"]
    assert "aside" not in texts
    origin = saver.origin("s5")  # type: ignore[attr-defined]
    assert origin is not None
    assert origin.session_id == "s4"
    for snapshot in history(graph, "s5"):
        assert snapshot.config["configurable"]["thread_id"] == "s5"
        if snapshot.parent_config:
            assert snapshot.parent_config["configurable"]["thread_id"] == "s5"


def test_regenerate_inside_a_fork(saver: Saver, make_fork: MakeFork) -> None:
    """Step back, in the fork, to before its last input, and ask something else there."""
    graph = chat(saver)
    for number in range(3):
        graph.invoke({"messages": [HumanMessage(f"q{number}", id=f"h{number}")]}, on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    inputs = [
        snapshot
        for snapshot in history(graph, "fork")
        if (snapshot.metadata or {})["source"] == "input"
    ]
    before_input = graph.get_state(inputs[-1].parent_config)
    assert [m.content for m in before_input.values["messages"]] == [
        "q0",
        "answer 1!",
        "q1",
        "answer 3!",
    ]
    result = graph.invoke({"messages": [HumanMessage("instead", id="h9")]}, before_input.config)
    assert [m.content for m in result["messages"]][-2:] == ["instead", "answer 5!"]
    assert [m.content for m in graph.get_state(on("source")).values["messages"]][-2] == "q2"


def test_run_id_is_not_carried_and_stays_readable(saver: Saver, make_fork: MakeFork) -> None:
    graph = chat(saver)
    config: Any = {**on("source"), "metadata": {"run_id": "run-1", "user": "u"}}
    graph.invoke({"messages": [HumanMessage("one", id="h0")]}, config)
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    found = head(saver, "fork")
    assert "run_id" not in found.metadata
    assert found.metadata["user"] == "u"  # type: ignore[typeddict-item]
    assert saver.origin("fork").run_id == "run-1"  # type: ignore[attr-defined]
    again: Any = {**on("fork"), "metadata": {"run_id": "run-1"}}
    result = graph.invoke({"messages": [HumanMessage("two", id="h1")]}, again)
    assert [message.content for message in result["messages"]][2] == "two"


def test_lineage_stays_when_the_source_has_gone(saver: Saver, make_fork: MakeFork) -> None:
    graph = chat(saver)
    graph.invoke({"messages": [HumanMessage("one", id="h0")]}, on("source"))
    point = head_id(graph, "source")
    make_fork(graph, "source", point, "fork", by="me", reason="to try")
    saver.delete_thread("source")
    origin = saver.origin("fork")  # type: ignore[attr-defined]
    assert (origin.session_id, origin.checkpoint_id) == ("source", point)
    assert (origin.by, origin.reason) == ("me", "to try")
    with pytest.raises(fp.SessionNotFoundError):
        saver.origin("source")  # type: ignore[attr-defined]


def test_request_id_makes_a_fork_once(store: Store) -> None:
    saver = store.saver()
    first, second = chain(saver, "source", 2)
    made = saver.fork_session("source", second, "fork", request_id="r1")
    again = saver.fork_session("source", second, "fork", request_id="r1")
    assert (made.created, again.created) == (True, False)
    assert again.origin == made.origin
    with pytest.raises(fp.ConflictError):
        saver.fork_session("source", first, "fork", request_id="r1")
    put(saver, "fork", second, {"items": ["own"]}, version=3)
    assert saver.fork_session("source", second, "fork", request_id="r1").created is False
    assert [summary.session_id for summary in store.forks_of("source")] == ["fork"]


def test_fork_costs_a_few_rows_whatever_the_length(file_saver: Saver, database: Path) -> None:
    added = []
    for length in (3, 300):
        thread = f"of {length}"
        point = chain(file_saver, thread, length)[-1]
        before = dump(database)
        file_saver.fork_session(thread, point, f"fork of {thread}")  # type: ignore[attr-defined]
        after = dump(database)
        added.append(sum(len(after[table] - before[table]) for table in after))
        assert values(head(file_saver, f"fork of {thread}")) == values(head(file_saver, thread))
    assert added[0] == added[1] <= 4


@pytest.mark.parametrize("depth", range(5))
def test_fork_of_an_untouched_fork_is_a_live_head_at_every_depth(saver: Any, depth: int) -> None:
    """What numbers rows within a session must not be taken for a child of its first row."""
    point = chain(saver, "s0", depth + 1)[-1]
    write(saver, "s0", point, [("result", "done")])
    for number in range(3):
        outcome = saver.fork_session(f"s{number}", point, f"s{number + 1}")
        assert not outcome.superseded
        found = head(saver, f"s{number + 1}").pending_writes or []
        assert [item[2] for item in found] == ["done"]


@pytest.mark.parametrize("remove", ["prune", "delete_for_runs"])
def test_what_was_removed_before_a_fork_is_not_seen_by_it(saver: Any, remove: str) -> None:
    made = chain(saver, "source", 3, run_id="old")
    last = put(saver, "source", made[-1], {"items": ["last"]}, version=9, run_id="new")
    saver.prune(["source"]) if remove == "prune" else saver.delete_for_runs(["old"])
    saver.fork_session("source", last, "fork")
    assert ids(saver, "fork") == ids(saver, "source") == [last]
    for checkpoint_id in made:
        assert saver.get_tuple(place("fork", checkpoint_id)) is None
