"""What a reader sees: snapshots, histories, timelines, comparisons, and what can be found."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Command

from forkpoint.errors import CheckpointNotFoundError, NoCheckpointError
from forkpoint.model import CheckpointRef
from forkpoint.timetravel import TimeTravel, format_comparison
from tests.timetravel.conftest import Bench
from tests.timetravel.graphs_under_test import (
    approval,
    chain,
    chat,
    fan_out,
    nested,
    parallel_delta,
)


async def talk(bench: Bench, graph: Any, session: str, *texts: str) -> None:
    for text in texts:
        message = HumanMessage(text, id=f"{session}-{text}")
        await bench.run(graph, {"messages": [message]}, session)


@pytest.mark.parametrize("make", [approval, chain, nested, fan_out])
async def test_snapshots_say_what_the_graph_says(bench: Bench, make: Any) -> None:
    graph = bench.compile(make([]))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": ["in"]}, "s")
    place = {"configurable": {"thread_id": "s"}}
    if bench.runs_async:
        head = await graph.aget_state(place)
        records = [each async for each in graph.aget_state_history(place)]
    else:
        head = graph.get_state(place)
        records = list(graph.get_state_history(place))
    shown = await bench.call(tt.get_state, "s")
    assert (shown.values, shown.next) == (head.values, head.next)
    assert [each.id for each in shown.interrupts] == [each.id for each in head.interrupts]
    history = await bench.call(tt.get_state_history, "s")
    assert len(history) == len(records)
    for mine, theirs in zip(history, records, strict=True):
        assert (mine.values, mine.next) == (theirs.values, theirs.next)
        assert [each.id for each in mine.pending_tasks] == [each.id for each in theirs.tasks]
        assert [each.id for each in mine.interrupts] == [each.id for each in theirs.interrupts]
        assert mine.metadata.step == theirs.metadata["step"]
        assert mine.metadata.timestamp == theirs.created_at


async def test_history_names_who_wrote_each_checkpoint(bench: Bench) -> None:
    graph = bench.compile(fan_out([]))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "s")
    await bench.run(graph, Command(resume="x"), "s")
    history = await bench.call(tt.get_state_history, "s")
    assert [each.metadata.written_by for each in history] == ["work", "spread", "__start__", None]
    by_node = await bench.call(tt.get_state_history, "s", source="spread")
    assert [each.config for each in by_node] == [history[1].config]
    inputs = await bench.call(tt.get_state_history, "s", source="input")
    assert [each.metadata.step for each in inputs] == [-1]


async def test_history_is_paged_and_shows_a_session_s_own_checkpoints(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    await talk(bench, graph, "s", *"abcdefghij")
    whole = await bench.call(tt.get_state_history, "s", limit=1000)
    assert len(whole) == 30
    ids = [each.config.checkpoint_id for each in whole]
    page = await bench.call(tt.get_state_history, "s", limit=5, before=ids[9])
    assert [each.config.checkpoint_id for each in page] == ids[10:15]
    fork = await bench.call(tt.fork, "s", ids[10])
    await talk(bench, graph, fork.session_id, "x")
    own = await bench.call(tt.get_state_history, fork.session_id, limit=1000)
    assert [each.config.checkpoint_id for each in own][-1] == ids[10]
    assert len(own) == 4
    across = await bench.call(tt.get_state_history, fork.session_id, limit=1000, across_forks=True)
    assert [each.config.checkpoint_id for each in across][3:] == ids[10:]
    assert {each.config.session_id for each in across[4:]} == {"s"}
    rest = await bench.call(
        tt.get_state_history, fork.session_id, before=ids[20], across_forks=True
    )
    assert [each.config.checkpoint_id for each in rest] == ids[21:]


async def test_an_iteration_that_is_left_open_holds_nothing(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    await talk(bench, graph, "s", *"abc")
    if bench.face == "async":
        stream = tt.aget_state_history("s")
        first = await anext(stream)
        await talk(bench, graph, "s", "d")
        await stream.aclose()
    else:
        listing = tt.get_state_history("s")
        first = next(listing)
        await talk(bench, graph, "s", "d")
        listing.close()
    assert first.values["messages"][-1].content == "echo c"


async def test_a_timeline_has_turns_titles_nodes_and_children(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    await talk(bench, graph, "s", "first", "second")
    entries = await bench.call(tt.get_timeline, "s")
    assert [each.source for each in entries] == ["loop", "loop", "input"] * 2
    assert [each.title for each in entries] == ["second"] * 3 + ["first"] * 3
    assert [each.nodes for each in entries][:2] == [("agent",), ()]
    assert [each.children for each in entries] == [0, 1, 1, 1, 1, 1]
    again = await bench.call(tt.get_timeline, "s", limit=2, before=entries[1].checkpoint_id)
    assert again == entries[2:4]
    inputs = await bench.call(tt.get_timeline, "s", source="input")
    assert inputs == [entries[2], entries[5]]
    assert await bench.call(tt.get_timeline, "s", limit=0) == []


async def test_a_message_is_found_in_both_senses(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    await talk(bench, graph, "s", "one", "two", "three")
    after = await bench.call(tt.find_checkpoint, "s", message_id="s-two")
    holds = await bench.call(tt.get_state, after.session_id, after.checkpoint_id)
    assert [each.id for each in holds.values["messages"]][-1] == "s-two"
    before = await bench.call(tt.find_checkpoint, "s", before_message="s-two")
    assert before == await bench.call(tt.find_checkpoint, "s", turn=1)
    shown = await bench.call(tt.get_state, before.session_id, before.checkpoint_id)
    assert [each.id for each in shown.values["messages"]] == ["s-one", "ai-s-one"]
    answer = await bench.call(tt.find_checkpoint, "s", before_message="ai-s-two")
    assert answer == after
    with pytest.raises(CheckpointNotFoundError):
        await bench.call(tt.find_checkpoint, "s", message_id="nobody said this")
    with pytest.raises(CheckpointNotFoundError, match="3 turns"):
        await bench.call(tt.find_checkpoint, "s", turn=4)


async def test_a_message_in_a_past_of_the_session_is_found_across_a_fork(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    await talk(bench, graph, "s", "one", "two", "three")
    fork = await bench.call(tt.fork, "s", ancestors=0)
    found = await bench.call(tt.find_checkpoint, fork.session_id, message_id="s-one")
    shown = await bench.call(tt.get_state, found.session_id, found.checkpoint_id)
    assert [each.id for each in shown.values["messages"]] == ["s-one"]


async def test_bisect_finds_where_a_condition_began_to_hold(bench: Bench) -> None:
    graph = bench.compile(parallel_delta())
    tt = TimeTravel(graph)
    for word in "abcdefgh":
        await bench.run(graph, {"items": [word]}, "s")
    looked: list[str] = []

    def has_e(snapshot: Any) -> bool:
        looked.append(snapshot.config.checkpoint_id)
        return "e" in snapshot.values.get("items", ())

    found = await bench.call(tt.bisect, "s", has_e)
    assert found.values["items"][-1] == "e"
    assert len(looked) <= 7
    assert await bench.call(tt.bisect, "s", lambda snapshot: False) is None


async def test_a_comparison_finds_the_common_ancestor_and_aligns_messages(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    await talk(bench, graph, "s", "one", "two")
    point = await bench.call(tt.find_checkpoint, "s", turn=1)
    fork = await bench.call(tt.fork, "s", point.checkpoint_id)
    edited = AIMessage("changed", id="ai-s-one")
    await bench.run(graph, {"messages": [edited, HumanMessage("else", id="x")]}, fork.session_id)
    left = (await bench.call(tt.get_state, "s")).config.ref
    right = (await bench.call(tt.get_state, fork.session_id)).config.ref
    found = await bench.call(tt.compare, left, right)
    assert found.common_ancestor == CheckpointRef("s", point.checkpoint_id)
    (change,) = found.changes
    kinds = {each.id: each.kind for each in change.messages}
    assert kinds == {
        "ai-s-one": "edited",
        "s-two": "removed",
        "ai-s-two": "removed",
        "x": "added",
        "ai-x": "added",
    }
    text = format_comparison(found)
    assert "~ message ai-s-one" in text
    assert "+ ai: changed" in text
    assert (await bench.call(tt.compare, left, left)).same


async def test_an_empty_session_and_an_unknown_checkpoint_are_told_apart(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    await talk(bench, graph, "s", "one")
    for method in (tt.get_state, tt.get_state_history, tt.get_timeline):
        with pytest.raises(NoCheckpointError):
            await bench.call(method, "empty")
    with pytest.raises(CheckpointNotFoundError):
        await bench.call(tt.get_state, "s", "no such id")
    with pytest.raises(CheckpointNotFoundError):
        await bench.call(tt.get_state_history, "s", before="no such id")
    with pytest.raises(CheckpointNotFoundError):
        await bench.call(tt.get_timeline, "s", before="no such id")
