"""Deleting and pruning, with forks alive and writers at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command

import forkpoint as fp
from tests.checkpoints import TASK, Saver, at, chain, head, ids, place, put, values, write
from tests.langgraph.graphs import delta
from tests.traps.conversations import (
    Log,
    Runs,
    head_id,
    history,
    id_of,
    on,
    open_questions,
    two_levels,
)
from tests.traps.database_rows import dump


def talk(graph: Any, thread: str, word: str) -> Any:
    """One turn of a delta graph."""
    return graph.invoke({"log": [word], "other": [], "plain": []}, on(thread))


def test_delete_while_a_writer_is_at_work(saver: Saver) -> None:
    first = put(saver, "t", None, {"x": 1})
    saver.delete_thread("t")
    with pytest.raises(fp.SessionDeletedError):
        put(saver, "t", first, {"x": 2}, version=2)
    with pytest.raises(fp.SessionDeletedError):
        write(saver, "t", first, [("a", 1)])
    with pytest.raises(fp.SessionDeletedError):
        put(saver, "t", None, {"x": 2}, namespace="sub:1")
    assert saver.get_tuple(place("t")) is None
    assert ids(saver, "t", None) == []


def test_deleted_thread_starts_afresh_with_a_root_checkpoint(saver: Saver) -> None:
    old = put(saver, "t", None, {"x": 1})
    write(saver, "t", old, [("a", 1)])
    saver.delete_thread("t")
    new = put(saver, "t", None, {"x": 2})
    assert ids(saver, "t", None) == [new]
    assert head(saver, "t").pending_writes == []
    with pytest.raises(fp.SessionDeletedError):
        put(saver, "t", old, {"x": 3}, version=2)
    put(saver, "t", new, {"x": 4}, version=2)
    assert values(head(saver, "t")) == {"x": 4}


def test_a_graph_deleted_in_the_middle_does_not_come_back(saver: Saver) -> None:
    def deleting(state: Log) -> dict[str, Any]:
        saver.delete_thread("t")
        return {"log": ["done"]}

    builder = StateGraph(Log)
    builder.add_node("first", deleting)
    builder.add_node("second", lambda state: {"log": ["second"]})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    graph = builder.compile(checkpointer=saver)
    with pytest.raises(fp.SessionDeletedError):
        graph.invoke({"log": []}, on("t"), durability="sync")
    assert ids(saver, "t", None) == []


def test_tombstone_survives_a_reopen(database: Path) -> None:
    with fp.open(str(database)) as store:
        first = put(store.saver(), "t", None, {"x": 1})
        store.saver().delete_thread("t")
    with fp.open(str(database)) as store, pytest.raises(fp.SessionDeletedError):
        put(store.saver(), "t", first, {"x": 2}, version=2)


def test_delete_source_with_forks_alive(saver: Saver) -> None:
    runs = Runs()
    graph = two_levels(saver, runs)
    graph.invoke({"log": []}, on("source"))
    point = head_id(graph, "source")
    saver.fork_session("source", point, "fork")  # type: ignore[attr-defined]
    saver.fork_session("fork", point, "fork of fork")  # type: ignore[attr-defined]
    before = [snapshot.values for snapshot in history(graph, "fork")]
    saver.delete_thread("source")
    assert ids(saver, "source", None) == []
    assert [snapshot.values for snapshot in history(graph, "fork")] == before
    saver.delete_thread("fork")
    assert [snapshot.values for snapshot in history(graph, "fork of fork")] == before
    assert open_questions(graph, "fork of fork") == ["inner_ask?"]
    result = graph.invoke(Command(resume="still"), on("fork of fork"))
    assert "inner_ask:still" in result["log"]
    assert runs["inner_before"] == 1
    with pytest.raises(fp.SessionNotFoundError):
        saver.fork_session("source", point, "late")  # type: ignore[attr-defined]


def test_delete_the_fork_leaves_the_source(saver: Saver) -> None:
    made = chain(saver, "source", 5)
    saver.fork_session("source", made[2], "fork")  # type: ignore[attr-defined]
    put(saver, "fork", made[2], {"items": ["own"]}, version=9)
    saver.delete_thread("fork")
    assert ids(saver, "source") == list(reversed(made))
    assert ids(saver, "fork", None) == []
    with pytest.raises(fp.SessionDeletedError):
        write(saver, "fork", made[2], [("late", 1)])
    saver.fork_session("source", made[2], "another")  # type: ignore[attr-defined]
    assert ids(saver, "another") == list(reversed(made[:3]))


def test_deleting_every_session_gives_the_room_back(file_saver: Saver, database: Path) -> None:
    for round_ in range(3):
        big = {"items": [f"{round_} {number} " + "x" * 2000 for number in range(100)]}
        first = put(file_saver, "t", None, big)
        file_saver.fork_session("t", first, "fork")  # type: ignore[attr-defined]
        file_saver.delete_thread("t")
        assert values(head(file_saver, "fork")) == big
        file_saver.delete_thread("fork")
    rows = dump(database)
    for table in ("checkpoint", "pending", "blob", "list_item"):
        assert rows.get(table, set()) == set(), table


def test_prune_source_with_forks_alive(saver: Saver) -> None:
    made = chain(saver, "source", 6)
    write(saver, "source", made[1], [("w", 1)])
    saver.fork_session("source", made[3], "fork")  # type: ignore[attr-defined]
    own = put(saver, "fork", made[3], {"items": ["own"]}, version=9)
    saver.prune(["source"])
    assert ids(saver, "source") == [made[5]]
    assert saver.get_tuple(place("source", made[1])) is None
    assert ids(saver, "fork") == [own, *reversed(made[:4])]
    assert values(at(saver, "fork", made[1])) == {"items": ["item 0", "item 1"]}
    assert [item[2] for item in at(saver, "fork", made[1]).pending_writes or []] == [1]
    put(saver, "source", made[5], {"items": ["on"]}, version=10)
    assert values(head(saver, "source")) == {"items": ["on"]}


def test_prune_a_fork_that_has_no_checkpoint_of_its_own(saver: Saver) -> None:
    made = chain(saver, "source", 4)
    saver.fork_session("source", made[2], "fork")  # type: ignore[attr-defined]
    saver.prune(["fork"])
    assert ids(saver, "fork") == [made[2]]
    assert ids(saver, "source") == list(reversed(made))
    assert values(head(saver, "fork")) == {"items": ["item 0", "item 1", "item 2"]}
    put(saver, "fork", made[2], {"items": ["own"]}, version=9)
    saver.prune(["fork"])
    assert values(head(saver, "fork")) == {"items": ["own"]}
    assert len(ids(saver, "fork")) == 1


def test_prune_keeps_an_open_question(saver: Saver) -> None:
    graph = two_levels(saver, Runs())
    graph.invoke({"log": []}, on("t"))
    saver.prune(["t"])
    assert open_questions(graph, "t") == ["inner_ask?"]
    assert "inner_ask:yes" in graph.invoke(Command(resume="yes"), on("t"))["log"]


@pytest.mark.parametrize("frequency", [1, 2, 3, 1000])
def test_prune_keeps_delta_channels_readable(saver: Saver, frequency: int) -> None:
    graph = delta(frequency)(saver)
    for number in range(4):
        talk(graph, "t", f"turn {number}")
    middle = history(graph, "t")[5]
    saver.fork_session("t", id_of(middle), "fork", pending="drop")  # type: ignore[attr-defined]
    whole = graph.get_state(on("t")).values
    saver.prune(["t"])
    assert len(ids(saver, "t")) == 1
    assert graph.get_state(on("t")).values == whole
    assert graph.get_state(on("fork")).values == middle.values
    assert talk(graph, "t", "more")["log"][: len(whole["log"])] == whole["log"]
    more = graph.get_state(on("t")).values
    saver.prune(["t", "fork"])
    assert graph.get_state(on("t")).values == more
    assert graph.get_state(on("fork")).values == middle.values
    saver.delete_thread("t")
    assert graph.get_state(on("fork")).values == middle.values


def test_prune_delete_removes_a_thread(saver: Saver) -> None:
    made = chain(saver, "source", 3)
    saver.fork_session("source", made[1], "fork")  # type: ignore[attr-defined]
    saver.prune(["source", "never was"], strategy="delete")
    assert ids(saver, "source", None) == []
    assert ids(saver, "fork") == [made[1], made[0]]


def test_delete_for_runs_with_forks(saver: Saver) -> None:
    one = chain(saver, "source", 2, run_id="run-1")
    two = put(saver, "source", one[1], {"items": ["two"]}, version=7, run_id="run-2")
    saver.fork_session("source", two, "fork")  # type: ignore[attr-defined]
    own = put(saver, "fork", two, {"items": ["own"]}, version=8, run_id="run-1")
    other = put(saver, "other", None, {"x": 1}, run_id="run-1")
    saver.delete_for_runs(["run-1", "no such run"])
    assert ids(saver, "source") == [two]
    assert saver.get_tuple(place("other", other)) is None
    assert own not in ids(saver, "fork")
    assert values(head(saver, "fork")) == {"items": ["two"]}
    assert values(head(saver, "source")) == {"items": ["two"]}


def test_delete_for_runs_takes_the_writes_along_and_moves_the_head_back(saver: Saver) -> None:
    first = put(saver, "t", None, {"x": 1}, run_id="keep")
    second = put(saver, "t", first, {"x": 2}, version=2, run_id="drop")
    write(saver, "t", second, [("w", 1)], TASK)
    saver.delete_for_runs(["drop"])
    assert head(saver, "t").checkpoint["id"] == first
    assert saver.get_tuple(place("t", second)) is None
    third = put(saver, "t", first, {"x": 3}, version=3, run_id="keep")
    assert head(saver, "t").checkpoint["id"] == third


@pytest.mark.parametrize("frequency", [2, 1000])
def test_delete_for_runs_keeps_delta_channels_readable(saver: Saver, frequency: int) -> None:
    graph = delta(frequency)(saver)
    for number in range(3):
        config: Any = {**on("t"), "metadata": {"run_id": f"run-{number}"}}
        graph.invoke({"log": [f"turn {number}"], "other": [], "plain": []}, config)
    whole = graph.get_state(on("t")).values
    saver.delete_for_runs(["run-0", "run-1"])
    assert graph.get_state(on("t")).values == whole


def test_copy_thread_is_whole_and_apart(saver: Saver) -> None:
    runs = Runs()
    graph = two_levels(saver, runs)
    graph.invoke({"log": []}, on("source"))
    saver.copy_thread("source", "copy")
    assert open_questions(graph, "copy") == ["inner_ask?"]
    assert "inner_ask:copy" in graph.invoke(Command(resume="copy"), on("copy"))["log"]
    assert open_questions(graph, "source") == ["inner_ask?"]
    with pytest.raises(fp.DestinationNotEmptyError):
        saver.copy_thread("source", "copy")
    saver.delete_thread("source")
    assert "inner_ask:copy" in graph.get_state(on("copy")).values["log"]


def test_copy_of_a_fork_holds_what_the_fork_inherits(saver: Saver) -> None:
    made = chain(saver, "source", 4)
    saver.fork_session("source", made[2], "fork")  # type: ignore[attr-defined]
    own = put(saver, "fork", made[2], {"items": ["own"]}, version=9)
    saver.copy_thread("fork", "copy")
    assert ids(saver, "copy") == [own, *reversed(made[:3])]
    saver.delete_thread("source")
    saver.delete_thread("fork")
    assert values(at(saver, "copy", made[0])) == {"items": ["item 0"]}
    assert values(head(saver, "copy")) == {"items": ["own"]}


@pytest.mark.parametrize("own", [False, True], ids=["untouched", "went_on"])
@pytest.mark.parametrize("gone", [False, True], ids=["source_there", "source_deleted"])
def test_forks_and_copies_of_a_pruned_fork_see_what_it_sees(
    saver: Any, own: bool, gone: bool
) -> None:
    first, point = chain(saver, "source", 2)
    saver.fork_session("source", point, "fork")
    if own:
        point = put(saver, "fork", point, {"items": ["own"]}, version=9)
    if gone:
        saver.delete_thread("source")
    saver.prune(["fork"])
    saver.fork_session("fork", point, "fork of it")
    saver.copy_thread("fork", "copy of it")
    for thread in ("fork", "fork of it", "copy of it"):
        assert ids(saver, thread) == [point], thread
        assert saver.get_tuple(place(thread, first)) is None
