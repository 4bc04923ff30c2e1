"""Bulk updates, forks with a patch, plans, repeated requests, and what is refused beforehand."""

from __future__ import annotations

import logging
import operator
from typing import Any

import pytest
from langgraph.channels import BinaryOperatorAggregate, LastValue
from langgraph.channels.delta import DeltaChannel
from langgraph.types import Command

from forkpoint.errors import (
    AmbiguousNodeError,
    CapabilityError,
    ConflictError,
    GraphChangedError,
    InvalidArgumentError,
    NoCheckpointError,
    UnknownNodeError,
)
from forkpoint.model import ForkOrigin, Write
from forkpoint.timetravel import TimeTravel
from tests.timetravel.conftest import Bench
from tests.timetravel.graphs_under_test import (
    approval,
    chain,
    chat,
    joined,
    nested,
    parallel_delta,
)


def log_channels() -> dict[str, Any]:
    return {
        "log": BinaryOperatorAggregate(list, operator.add),
        "docs": LastValue(dict),
        "summary": LastValue(str),
        "items": DeltaChannel(joined, list),
    }


def number(version: Any) -> int:
    return int(str(version).partition(".")[0])


async def test_a_bulk_update_follows_the_graph_and_stores_one_checkpoint(bench: Bench) -> None:
    ran: list[str] = []
    graph = bench.compile(chain(ran))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "s")
    before = await bench.call(tt.get_timeline, "s")
    steps = [[Write("a", {"log": ["A"]})], [Write("b", {"log": ["B"]})]]
    snapshot = await bench.call(tt.bulk_update_state, "s", steps)
    assert snapshot.values["log"] == ["a", "b", "c", "A", "B"]
    assert snapshot.next == ("c",)
    assert snapshot.metadata.source == "bulk_update"
    assert len(await bench.call(tt.get_timeline, "s")) == len(before) + 1
    ran.clear()
    await bench.run(graph, None, "s")
    assert ran == ["c"]


async def test_a_version_rises_once_for_each_superstep_that_touched_it(bench: Bench) -> None:
    graph = bench.compile(chain([]))
    await bench.run(graph, {"log": []}, "s")
    tt = TimeTravel(bench.saver, log_channels, {"writer": ["docs"], "reader": ["summary"]})
    before = await bench.call(tt.get_state, "s")
    steps = [
        [Write("docs", {"a": 1}), Write("x", {"log": ["one"]})],
        [Write("x", {"log": ["two"]})],
        [Write("summary", "short")],
    ]
    after = await bench.call(tt.bulk_update_state, "s", steps)
    assert after.values["log"] == [*before.values["log"], "one", "two"]
    assert after.values["docs"] == {"a": 1}
    assert after.values["summary"] == "short"
    old, new = before.channel_versions, after.channel_versions
    assert number(new["log"]) - number(old["log"]) == 2
    assert number(new["docs"]) == number(new["summary"]) == 1
    assert set(after.next) == {"writer", "reader"}


async def test_a_bulk_update_keeps_delta_channels_whole(bench: Bench) -> None:
    graph = bench.compile(parallel_delta())
    tt = TimeTravel(graph)
    await bench.run(graph, {"items": ["first"]}, "s")
    before = (await bench.call(tt.get_state, "s")).values["items"]
    await bench.call(tt.bulk_update_state, "s", [[Write("close", {"items": ["by hand"]})]])
    assert (await bench.call(tt.get_state, "s")).values["items"] == [*before, "by hand"]
    done = await bench.run(graph, {"items": ["more"]}, "s")
    expected = [*before, "by hand", "more", "alpha", "mid", "zeta", "closed"]
    assert done["items"] == expected
    assert (await bench.call(tt.get_state, "s")).values["items"] == expected


async def test_a_bad_write_in_the_last_superstep_leaves_nothing(bench: Bench) -> None:
    graph = bench.compile(chain([]))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "s")
    before = await bench.dump("s")
    good, bad = [Write("a", {"log": ["A"]})], [Write("nobody", {"log": ["B"]})]
    with pytest.raises(UnknownNodeError, match=r"supersteps\[1\]\[0\].node"):
        await bench.call(tt.bulk_update_state, "s", [good, bad])
    with pytest.raises(InvalidArgumentError, match=r"supersteps\[1\]"):
        await bench.call(tt.bulk_update_state, "s", [good, [Write("a", {"log": 7})]])
    assert await bench.dump("s") == before
    with pytest.raises(NoCheckpointError, match="use fork"):
        await bench.call(tt.bulk_update_state, "empty", [good])
    alone = TimeTravel(bench.saver)
    with pytest.raises(CapabilityError, match="create_channels"):
        await bench.call(alone.bulk_update_state, "s", [good])


async def test_a_patch_is_applied_to_the_fork_through_the_reducers(bench: Bench) -> None:
    ran: list[str] = []
    graph = bench.compile(chain(ran))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "s")
    source = await bench.dump("s")
    fork = await bench.call(tt.fork, "s", values={"log": ["patched"]}, as_node="b")
    assert fork.snapshot.values["log"] == ["a", "b", "c", "patched"]
    assert fork.snapshot.next == ("c",)
    assert fork.snapshot.metadata.source == "update"
    ran.clear()
    done = await bench.run(graph, None, fork.session_id)
    assert (ran, done["log"][-1]) == (["c"], "c")
    assert await bench.dump("s") == source


async def test_a_patch_that_cannot_be_applied_is_refused_before_anything_is_created(
    bench: Bench,
) -> None:
    graph = bench.compile(chain([]))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "s")
    with pytest.raises(AmbiguousNodeError):
        await bench.call(tt.fork, "s", None, "new", values={"log": ["x"]})
    with pytest.raises(UnknownNodeError, match="as_node"):
        await bench.call(tt.fork, "s", None, "new", values={"log": ["x"]}, as_node="nobody")
    with pytest.raises(InvalidArgumentError, match="values"):
        await bench.call(tt.fork, "s", None, "new", values={"log": 7}, as_node="a")
    assert await bench.dump("new") == []


async def test_a_graph_with_one_node_fills_in_the_node_of_a_patch(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    await bench.run(graph, {"messages": [("user", "hi")]}, "s")
    fork = await bench.call(tt.fork, "s", values={"messages": [("ai", "edited")]})
    assert fork.snapshot.values["messages"][-1].content == "edited"


async def test_the_same_request_gives_the_same_fork(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    await bench.run(graph, {"messages": [("user", "hi")]}, "s")
    first = await bench.call(tt.fork, "s", request_id="r1")
    await bench.run(graph, {"messages": [("user", "more")]}, "s")
    await bench.run(graph, {"messages": [("user", "fork")]}, first.session_id)
    again = await bench.call(tt.fork, "s", request_id="r1")
    assert again.session_id == first.session_id
    assert (first.created, again.created) == (True, False)
    assert again.forked_from == first.forked_from
    head = await bench.call(tt.get_state, "s")
    with pytest.raises(ConflictError):
        await bench.call(tt.fork, "s", head.config.checkpoint_id, request_id="r1")


async def test_the_created_session_is_announced_and_a_failure_only_warns(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    announced: list[tuple[str, ForkOrigin]] = []

    def create(session_id: str, origin: ForkOrigin) -> None:
        announced.append((session_id, origin))
        raise RuntimeError("no room")

    graph = bench.compile(chat())
    tt = TimeTravel(graph, create_forked_session=create)
    await bench.run(graph, {"messages": [("user", "hi")]}, "s")
    with caplog.at_level(logging.WARNING, "forkpoint"):
        fork = await bench.call(tt.fork, "s")
    assert announced == [(fork.session_id, fork.forked_from)]
    assert "no room" in caplog.text
    assert (await bench.call(tt.get_state, fork.session_id)).metadata.source == "fork"


async def test_a_plan_says_what_a_fork_would_do_and_does_nothing(bench: Bench) -> None:
    graph = bench.compile(approval([]))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "s")
    before = await bench.dump("s")
    plan = await bench.call(tt.fork_plan, "s")
    assert (plan.superseded, plan.pending, plan.rerun) == (False, "auto", ("ask",))
    assert [each.value for each in plan.interrupts] == ["approve?"]
    asked = await bench.call(tt.get_state, "s")
    assert await bench.dump("s") == before
    await bench.run(graph, Command(resume="yes"), "s")
    plan = await bench.call(tt.fork_plan, "s", asked.config.checkpoint_id)
    assert (plan.superseded, plan.pending) == (True, "reask")
    assert set(plan.rerun) == {"pay", "ask"}


async def test_pending_work_of_a_node_that_is_gone_is_not_dropped_silently(
    bench: Bench,
) -> None:
    old = bench.compile(chain([]), interrupt_before=["b"])
    await bench.run(old, {"log": []}, "s")
    head = await bench.call(TimeTravel(old).get_state, "s")
    assert head.next == ("b",)
    tt = TimeTravel(bench.compile(chain([], names=("a", "renamed", "c"))))
    with pytest.raises(GraphChangedError, match="'b'"):
        await bench.call(tt.fork, "s", None, "new")
    assert await bench.dump("new") == []
    found = await bench.call(tt.forkable, "s", head.config.checkpoint_id)
    assert found.verdict == "with_loss"
    fine = await bench.call(TimeTravel(old).forkable, "s", head.config.checkpoint_id)
    assert fine.verdict == "yes"
    assert (await bench.call(tt.forkable, "s", "nothing")).verdict == "no"


async def test_sessions_can_be_kept_in_threads_of_another_name(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(
        graph,
        thread_id=lambda session: f"{session}:w1",
        session_id=lambda thread: thread.removesuffix(":w1"),
    )
    await bench.run(graph, {"messages": [("user", "hi")]}, "s:w1")
    fork = await bench.call(tt.fork, "s", None, "t")
    assert fork.snapshot.config.thread_id == "t:w1"
    assert fork.snapshot.metadata.forked_from == fork.forked_from.ref
    assert fork.forked_from.session_id == "s"
    across = await bench.call(tt.get_state_history, "t", across_forks=True)
    assert [each.config.session_id for each in across] == ["t", "s", "s"]


async def test_progress_is_reported_where_history_is_copied(bench: Bench) -> None:
    graph = bench.compile(nested([]))
    tt = TimeTravel(graph)
    await bench.run(graph, {"log": []}, "s")
    seen: list[tuple[int, int]] = []
    await bench.call(
        tt.fork, "s", ancestors="all", progress=lambda done, total: seen.append((done, total))
    )
    if not bench.kind.native:
        assert seen == [(done, len(seen)) for done in range(1, len(seen) + 1)]
        assert len(seen) == 8
