"""Nothing hangs: listings hold no lock, and sync calls on a running loop work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage

from tests.checkpoints import Saver, chain, checkpoint, head, ids, place, put, write
from tests.langgraph.graphs import chat

PATIENCE = 20.0
"""Seconds after which a call counts as hanging."""


def in_time(call: Callable[[], Any]) -> Any:
    """Run a call in a thread; fail when it does not come back."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((True, call()))
        except BaseException as error:
            outcome.append((False, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert outcome, "the call hangs"
    worked, value = outcome[0]
    if not worked:
        raise value
    return value


def test_get_tuple_inside_a_list_loop(saver: Saver) -> None:
    made = chain(saver, "t", 120)

    def walk() -> list[str]:
        seen = []
        for item in saver.list(place("t")):
            again = saver.get_tuple(item.config)
            assert again is not None
            assert again.checkpoint == item.checkpoint
            seen.append(item.checkpoint["id"])
        return seen

    assert in_time(walk) == list(reversed(made))


def test_writing_inside_a_list_loop(saver: Saver) -> None:
    made = chain(saver, "t", 120)

    def walk() -> list[str]:
        seen = []
        for number, item in enumerate(saver.list(place("t"))):
            put(saver, "t", made[-1], {"x": number}, version=1000 + number)
            seen.append(item.checkpoint["id"])
            if len(seen) > 1000:
                break
        return seen

    assert in_time(walk) == list(reversed(made)), "a listing shows what was there when it began"


def test_list_abandoned_after_one_item_does_not_block_a_put(saver: Saver) -> None:
    made = chain(saver, "t", 120)
    listing = saver.list(place("t"))
    assert next(listing).checkpoint["id"] == made[-1]

    def go_on() -> str:
        write(saver, "t", made[-1], [("x", 1)])
        return put(saver, "t", made[-1], {"x": 1}, version=1000)

    added = in_time(go_on)
    assert in_time(lambda: head(saver, "t").checkpoint["id"]) == added
    assert len(list(listing)) == 119


async def test_alist_abandoned_after_one_item_does_not_block_a_put(saver: Saver) -> None:
    made = chain(saver, "t", 120)
    async for _ in saver.alist(place("t")):
        break
    listing = saver.alist(place("t"))
    await anext(listing)  # type: ignore[arg-type]
    config = await asyncio.wait_for(
        saver.aput_writes(place("t", made[-1]), [("x", 1)], "task"), PATIENCE
    )
    assert config is None
    async with asyncio.timeout(PATIENCE):
        async for item in saver.alist(place("t")):
            assert (await saver.aget_tuple(item.config)) is not None


async def test_sync_calls_on_a_running_loop_come_back(saver: Saver) -> None:
    first = await asyncio.wait_for(asyncio.to_thread(put, saver, "t", None, {"x": 1}), PATIENCE)
    second = put(saver, "t", first, {"x": 2}, version=2)
    write(saver, "t", second, [("y", 1)])
    assert head(saver, "t").checkpoint["id"] == second
    assert ids(saver, "t") == [second, first]
    assert saver.get_delta_channel_history(config=place("t"), channels=["x"])
    saver.fork_session("t", second, "fork")  # type: ignore[attr-defined]
    saver.prune(["t"])
    saver.delete_for_runs(["r"])
    saver.copy_thread("t", "copy")
    saver.delete_thread("t")


async def test_sync_graph_on_a_running_loop(saver: Saver) -> None:
    graph = chat(saver)
    where: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"messages": [HumanMessage("one", id="h0")]}, where)
    result = await graph.ainvoke({"messages": [HumanMessage("two", id="h1")]}, where)
    assert len(result["messages"]) == 4
    assert len(list(graph.get_state_history(where))) == 8


async def test_many_loops_and_threads_use_one_saver(saver: Saver) -> None:
    async def turn(thread: str) -> int:
        graph = chat(saver)
        where: Any = {"configurable": {"thread_id": thread}}
        for number in range(3):
            await graph.ainvoke({"messages": [HumanMessage("x", id=f"h{number}")]}, where)
        return len((await graph.aget_state(where)).values["messages"])

    here = asyncio.gather(*(turn(f"here {number}") for number in range(4)))
    there = asyncio.gather(
        *(
            asyncio.to_thread(lambda number=number: asyncio.run(turn(f"there {number}")))  # type: ignore[misc]
            for number in range(4)
        )
    )
    async with asyncio.timeout(60):
        assert await here == [6] * 4
        assert await there == [6] * 4


def test_same_saver_in_one_loop_after_another(saver: Saver) -> None:
    async def once(number: int) -> None:
        await saver.aput(
            place(f"t{number}"),
            checkpoint({}),  # type: ignore[arg-type]
            {"source": "loop", "step": 1},
            {},
        )

    for number in range(3):
        asyncio.run(once(number))
    assert [len(ids(saver, f"t{number}")) for number in range(3)] == [1, 1, 1]
