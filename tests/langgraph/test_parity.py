"""LangGraph behaves on our saver as it does on `InMemorySaver`.

Every scenario runs on both, under each durability, sync and async. Compared are what each call
returned or raised, and then every checkpoint of every namespace: values, versions, metadata,
parents, pending writes, delta history, and LangGraph's own snapshots of the whole history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

import forkpoint as fp
from tests.langgraph.record import outcomes, saver_content, snapshot
from tests.langgraph.scenarios import SCENARIOS, Scenario
from tests.langgraph.script import Durability, aplay, play

Content = dict[str, Any]
EVERY_SCENARIO = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda item: item.name)


def run(
    scenario: Scenario,
    saver: BaseCheckpointSaver[Any],
    durability: Durability,
    asynchronous: bool,
) -> Content:
    """Everything that can be seen of a scenario on a saver."""
    thread = "thread"
    build = scenario.build_async if asynchronous and scenario.build_async else scenario.build
    graph = build(saver)
    if asynchronous:
        log = asyncio.run(aplay(graph, thread, scenario.script, durability))
    else:
        log = play(graph, thread, scenario.script, durability)
    where: Any = {"configurable": {"thread_id": thread}}
    return {
        "outcomes": outcomes(log),
        "stored": saver_content(saver, thread),
        "history": [snapshot(item) for item in graph.get_state_history(where)],
        "state": snapshot(graph.get_state(where, subgraphs=True)),
    }


def assert_same(ours: Content, theirs: Content) -> None:
    """Compare piece by piece, so that a failure shows the first piece that differs."""
    assert len(theirs["history"]) > 0
    for number, (mine, other) in enumerate(zip(ours["outcomes"], theirs["outcomes"], strict=True)):
        assert mine == other, f"action {number}"
    assert sorted(ours["stored"]) == sorted(theirs["stored"])
    for namespace, other in theirs["stored"].items():
        for mine_part, other_part in zip(ours["stored"][namespace], other, strict=True):
            for key in other_part:
                assert mine_part[key] == other_part[key], f"namespace {namespace!r}, {key}"
    assert ours["history"] == theirs["history"]
    assert ours["state"] == theirs["state"]


@EVERY_SCENARIO
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync_calls", "async_calls"])
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_same_as_in_memory_saver(
    scenario: Scenario,
    durability: Durability,
    asynchronous: bool,
    url: str,
    ticking_ids: Callable[[], None],
) -> None:
    ticking_ids()
    theirs = run(scenario, InMemorySaver(), durability, asynchronous)
    ticking_ids()
    with fp.open(url) as store:
        ours = run(scenario, store.saver(), durability, asynchronous)
        assert_same(ours, theirs)
    with fp.open(url) as store:
        assert saver_content(store.saver(), "thread") == theirs["stored"], "after a reopen"


@EVERY_SCENARIO
def test_same_with_shared_values(
    scenario: Scenario, url: str, ticking_ids: Callable[[], None]
) -> None:
    ticking_ids()
    theirs = run(scenario, InMemorySaver(), "sync", False)
    ticking_ids()
    with fp.open(url, compress=False) as store:
        assert_same(run(scenario, store.saver(share_values=True), "sync", False), theirs)
