"""DeltaChannels across forks: their value is rebuilt from writes on ancestors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checkpoints import Saver, chain, ids, place, put, write
from tests.langgraph.graphs import delta
from tests.traps.conftest import MakeFork
from tests.traps.conversations import Graph, head_id, history, id_of, on

FREQUENCIES = pytest.mark.parametrize("frequency", [1, 2, 3, 1000])


def talk(graph: Graph, thread: str, word: str, **options: Any) -> Any:
    """One turn."""
    return graph.invoke({"log": [word], "other": [], "plain": []}, on(thread), **options)


def expected(length: int, word: str) -> list[str]:
    """What one turn adds to a log of some length: the parallel writers in LangGraph's order."""
    seen = length + 1
    return [word, f"alpha{seen}", f"mid{seen}", f"zeta{seen}"]


@FREQUENCIES
def test_parallel_writers_keep_their_order(
    saver: Saver, make_fork: MakeFork, frequency: int
) -> None:
    graph = delta(frequency)(saver)
    live = talk(graph, "source", "in")
    assert live["log"] == expected(0, "in")
    assert graph.get_state(on("source")).values == live
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    assert graph.get_state(on("fork")).values == live
    assert talk(graph, "fork", "more")["log"] == live["log"] + expected(4, "more")


@FREQUENCIES
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_fork_at_every_checkpoint_reads_what_the_source_reads(
    saver: Saver, make_fork: MakeFork, frequency: int, durability: Any
) -> None:
    graph = delta(frequency)(saver)
    for number in range(4):
        talk(graph, "source", f"turn {number}", durability=durability)
    for number, snapshot in enumerate(history(graph, "source")):
        fork = f"fork {number}"
        make_fork(graph, "source", id_of(snapshot), fork, pending="drop")
        assert graph.get_state(on(fork)).values == snapshot.values
        assert [item.values for item in history(graph, fork)] == [
            item.values for item in history(graph, "source")[: number + 1]
        ]


@FREQUENCIES
def test_fork_of_a_fork_of_a_fork(saver: Saver, make_fork: MakeFork, frequency: int) -> None:
    graph = delta(frequency)(saver)
    logs: list[list[str]] = [[]]
    talk(graph, "s0", "w0")
    logs[0] = expected(0, "w0")
    for number in range(1, 5):
        before = f"s{number - 1}"
        make_fork(graph, before, head_id(graph, before), f"s{number}")
        talk(graph, f"s{number}", f"w{number}")
        logs.append(logs[-1] + expected(len(logs[-1]), f"w{number}"))
        talk(graph, before, "left behind")
    for number, log in enumerate(logs):
        values = graph.get_state(on(f"s{number}")).values["log"]
        assert values[: len(log)] == log
        assert ("left behind" in values) == (number < 4)
        assert values.count("left behind") <= 1


@FREQUENCIES
def test_writes_after_the_fork_point_are_not_replayed(
    saver: Saver, make_fork: MakeFork, frequency: int
) -> None:
    graph = delta(frequency)(saver)
    talk(graph, "source", "first")
    middle = history(graph, "source")
    talk(graph, "source", "second")
    for snapshot in middle[1:]:
        fork = f"fork {id_of(snapshot)}"
        make_fork(graph, "source", id_of(snapshot), fork)
        after = graph.invoke(None, on(fork))
        assert after["log"] == expected(0, "first")
        assert graph.get_state(on(fork)).values["log"] == expected(0, "first")
        assert talk(graph, fork, "third")["log"] == expected(0, "first") + expected(4, "third")
    assert graph.get_state(on("source")).values["log"] == (
        expected(0, "first") + expected(4, "second")
    )


@FREQUENCIES
def test_delta_history_is_the_same_in_source_and_fork(
    saver: Saver, make_fork: MakeFork, frequency: int
) -> None:
    graph = delta(frequency)(saver)
    for number in range(3):
        talk(graph, "source", f"turn {number}")
    point = head_id(graph, "source")
    make_fork(graph, "source", point, "fork")
    for checkpoint_id in ids(saver, "source"):
        ours, theirs = (
            saver.get_delta_channel_history(
                config=place(thread, checkpoint_id), channels=["log", "other", "plain", "no such"]
            )
            for thread in ("fork", "source")
        )
        assert ours == theirs


def test_head_only_delta_copy_is_whole(saver: Saver, make_fork: MakeFork) -> None:
    """A chain with no snapshot at all: the fork's first checkpoint must still have the value."""
    graph = delta(1000)(saver)
    for number in range(6):
        talk(graph, "source", f"turn {number}")
    whole = graph.get_state(on("source")).values
    stored = saver.get_tuple(on("source"))
    assert stored is not None
    assert "log" not in stored.checkpoint["channel_values"]
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    saver.delete_thread("source")
    assert graph.get_state(on("fork")).values == whole
    assert len(whole["log"]) == 24


@FREQUENCIES
def test_update_state_on_an_inherited_checkpoint(
    saver: Saver, make_fork: MakeFork, frequency: int
) -> None:
    graph = delta(frequency)(saver)
    talk(graph, "source", "first")
    talk(graph, "source", "second")
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    old = history(graph, "fork")[-3]
    before = [item.values for item in history(graph, "source")]
    graph.update_state(old.config, {"log": ["patched"]}, as_node="reset")
    state = graph.get_state(on("fork"))
    assert state.config["configurable"]["thread_id"] == "fork"
    assert state.values["log"] == [*old.values["log"], "patched"]
    assert [item.values for item in history(graph, "source")] == before


def test_branch_in_a_fork_replays_the_forks_own_writes_on_an_inherited_ancestor(
    saver: Any,
) -> None:
    made = chain(saver, "source", 3)
    saver.fork_session("source", made[-1], "fork")
    write(saver, "fork", made[1], [("log", ["own"])])
    put(saver, "fork", made[1], {"items": ["branch"]}, version=9)
    found = saver.get_delta_channel_history(config=place("fork"), channels=["log"])
    assert [item[2] for item in found["log"]["writes"]] == [["own"]]
    found = saver.get_delta_channel_history(config=place("source"), channels=["log"])
    assert found["log"]["writes"] == []
