"""What was finished is not run again in a fork taken at the live head."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from tests.checkpoints import Saver
from tests.traps.conftest import MakeFork
from tests.traps.conversations import Log, Runs, head_id, history, id_of, on, payment


def test_finished_payment_is_not_run_twice(saver: Saver, make_fork: MakeFork) -> None:
    runs = Runs()
    graph = payment(saver, runs)
    graph.invoke({"log": []}, on("source"))
    assert runs["pay"] == 1
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    graph.invoke(Command(resume="ok"), on("fork"))
    graph.invoke(Command(resume="ok"), on("source"))
    assert runs["pay"] == 1
    assert runs["receipt"] == 2


def test_finished_send_branches_are_not_run_twice(saver: Saver, make_fork: MakeFork) -> None:
    runs = Runs()

    def work(state: Log) -> dict[str, Any]:
        item = state["log"][0]
        runs[item] += 1
        return {"log": [f"{item}={interrupt(item) if item == 'ask' else 'done'}"]}

    builder = StateGraph(Log)
    builder.add_node("work", work)
    builder.add_conditional_edges(
        START, lambda state: [Send("work", {"log": [item]}) for item in ("x", "ask", "y")], ["work"]
    )
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"log": []}, on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    fork = graph.invoke(Command(resume="fork"), on("fork"))
    source = graph.invoke(Command(resume="source"), on("source"))
    assert fork["log"] == ["x=done", "ask=fork", "y=done"]
    assert source["log"] == ["x=done", "ask=source", "y=done"]
    assert (runs["x"], runs["y"]) == (1, 1)


def test_finished_tasks_of_the_functional_api_are_not_run_twice(
    saver: Saver, make_fork: MakeFork
) -> None:
    runs = Runs()

    @task
    def pay(amount: int) -> str:
        runs["pay"] += 1
        return f"paid {amount}"

    @entrypoint(checkpointer=saver)
    def workflow(amount: int) -> list[str]:
        paid = pay(amount).result()
        return [paid, interrupt("ok?")]

    workflow.invoke(5, on("source"))
    make_fork(workflow, "source", head_id(workflow, "source"), "fork")
    assert workflow.invoke(Command(resume="fork"), on("fork")) == ["paid 5", "fork"]
    assert workflow.invoke(Command(resume="source"), on("source")) == ["paid 5", "source"]
    assert runs["pay"] == 1


def test_completed_checkpoint_runs_nothing(saver: Saver, make_fork: MakeFork) -> None:
    runs = Runs()
    graph = payment(saver, runs)
    graph.invoke({"log": []}, on("source"))
    done = graph.invoke(Command(resume="ok"), on("source"))
    before = dict(runs)
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    assert graph.invoke(None, on("fork")) == done
    assert dict(runs) == before
    assert len(history(graph, "fork")) == len(history(graph, "source"))


def test_input_checkpoint_starts_the_graph(saver: Saver, make_fork: MakeFork) -> None:
    runs = Runs()
    graph = payment(saver, runs)
    graph.invoke({"log": ["in"]}, on("source"))
    make_fork(graph, "source", id_of(history(graph, "source")[0]), "fork")
    assert graph.get_state(on("fork")).next == ("__start__",)
    graph.invoke(None, on("fork"))
    result = graph.invoke(Command(resume="ok"), on("fork"))
    assert result["log"] == ["in", "approve:ok", "pay", "receipt"]
    assert runs["pay"] == 2


def test_error_at_the_head_is_retried_in_the_fork_without_its_finished_sibling(
    saver: Saver, make_fork: MakeFork
) -> None:
    runs = Runs()

    def shaky(state: Log) -> dict[str, Any]:
        runs["shaky"] += 1
        if runs["shaky"] == 1:
            raise ValueError("not yet")
        return {"log": ["shaky"]}

    builder = StateGraph(Log)
    builder.add_node("first", runs.node("first"))
    builder.add_node("shaky", shaky)
    builder.add_edge(START, "first")
    builder.add_edge("first", "shaky")
    graph = builder.compile(checkpointer=saver)
    with pytest.raises(ValueError, match="not yet"):
        graph.invoke({"log": []}, on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    assert graph.get_state(on("fork")).tasks[0].error is not None
    assert graph.invoke(None, on("fork"))["log"] == ["first", "shaky"]
    assert runs == {"first": 1, "shaky": 2}
