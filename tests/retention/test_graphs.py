"""Real graphs, before and after a collection: what is kept reads as it did, and goes on as it
would have."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, StateSnapshot

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import ids
from tests.langgraph.graphs import chat, delta, delta_with_question
from tests.traps.conversations import (
    Graph,
    Log,
    Runs,
    head_id,
    history,
    id_of,
    on,
    open_questions,
    payment,
    remembering,
    two_levels,
)

ONLY_HEADS = fp.RetentionPolicy(
    keep_last=1, keep_fork_points=False, keep_labelled=False, keep_pending=False
)
FREQUENCIES = pytest.mark.parametrize("frequency", [1, 2, 3, 1000])


def seen(graph: Graph, thread: str) -> dict[str, Any]:
    """Every snapshot of a thread as plain values, subgraphs' too, by checkpoint."""
    found: dict[str, Any] = {}
    for snapshot in history(graph, thread):
        deep = graph.get_state(on(thread, id_of(snapshot)), subgraphs=True)
        found[id_of(snapshot)] = plain(deep)
    return found


def plain(snapshot: StateSnapshot) -> Any:
    """What a snapshot says, but for its parent, which may have gone."""
    return (
        snapshot.values,
        snapshot.next,
        snapshot.metadata,
        [question.value for question in snapshot.interrupts],
        [
            (
                task.name,
                task.id,
                task.path,
                task.result,
                plain(task.state) if isinstance(task.state, StateSnapshot) else task.state,
            )
            for task in snapshot.tasks
        ],
    )


def check_kept(before: dict[str, Any], after: dict[str, Any]) -> None:
    """What is left reads as it did."""
    assert after.keys() <= before.keys()
    assert after == {key: before[key] for key in after}


def say(graph: Graph, thread: str, word: str) -> Any:
    """One turn of a chat."""
    return graph.invoke({"messages": [("user", word)]}, on(thread))


def talk(graph: Graph, thread: str, word: str) -> Any:
    """One turn of a delta graph."""
    return graph.invoke({"log": [word], "other": [], "plain": []}, on(thread))


@pytest.mark.parametrize("last", [1, 2, 5, 11])
def test_a_chat_and_its_forks(store: Store, last: int) -> None:
    graph = chat(store.saver())
    for number in range(8):
        say(graph, "source", f"turn {number}")
    points = [id_of(snapshot) for snapshot in history(graph, "source")]
    store.saver().fork_session("source", points[9], "fork")
    say(graph, "fork", "another way")
    store.saver().fork_session("fork", points[5], "fork of what it inherits")
    threads = ("source", "fork", "fork of what it inherits")
    before = {thread: seen(graph, thread) for thread in threads}
    lengths = {thread: len(graph.get_state(on(thread)).values["messages"]) for thread in threads}
    store.collect(fp.RetentionPolicy(keep_last=last))
    for thread, snapshots in before.items():
        after = seen(graph, thread)
        check_kept(snapshots, after)
        assert len(after) >= min(last, len(snapshots))
    kept = set(seen(graph, "source"))
    assert kept == {*points[-last:], points[9], points[5]}
    for thread in threads[:2]:
        assert len(say(graph, thread, "on")["messages"]) == lengths[thread] + 2
    assert store.examine().sound


@FREQUENCIES
def test_delta_channels(store: Store, frequency: int) -> None:
    graph = delta(frequency)(store.saver())
    for number in range(6):
        talk(graph, "source", f"turn {number}")
    middle = history(graph, "source")[9]
    store.saver().fork_session("source", id_of(middle), "fork", pending="drop")
    talk(graph, "fork", "own")
    before = {thread: seen(graph, thread) for thread in ("source", "fork")}
    for policy in (fp.RetentionPolicy(keep_last=4), ONLY_HEADS):
        foreseen = store.collect(policy, dry_run=True)
        done = store.collect(policy)
        assert (foreseen.sessions, foreseen.families) == (done.sessions, done.families)
        for thread, snapshots in before.items():
            check_kept(snapshots, seen(graph, thread))
    whole = graph.get_state(on("source")).values["log"]
    assert talk(graph, "source", "more")["log"][: len(whole)] == whole
    store.saver().delete_thread("source")
    store.collect(ONLY_HEADS)
    assert graph.get_state(on("fork")).values == before["fork"][head_id(graph, "fork")][0]
    assert store.examine().sound


def test_a_delta_channel_of_a_fork_that_shows_nothing_below_is_rebuilt_from_there(
    store: Store,
) -> None:
    graph = delta(1000)(store.saver())
    for number in range(3):
        talk(graph, "source", f"turn {number}")
    store.saver().fork_session("source", head_id(graph, "source"), "fork")
    store.saver().fork_session("fork", head_id(graph, "fork"), "fork of it")
    for thread in ("fork", "fork of it"):
        talk(graph, thread, f"own of {thread}")
    before = {thread: graph.get_state(on(thread)).values for thread in ("fork", "fork of it")}
    store.collect(ONLY_HEADS)
    store.saver().delete_thread("source")
    store.collect(ONLY_HEADS)
    assert len(ids(store.saver(), "fork of it")) == 1
    for thread, values in before.items():
        assert graph.get_state(on(thread)).values == values
    store.saver().delete_thread("fork")
    store.collect()
    assert graph.get_state(on("fork of it")).values == before["fork of it"]
    talk(graph, "fork of it", "more")
    assert store.examine().sound


def test_an_open_question_two_levels_deep(store: Store) -> None:
    runs = Runs()
    graph = two_levels(store.saver(), runs)
    graph.invoke({"log": []}, on("t"))
    before = seen(graph, "t")
    store.collect(ONLY_HEADS)
    after = seen(graph, "t")
    assert len(after) == 1
    check_kept(before, after)
    assert open_questions(graph, "t") == ["inner_ask?"]
    assert "inner_ask:yes" in graph.invoke(Command(resume="yes"), on("t"))["log"]
    assert runs["inner_before"] == 1


def test_an_open_question_in_a_fork_and_in_its_source(store: Store) -> None:
    runs = Runs()
    graph = two_levels(store.saver(), runs)
    graph.invoke({"log": []}, on("source"))
    store.saver().fork_session("source", head_id(graph, "source"), "fork")
    foreseen = store.collect(ONLY_HEADS, dry_run=True)
    done = store.collect(ONLY_HEADS)
    assert (foreseen.sessions, foreseen.families) == (done.sessions, done.families)
    for thread in ("source", "fork"):
        assert open_questions(graph, thread) == ["inner_ask?"]
    store.erase("source")
    assert "inner_ask:fork" in graph.invoke(Command(resume="fork"), on("fork"))["log"]
    assert runs["inner_before"] == 1


def test_a_question_on_a_branch_that_was_left(store: Store) -> None:
    graph = payment(store.saver(), Runs())
    graph.invoke({"log": []}, on("t"))
    asking = graph.get_state(on("t"))
    start = history(graph, "t")[0]
    graph.update_state(on("t", id_of(start)), {"log": ["another way"]}, as_node="__start__")
    for number in range(3):
        graph.update_state(on("t"), {"log": [f"step {number}"]}, as_node="receipt")
    store.collect(fp.RetentionPolicy(keep_last=1))
    assert id_of(asking) in ids(store.saver(), "t")
    kept = graph.get_state(on("t", id_of(asking)))
    assert [question.value for question in kept.interrupts] == ["approve?"]
    result = graph.invoke(Command(resume="yes"), on("t", id_of(asking)))
    assert "approve:yes" in result["log"]


def test_a_question_beside_a_delta_channel(store: Store) -> None:
    graph = delta_with_question(store.saver())
    graph.invoke({"log": ["in"]}, on("t"))
    before = seen(graph, "t")
    questions = open_questions(graph, "t")
    store.collect(ONLY_HEADS)
    check_kept(before, seen(graph, "t"))
    assert open_questions(graph, "t") == questions
    store.saver().fork_session("t", head_id(graph, "t"), "fork")
    store.collect(ONLY_HEADS)
    answered = graph.invoke(Command(resume="yes"), on("t"))
    assert graph.invoke(Command(resume="yes"), on("fork")) == answered


def test_a_sub_agent_keeps_its_memory(store: Store) -> None:
    graph = remembering(store.saver())
    for word in ("one", "two", "three"):
        graph.invoke({"word": word}, on("source"))
    store.saver().fork_session("source", head_id(graph, "source"), "fork")
    foreseen = store.collect(ONLY_HEADS, dry_run=True)
    done = store.collect(ONLY_HEADS)
    assert (foreseen.sessions, foreseen.families) == (done.sessions, done.families)
    assert graph.invoke({"word": "four"}, on("source"))["told"] == "one,two,three,four"
    assert graph.invoke({"word": "own"}, on("fork"))["told"] == "one,two,three,own"
    store.collect(ONLY_HEADS)
    assert graph.invoke({"word": "more"}, on("fork"))["told"] == "one,two,three,own,more"


def test_a_graph_that_runs_while_its_session_is_collected(store: Store) -> None:
    saver = store.saver()
    runs = Runs()

    def collecting(name: str) -> Any:
        plain_node = runs.node(name)

        def node(state: Any) -> Any:
            store.collect(ONLY_HEADS)
            return plain_node(state)

        return node

    builder = StateGraph(Log)
    builder.add_node("one", collecting("one"))
    builder.add_node("two", collecting("two"))
    builder.add_node("ask", runs.asking("ask"))
    builder.add_node("side", collecting("side"))
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    builder.add_edge("two", "ask")
    builder.add_edge("two", "side")
    graph = builder.compile(checkpointer=saver)
    for durability in ("sync", "async", "exit"):
        runs.clear()
        thread = f"t {durability}"
        graph.invoke({"log": []}, on(thread), durability=durability)  # type: ignore[arg-type]
        store.collect(ONLY_HEADS)
        assert open_questions(graph, thread) == ["ask?"]
        result = graph.invoke(Command(resume="yes"), on(thread), durability=durability)  # type: ignore[arg-type]
        assert sorted(result["log"]) == ["ask:yes", "one", "side", "two"]
        assert runs["side"] == 1
