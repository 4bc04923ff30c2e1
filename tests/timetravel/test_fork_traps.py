"""What a plain copy of a checkpoint gets wrong, and a fork must not."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Command

from forkpoint.errors import (
    CheckpointNotFoundError,
    DestinationNotEmptyError,
    NoCheckpointError,
)
from forkpoint.timetravel import TimeTravel
from tests.timetravel.conftest import Bench
from tests.timetravel.graphs_under_test import (
    approval,
    chain,
    chat,
    fan_out,
    nested,
    parallel_delta,
    remembering,
)


async def history_of(bench: Bench, tt: TimeTravel, session: str) -> list[Any]:
    snapshots: list[Any] = await bench.call(tt.get_state_history, session)
    return snapshots


async def test_an_open_question_is_answered_differently_in_source_and_fork(bench: Bench) -> None:
    graph = bench.compile(approval([]))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "source")
    fork = await bench.call(tt.fork, "source")
    assert [each.value for each in fork.snapshot.interrupts] == ["approve?"]
    in_fork = await bench.run(graph, Command(resume="no"), fork.session_id)
    in_source = await bench.run(graph, Command(resume="yes"), "source")
    assert in_fork["log"] == ["answer no", "paid", "reported"]
    assert in_source["log"] == ["answer yes", "paid", "reported"]


async def test_a_finished_payment_is_not_run_again(bench: Bench) -> None:
    ran: list[str] = []
    graph = bench.compile(approval(ran))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "source")
    fork = await bench.call(tt.fork, "source")
    assert fork.snapshot.next == ("ask",)
    assert fork.snapshot.values == {"log": ["paid"]}
    ran.clear()
    await bench.run(graph, Command(resume="no"), fork.session_id)
    assert "pay" not in ran


async def test_the_past_asks_again_and_a_later_answer_does_not_leak(bench: Bench) -> None:
    graph = bench.compile(approval([]))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "source")
    asked = await bench.call(tt.get_state, "source")
    await bench.run(graph, Command(resume="yes"), "source")
    fork = await bench.call(tt.fork, "source", asked.config.checkpoint_id)
    assert [each.value for each in fork.snapshot.interrupts] == ["approve?"]
    again = await bench.run(graph, None, fork.session_id)
    assert "yes" not in str(again.get("log"))
    done = await bench.run(graph, Command(resume="no"), fork.session_id)
    assert done["log"] == ["answer no", "paid", "reported"]


async def test_keep_takes_recorded_results_but_never_an_answer(bench: Bench) -> None:
    graph = bench.compile(approval([]))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "source")
    asked = await bench.call(tt.get_state, "source")
    await bench.run(graph, Command(resume="yes"), "source")
    fork = await bench.call(tt.fork, "source", asked.config.checkpoint_id, pending="keep")
    assert all(write.channel != "__resume__" for write in fork.snapshot.pending_writes)
    done = await bench.run(graph, None, fork.session_id)
    assert done["log"] == ["answer yes", "paid", "reported"]


async def test_drop_takes_no_writes(bench: Bench) -> None:
    ran: list[str] = []
    graph = bench.compile(approval(ran))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "source")
    fork = await bench.call(tt.fork, "source", pending="drop")
    assert fork.snapshot.pending_writes == ()
    assert set(fork.snapshot.next) == {"pay", "ask"}


async def test_the_fork_point_keeps_its_id_and_names_its_source(bench: Bench) -> None:
    graph = bench.compile(chain([]))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "source")
    head = await bench.call(tt.get_state, "source")
    fork = await bench.call(tt.fork, "source", by="me", reason="to see")
    assert fork.checkpoint_id == head.config.checkpoint_id
    metadata = fork.snapshot.metadata
    assert metadata.source == "fork"
    assert metadata.parents == (head.config.checkpoint_id,)
    assert metadata.forked_from == head.config.ref
    assert (fork.forked_from.by, fork.forked_from.reason) == ("me", "to see")
    origin = await bench.call(tt.origin, fork.session_id)
    assert origin == fork.forked_from
    assert await bench.call(tt.origin, "source") is None


async def test_a_fork_in_the_middle_runs_only_what_comes_after(bench: Bench) -> None:
    ran: list[str] = []
    graph = bench.compile(chain(ran))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "source")
    after_a = next(s for s in await history_of(bench, tt, "source") if s.next == ("b",))
    fork = await bench.call(tt.fork, "source", after_a.config.checkpoint_id)
    assert fork.snapshot.next == ("b",)
    ran.clear()
    done = await bench.run(graph, None, fork.session_id)
    assert ran == ["b", "c"]
    assert done["log"] == ["a", "b", "c"]


async def test_two_subgraphs_deep_the_fork_goes_on_at_the_inner_node(bench: Bench) -> None:
    ran: list[str] = []
    graph = bench.compile(nested(ran))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "source")
    fork = await bench.call(tt.fork, "source")
    assert [each.value for each in fork.snapshot.interrupts] == ["deep?"]
    ran.clear()
    done = await bench.run(graph, Command(resume="no"), fork.session_id)
    assert ran == ["ask", "last"]
    assert "answer no" in done["log"]
    ran.clear()
    source = await bench.run(graph, Command(resume="yes"), "source")
    assert ran == ["ask", "last"]
    assert "answer yes" in source["log"]


async def test_a_fork_from_inside_a_subgraph_goes_on_there(bench: Bench) -> None:
    ran: list[str] = []
    graph = bench.compile(nested(ran))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "source")
    rows = await bench.dump("source")
    inner = [row for row in rows if row[0]["configurable"]["checkpoint_ns"].count("|") == 1]
    # The inner graph stands before its first node: only the inner part of the work is repeated.
    selected = next(row for row in inner if row[2]["step"] == 0)
    ran.clear()
    fork = await bench.call(
        tt.fork,
        "source",
        selected[3]["id"],
        namespace=selected[0]["configurable"]["checkpoint_ns"],
    )
    await bench.run(graph, None, fork.session_id)
    assert ran == ["inner_before", "ask"]
    done = await bench.run(graph, Command(resume="no"), fork.session_id)
    assert "sibling" not in ran
    assert "middle_before" not in ran
    assert "answer no" in done["log"]


async def test_a_sub_agent_remembers_what_was_said_before_the_fork_point_only(
    bench: Bench,
) -> None:
    graph = bench.compile(remembering([]))
    tt = TimeTravel(graph)
    await bench.run(graph, {"said": "one"}, "source")
    first_turn = await bench.call(tt.get_state, "source")
    await bench.run(graph, {"said": "two"}, "source")
    fork = await bench.call(tt.fork, "source", first_turn.config.checkpoint_id)
    done = await bench.run(graph, {"said": "three"}, fork.session_id)
    assert done["remembered"] == ["one", "three"]
    second = await bench.call(tt.fork, fork.session_id)
    done = await bench.run(graph, {"said": "four"}, second.session_id)
    assert done["remembered"] == ["one", "three", "four"]


@pytest.mark.parametrize("ancestors", [0, 1, "turn", "all"])
@pytest.mark.parametrize("channels_known", [True, False])
async def test_parallel_writers_keep_their_order_in_a_delta_channel(
    bench: Bench, ancestors: Any, channels_known: bool
) -> None:
    graph = bench.compile(parallel_delta())
    tt = TimeTravel(graph)
    await bench.run(graph, {"items": ["first"]}, "source")
    source = await bench.call(tt.get_state, "source")
    assert source.values["items"] == ["first", "alpha", "mid", "zeta", "closed"]
    forker = tt if channels_known else TimeTravel(bench.saver)
    fork = await bench.call(forker.fork, "source", ancestors=ancestors)
    shown = await bench.call(tt.get_state, fork.session_id)
    assert shown.values == source.values
    done = await bench.run(graph, {"items": ["more"]}, fork.session_id)
    assert done["items"] == [*source.values["items"], "more", "alpha", "mid", "zeta", "closed"]
    again = await bench.call(tt.get_state, fork.session_id)
    assert again.values["items"] == done["items"]


async def test_a_delta_channel_is_right_at_every_checkpoint_the_fork_took_along(
    bench: Bench,
) -> None:
    graph = bench.compile(parallel_delta())
    tt = TimeTravel(graph)
    for word in ("first", "second"):
        await bench.run(graph, {"items": [word]}, "source")
    in_source = {
        each.config.checkpoint_id: each.values for each in await history_of(bench, tt, "source")
    }
    fork = await bench.call(tt.fork, "source", ancestors=4)
    for entry in await bench.call(tt.get_timeline, fork.session_id):
        shown = await bench.call(tt.get_state, fork.session_id, entry.checkpoint_id)
        assert shown.values == in_source[entry.checkpoint_id]


async def test_finished_sends_are_not_run_again(bench: Bench) -> None:
    ran: list[str] = []
    graph = bench.compile(fan_out(ran))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "source")
    fork = await bench.call(tt.fork, "source")
    assert fork.snapshot.next == ("work",)
    ran.clear()
    done = await bench.run(graph, Command(resume="this"), fork.session_id)
    assert ran == ["work 1"]
    assert done["log"] == ["work 0", "work 1 this", "work 2"]


async def test_an_unknown_checkpoint_is_refused(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    for session in ("source", "other"):
        await bench.run(graph, {"messages": [("user", "hi")]}, session)
    elsewhere = await bench.call(tt.get_state, "other")
    with pytest.raises(CheckpointNotFoundError, match="source"):
        await bench.call(tt.fork, "source", elsewhere.config.checkpoint_id)
    with pytest.raises(NoCheckpointError):
        await bench.call(tt.fork, "nothing here")


async def test_an_occupied_destination_is_left_as_it_is(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    for session in ("source", "other"):
        await bench.run(graph, {"messages": [("user", "hi")]}, session)
    before = await bench.dump("other")
    with pytest.raises(DestinationNotEmptyError):
        await bench.call(tt.fork, "source", None, "other")
    with pytest.raises(DestinationNotEmptyError):
        await bench.call(tt.fork, "source", None, "source")
    assert await bench.dump("other") == before


async def test_the_source_is_unchanged(bench: Bench) -> None:
    graph = bench.compile(nested([]))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "source")
    before = await bench.dump("source")
    fork = await bench.call(tt.fork, "source", ancestors="all")
    await bench.run(graph, Command(resume="no"), fork.session_id)
    assert await bench.dump("source") == before


async def test_a_run_id_is_not_carried_so_the_next_input_counts(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    place = {"configurable": {"thread_id": "source"}, "metadata": {"run_id": "run-1"}}
    if bench.runs_async:
        await graph.ainvoke({"messages": [("user", "hi")]}, place)
    else:
        graph.invoke({"messages": [("user", "hi")]}, place)
    fork = await bench.call(tt.fork, "source")
    assert "run_id" not in fork.snapshot.metadata.extra
    assert fork.forked_from.run_id == "run-1"


async def test_regenerating_works_inside_a_fork(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    for text in ("one", "two"):
        await bench.run(graph, {"messages": [{"role": "user", "content": text}]}, "source")
    fork = await bench.call(tt.fork, "source")
    before = await bench.call(tt.find_checkpoint, fork.session_id, turn=2, side="before")
    again = await bench.call(tt.fork, before.session_id, before.checkpoint_id)
    done = await bench.run(
        graph, {"messages": [{"role": "user", "content": "other"}]}, again.session_id
    )
    texts = [message.content for message in done["messages"]]
    assert texts == ["one", "echo one", "other", "echo other"]
