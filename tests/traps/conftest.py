"""Each trap is tried with both ways to fork: through `TimeTravel`, and on the saver."""

from __future__ import annotations

from typing import Any, Protocol

import pytest
from langgraph.pregel import Pregel

import forkpoint as fp


class MakeFork(Protocol):
    """Fork a checkpoint of a graph's thread into a new thread."""

    def __call__(
        self,
        graph: Pregel[Any, Any, Any, Any],
        source: str,
        checkpoint_id: str,
        destination: str,
        **options: Any,
    ) -> None: ...


def through_time_travel(
    graph: Pregel[Any, Any, Any, Any],
    source: str,
    checkpoint_id: str,
    destination: str,
    **options: Any,
) -> None:
    """What a user calls."""
    fork = fp.TimeTravel(graph).fork(source, checkpoint_id, destination, **options)
    assert fork.ref == fp.CheckpointRef(destination, checkpoint_id)
    assert fork.forked_from.ref == fp.CheckpointRef(source, checkpoint_id)


def on_the_saver(
    graph: Pregel[Any, Any, Any, Any],
    source: str,
    checkpoint_id: str,
    destination: str,
    **options: Any,
) -> None:
    """What lies under it."""
    outcome = graph.checkpointer.fork_session(source, checkpoint_id, destination, **options)  # type: ignore[union-attr]
    assert outcome.created
    assert outcome.origin.ref == fp.CheckpointRef(source, checkpoint_id)


@pytest.fixture(params=[through_time_travel, on_the_saver], ids=["time_travel", "saver"])
def make_fork(request: pytest.FixtureRequest) -> MakeFork:
    """A way to fork."""
    found: MakeFork = request.param
    return found
