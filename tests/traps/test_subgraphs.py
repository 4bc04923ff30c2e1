"""Subgraphs go along with a fork exactly as far as the fork point."""

from __future__ import annotations

from typing import Any

from langgraph.types import Command

from tests.checkpoints import Saver, at, head, ids, place, put, write
from tests.traps.conftest import MakeFork
from tests.traps.conversations import (
    Graph,
    Runs,
    head_id,
    history,
    id_of,
    on,
    open_questions,
    remembering,
    two_levels,
)


def namespaces(saver: Saver, thread: str) -> set[str]:
    """The namespaces in which a thread has checkpoints."""
    found = saver.list({"configurable": {"thread_id": thread}})
    return {item.config["configurable"]["checkpoint_ns"] for item in found}


def deepest(graph: Graph, thread: str) -> Any:
    """The state of the innermost subgraph that is at work."""
    state = graph.get_state(on(thread), subgraphs=True)
    while True:
        inner = [task.state for task in state.tasks if hasattr(task.state, "values")]
        if not inner:
            return state
        state = inner[0]


def test_subgraph_two_levels_deep_continues_at_the_inner_node(
    saver: Saver, make_fork: MakeFork
) -> None:
    runs = Runs()
    graph = two_levels(saver, runs)
    graph.invoke({"log": []}, on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    assert deepest(graph, "fork").next == ("inner_ask",)
    fork = graph.invoke(Command(resume="fork"), on("fork"))
    source = graph.invoke(Command(resume="source"), on("source"))
    assert "inner_ask:fork" in fork["log"]
    assert "inner_ask:source" in source["log"]
    assert [item.replace("fork", "source") for item in fork["log"]] == source["log"]
    for name in ("before", "side", "middle_before", "inner_before"):
        assert runs[name] == 1, name
    for name in ("inner_after", "middle_after", "after"):
        assert runs[name] == 2, name


def test_fork_of_a_fork_continues_two_levels_deep(saver: Saver, make_fork: MakeFork) -> None:
    runs = Runs()
    graph = two_levels(saver, runs)
    graph.invoke({"log": []}, on("source"))
    point = head_id(graph, "source")
    make_fork(graph, "source", point, "fork")
    make_fork(graph, "fork", point, "fork of fork")
    graph.invoke(Command(resume="one"), on("fork"))
    graph.invoke(Command(resume="two"), on("fork of fork"))
    assert open_questions(graph, "source") == ["inner_ask?"]
    assert "inner_ask:two" in graph.get_state(on("fork of fork")).values["log"]
    assert runs["inner_before"] == 1


def test_finished_subgraph_of_the_sources_future_does_not_leak(
    saver: Saver, make_fork: MakeFork
) -> None:
    runs = Runs()
    graph = two_levels(saver, runs)
    graph.invoke({"log": []}, on("source"))
    point = head_id(graph, "source")
    graph.invoke(Command(resume="source"), on("source"))
    make_fork(graph, "source", point, "fork")
    assert namespaces(saver, "fork") == {""}
    graph.invoke(None, on("fork"))
    assert open_questions(graph, "fork") == ["inner_ask?"]
    assert runs["inner_before"] == 2
    fork = graph.invoke(Command(resume="fork"), on("fork"))
    assert "inner_ask:fork" in fork["log"]
    assert "inner_ask:source" not in fork["log"]


def test_subgraphs_of_strict_ancestors_go_along(saver: Saver, make_fork: MakeFork) -> None:
    graph = two_levels(saver, Runs())
    graph.invoke({"log": []}, on("source"))
    graph.invoke(Command(resume="yes"), on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    assert namespaces(saver, "fork") == namespaces(saver, "source")
    for namespace in namespaces(saver, "source"):
        assert ids(saver, "fork", namespace) == ids(saver, "source", namespace)


def test_subgraph_state_is_readable_in_the_fork_under_its_own_thread(
    saver: Saver, make_fork: MakeFork
) -> None:
    graph = two_levels(saver, Runs())
    graph.invoke({"log": []}, on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    ours, theirs = deepest(graph, "fork"), deepest(graph, "source")
    assert ours.values == theirs.values
    assert ours.config["configurable"]["thread_id"] == "fork"
    assert ours.parent_config["configurable"]["thread_id"] == "fork"


def test_fork_from_inside_a_subgraph_continues_at_the_selected_inner_node(saver: Saver) -> None:
    runs = Runs()
    graph = two_levels(saver, runs)
    graph.invoke({"log": []}, on("source"))
    paused = deepest(graph, "source")
    namespace = paused.config["configurable"]["checkpoint_ns"]
    point = id_of(paused)
    graph.invoke(Command(resume="source"), on("source"))
    before = dict(runs)
    saver.fork_session("source", point, "fork", namespace=namespace)  # type: ignore[attr-defined]
    graph.invoke(None, on("fork"))
    assert open_questions(graph, "fork") == ["inner_ask?"]
    fork = graph.invoke(Command(resume="fork"), on("fork"))
    assert "inner_ask:fork" in fork["log"]
    assert "inner_ask:source" not in fork["log"]
    for name in ("before", "side", "middle_before", "inner_before"):
        assert runs[name] == before[name], f"{name} ran again"


def test_fork_from_inside_a_subgraph_at_an_earlier_inner_checkpoint(saver: Saver) -> None:
    runs = Runs()
    graph = two_levels(saver, runs)
    graph.invoke({"log": []}, on("source"))
    paused = deepest(graph, "source")
    namespace = paused.config["configurable"]["checkpoint_ns"]
    inner = ids(saver, "source", namespace)
    saver.fork_session("source", inner[1], "fork", namespace=namespace)  # type: ignore[attr-defined]
    assert ids(saver, "fork", namespace) == inner[1:]
    graph.invoke(None, on("fork"))
    assert runs["inner_before"] == 2
    assert (runs["before"], runs["middle_before"], runs["side"]) == (1, 1, 1)
    assert "inner_ask:x" in graph.invoke(Command(resume="x"), on("fork"))["log"]


def test_remembering_subgraph_knows_what_it_knew_at_the_fork_point(
    saver: Saver, make_fork: MakeFork
) -> None:
    graph = remembering(saver)
    points = []
    for word in ("one", "two", "three"):
        graph.invoke({"word": word}, on("source"))
        points.append(head_id(graph, "source"))
    assert graph.get_state(on("source")).values["told"] == "one,two,three"
    make_fork(graph, "source", points[0], "fork")
    assert graph.invoke({"word": "other"}, on("fork"))["told"] == "one,other"
    assert graph.invoke({"word": "four"}, on("source"))["told"] == "one,two,three,four"
    make_fork(graph, "fork", head_id(graph, "fork"), "again")
    assert graph.invoke({"word": "more"}, on("again"))["told"] == "one,other,more"
    assert graph.invoke({"word": "last"}, on("fork"))["told"] == "one,other,last"


def test_remembering_subgraph_at_the_live_head_keeps_its_memory(
    saver: Saver, make_fork: MakeFork
) -> None:
    graph = remembering(saver)
    for word in ("one", "two"):
        graph.invoke({"word": word}, on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    assert graph.invoke({"word": "fork"}, on("fork"))["told"] == "one,two,fork"
    assert graph.invoke({"word": "source"}, on("source"))["told"] == "one,two,source"
    assert len(history(graph, "source")) == len(history(graph, "fork"))
    assert saver.get_tuple(place("fork", namespace="agent")) is not None


def test_write_on_an_old_inherited_subgraph_checkpoint_leaves_the_head_where_it_is(
    saver: Any,
) -> None:
    root = put(saver, "source", None, {"x": 1})
    about = {"namespace": "sub", "parents": {"": root}}
    first = put(saver, "source", None, {"y": 1}, **about)
    second = put(saver, "source", first, {"y": 2}, version=2, **about)
    saver.fork_session("source", root, "fork")
    write(saver, "fork", first, [("late", 1)], namespace="sub")
    assert head(saver, "fork", "sub").checkpoint["id"] == second
    assert ids(saver, "fork", "sub") == [second, first]
    assert [item[2] for item in at(saver, "fork", first, "sub").pending_writes or []] == [1]
    assert at(saver, "source", first, "sub").pending_writes == []


def test_memory_of_a_branch_that_a_fork_left_does_not_reach_a_fork_of_it(saver: Any) -> None:
    """The fork goes back to before its fork point and on from there; then it is forked."""
    above = put(saver, "source", None, {"x": 1})
    point = put(saver, "source", above, {"x": 2}, version=2)
    put(saver, "source", None, {"m": 1}, namespace="memory", parents={"": point})
    saver.fork_session("source", point, "fork")
    other = put(saver, "fork", above, {"x": 3}, version=3)
    saver.fork_session("fork", other, "fork of it")
    assert ids(saver, "fork of it") == [other, above]
    assert ids(saver, "fork of it", "memory") == []


def test_memory_outlives_a_prune_that_takes_the_branch_point(saver: Saver) -> None:
    """A head on a branch knows its ancestors although the row it branched from was pruned."""
    first = put(saver, "source", None, {"x": 1})
    second = put(saver, "source", first, {"x": 2}, version=2)
    memory = put(saver, "source", None, {"m": 1}, namespace="memory", parents={"": first})
    put(saver, "source", second, {"x": 3}, version=3)
    branch = put(saver, "source", second, {"x": 4}, version=3)
    saver.prune(["source"])
    saver.fork_session("source", branch, "fork")  # type: ignore[attr-defined]
    assert ids(saver, "fork", "memory") == [memory]
