"""A question that is open at the fork point, and answers given elsewhere."""

from __future__ import annotations

import pytest
from langgraph.types import Command

from tests.checkpoints import Saver
from tests.traps.conftest import MakeFork
from tests.traps.conversations import (
    Runs,
    head_id,
    history,
    id_of,
    on,
    open_questions,
    payment,
)


def test_open_question_is_answered_differently_in_source_and_fork(
    saver: Saver, make_fork: MakeFork
) -> None:
    runs = Runs()
    graph = payment(saver, runs)
    graph.invoke({"log": []}, on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    assert open_questions(graph, "fork") == ["approve?"]
    fork = graph.invoke(Command(resume="no"), on("fork"))
    assert open_questions(graph, "source") == ["approve?"]
    source = graph.invoke(Command(resume="yes"), on("source"))
    assert fork["log"] == ["approve:no", "pay", "receipt"]
    assert source["log"] == ["approve:yes", "pay", "receipt"]


def test_interrupt_id_and_task_ids_are_those_of_the_source(
    saver: Saver, make_fork: MakeFork
) -> None:
    graph = payment(saver, Runs())
    graph.invoke({"log": []}, on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    source, fork = graph.get_state(on("source")), graph.get_state(on("fork"))
    assert fork.interrupts == source.interrupts
    assert [task.id for task in fork.tasks] == [task.id for task in source.tasks]
    assert fork.next == source.next == ("approve",)
    graph.invoke(Command(resume={fork.interrupts[0].id: "by id"}), on("fork"))
    assert graph.get_state(on("fork")).values["log"] == ["approve:by id", "pay", "receipt"]


def test_later_answer_of_a_past_checkpoint_does_not_leak(saver: Saver, make_fork: MakeFork) -> None:
    graph = payment(saver, Runs())
    graph.invoke({"log": []}, on("source"))
    question = head_id(graph, "source")
    graph.invoke(Command(resume="SOURCE"), on("source"))
    make_fork(graph, "source", question, "fork")
    assert open_questions(graph, "fork") == ["approve?"]
    result = graph.invoke(Command(resume="FORK"), on("fork"))
    assert result["log"] == ["approve:FORK", "pay", "receipt"]


def test_past_question_is_asked_again_when_the_fork_is_just_run(
    saver: Saver, make_fork: MakeFork
) -> None:
    graph = payment(saver, Runs())
    graph.invoke({"log": []}, on("source"))
    question = head_id(graph, "source")
    graph.invoke(Command(resume="SOURCE"), on("source"))
    make_fork(graph, "source", question, "fork")
    graph.invoke(None, on("fork"))
    assert open_questions(graph, "fork") == ["approve?"]
    graph.invoke(Command(resume="FORK"), on("fork"))
    assert "approve:FORK" in graph.get_state(on("fork")).values["log"]


@pytest.mark.parametrize(
    ("pending", "waits_for", "reruns", "asks"),
    [
        ("auto", ("approve", "pay"), True, True),
        ("reask", ("approve", "pay"), True, True),
        ("keep", (), False, False),
        ("drop", ("approve", "pay"), True, False),
    ],
)
def test_policies_at_a_checkpoint_the_source_has_passed(
    saver: Saver,
    make_fork: MakeFork,
    pending: str,
    waits_for: tuple[str, ...],
    reruns: bool,
    asks: bool,
) -> None:
    runs = Runs()
    graph = payment(saver, runs)
    graph.invoke({"log": []}, on("source"))
    question = head_id(graph, "source")
    graph.invoke(Command(resume="SOURCE"), on("source"))
    make_fork(graph, "source", question, "fork", pending=pending)
    state = graph.get_state(on("fork"))
    assert tuple(sorted(state.next)) == waits_for
    assert bool(state.interrupts) is asks
    kinds = {channel for _, channel, _ in saver.get_tuple(on("fork")).pending_writes}  # type: ignore[union-attr]
    assert "__resume__" not in kinds
    before = runs["pay"]
    result = graph.invoke(None, on("fork"))
    assert (runs["pay"] > before) is reruns
    if pending == "keep":
        assert result["log"] == ["approve:SOURCE", "pay", "receipt"]
    else:
        assert open_questions(graph, "fork") == ["approve?"]


@pytest.mark.parametrize(
    ("pending", "waits_for"),
    [
        ("auto", ("approve",)),
        ("keep", ("approve",)),
        ("reask", ("approve", "pay")),
        ("drop", ("approve", "pay")),
    ],
)
def test_policies_at_a_live_head(
    saver: Saver, make_fork: MakeFork, pending: str, waits_for: tuple[str, ...]
) -> None:
    graph = payment(saver, Runs())
    graph.invoke({"log": []}, on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork", pending=pending)
    assert tuple(sorted(graph.get_state(on("fork")).next)) == waits_for
    graph.invoke(None, on("fork"))
    assert graph.invoke(Command(resume="ok"), on("fork"))["log"] == [
        "approve:ok",
        "pay",
        "receipt",
    ]


def test_answer_given_after_the_fork_is_not_seen_by_it(saver: Saver, make_fork: MakeFork) -> None:
    graph = payment(saver, Runs())
    graph.invoke({"log": []}, on("source"))
    make_fork(graph, "source", head_id(graph, "source"), "fork")
    graph.invoke(Command(resume="SOURCE"), on("source"))
    state = graph.get_state(on("fork"))
    assert state.next == ("approve",)
    assert [question.value for question in state.interrupts] == ["approve?"]
    assert graph.invoke(Command(resume="FORK"), on("fork"))["log"][0] == "approve:FORK"


def test_several_forks_of_one_question_are_each_on_their_own(
    saver: Saver, make_fork: MakeFork
) -> None:
    graph = payment(saver, Runs())
    graph.invoke({"log": []}, on("source"))
    question = head_id(graph, "source")
    for name in ("a", "b", "c"):
        make_fork(graph, "source", question, name)
        graph.invoke(Command(resume=name), on(name))
    for name in ("a", "b", "c"):
        assert graph.get_state(on(name)).values["log"] == [f"approve:{name}", "pay", "receipt"]
    assert open_questions(graph, "source") == ["approve?"]


async def test_open_question_is_answered_differently_async(saver: Saver) -> None:
    graph = payment(saver, Runs())
    await graph.ainvoke({"log": []}, on("source"))
    question = id_of(await graph.aget_state(on("source")))
    await saver.afork_session("source", question, "fork")  # type: ignore[attr-defined]
    fork = await graph.ainvoke(Command(resume="no"), on("fork"))
    source = await graph.ainvoke(Command(resume="yes"), on("source"))
    assert (fork["log"][0], source["log"][0]) == ("approve:no", "approve:yes")


def test_fork_of_a_fork_keeps_the_question(saver: Saver, make_fork: MakeFork) -> None:
    graph = payment(saver, Runs())
    graph.invoke({"log": []}, on("s0"))
    question = head_id(graph, "s0")
    for number in range(4):
        make_fork(graph, f"s{number}", question, f"s{number + 1}")
    for number in reversed(range(5)):
        assert open_questions(graph, f"s{number}") == ["approve?"]
        result = graph.invoke(Command(resume=str(number)), on(f"s{number}"))
        assert result["log"] == [f"approve:{number}", "pay", "receipt"]
    assert len(history(graph, "s4")) == len(history(graph, "s0"))
