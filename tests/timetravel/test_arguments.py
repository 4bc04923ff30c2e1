"""Every public method refuses a wrong argument by name, on any checkpointer and both faces."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from forkpoint.errors import CapabilityError, ForkpointError, InvalidArgumentError
from forkpoint.model import CheckpointRef, Write
from forkpoint.timetravel import TimeTravel
from tests.timetravel.conftest import Bench
from tests.timetravel.graphs_under_test import chat

BAD_IDS: list[Any] = ["", 7, b"s", ["s"], "\x00", "\ud800", object()]
BAD_LIMITS: list[Any] = [-1, True, "5", 2.0, None]
ODD_IDS = ["'; DROP TABLE checkpoints; --", "%_\\", "日本語 🦀", "a" * 1000, "\u202e", "|:"]

WRONG = [
    *(("get_state", (each,), {}, "session_id") for each in BAD_IDS),
    *(("get_state", ("s", each), {}, "checkpoint_id") for each in BAD_IDS),
    *(("get_state_history", ("s",), {"limit": each}, "limit") for each in BAD_LIMITS),
    *(("get_timeline", ("s",), {"limit": each}, "limit") for each in BAD_LIMITS),
    ("get_state_history", ("s",), {"before": 7}, "before"),
    ("get_state_history", ("s",), {"source": ""}, "source"),
    ("get_state_history", ("s",), {"across_forks": 1}, "across_forks"),
    ("get_timeline", (None,), {}, "session_id"),
    ("find_checkpoint", ("s",), {}, "message_id"),
    ("find_checkpoint", ("s",), {"message_id": "m", "turn": 1}, "turn"),
    ("find_checkpoint", ("s",), {"turn": 0}, "turn"),
    ("find_checkpoint", ("s",), {"turn": True}, "turn"),
    ("find_checkpoint", ("s",), {"before_message": 3}, "before_message"),
    ("find_checkpoint", ("s",), {"turn": 1, "side": "left"}, "side"),
    ("bisect", ("s", "not a function"), {}, "predicate"),
    ("compare", ("a", "b"), {}, "before"),
    ("compare", (CheckpointRef("s", "c"), CheckpointRef("s", "")), {}, "after.checkpoint_id"),
    ("bulk_update_state", ("s", []), {}, "supersteps"),
    ("bulk_update_state", ("s", "text"), {}, "supersteps"),
    ("bulk_update_state", ("s", [[]]), {}, "supersteps[0]"),
    ("bulk_update_state", ("s", [[("n", 1)]]), {}, "supersteps[0][0]"),
    ("bulk_update_state", ("s", [[Write("", 1)]]), {}, "supersteps[0][0].node"),
    ("fork", (None,), {}, "source_session_id"),
    ("fork", ("s", 5), {}, "checkpoint_id"),
    ("fork", ("s", None, ""), {}, "new_session_id"),
    ("fork", ("s",), {"pending": "all"}, "pending"),
    ("fork", ("s",), {"ancestors": -1}, "ancestors"),
    ("fork", ("s",), {"ancestors": True}, "ancestors"),
    ("fork", ("s",), {"namespace": 3}, "namespace"),
    ("fork", ("s",), {"request_id": ""}, "request_id"),
    ("fork", ("s",), {"by": 3}, "by"),
    ("fork", ("s",), {"progress": 3}, "progress"),
    ("fork", ("s",), {"as_node": "agent"}, "as_node"),
    ("fork_plan", ("s",), {"pending": None}, "pending"),
    ("forkable", ("s", None), {}, "checkpoint_id"),
    ("origin", ("",), {}, "session_id"),
]


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize(("method", "args", "keywords", "argument"), WRONG)
async def test_a_wrong_argument_is_named(
    method: str, args: Any, keywords: Any, argument: str, face: str
) -> None:
    tt = TimeTravel(chat().compile(checkpointer=InMemorySaver()))

    async def asked() -> None:
        if face == "sync":
            getattr(tt, method)(*args, **keywords)
        else:
            await getattr(tt, f"a{method}")(*args, **keywords)

    with pytest.raises(InvalidArgumentError) as caught:
        await asked()
    assert caught.value.argument == argument


async def test_ids_may_be_any_text(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    for odd in ODD_IDS:
        await bench.run(graph, {"messages": [("user", odd)]}, odd)
        fork = await bench.call(tt.fork, odd, None, f"fork of {odd}", reason=odd, by=odd)
        assert fork.forked_from.session_id == odd
        assert fork.forked_from.reason == odd
        with pytest.raises(ForkpointError):
            await bench.call(tt.get_state, odd, odd)


async def test_a_huge_limit_is_no_limit_and_zero_is_nothing(bench: Bench) -> None:
    graph = bench.compile(chat())
    tt = TimeTravel(graph)
    await bench.run(graph, {"messages": [("user", "hi")]}, "s")
    assert len(await bench.call(tt.get_state_history, "s", limit=10**9)) == 3
    assert len(await bench.call(tt.get_timeline, "s", limit=10**9)) == 3
    assert await bench.call(tt.get_state_history, "s", limit=0) == []


def test_what_cannot_be_travelled_over_is_refused() -> None:
    with pytest.raises(CapabilityError, match="no checkpointer"):
        TimeTravel(chat().compile())
    with pytest.raises(InvalidArgumentError, match="compile"):
        TimeTravel(chat())  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="node_subscriptions"):
        TimeTravel(InMemorySaver(), None, {"a": ["b"]})
    with pytest.raises(InvalidArgumentError, match="node_subscriptions"):
        TimeTravel(InMemorySaver(), dict, {"a": "b"})


async def test_the_sync_face_of_an_event_loop_saver_says_what_to_call() -> None:
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        tt = TimeTravel(saver)
        with pytest.raises(CapabilityError, match="begins with 'a'"):
            tt.get_state("s")
        with pytest.raises(CapabilityError, match="begins with 'a'"):
            next(tt.get_state_history("s"))
