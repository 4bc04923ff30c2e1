"""Each test of time travel runs over every checkpointer, on each face that it has.

A `Bench` gives the test one way to call both faces: ``await bench.run(graph, input, session)`` and
``await bench.call(tt.fork, ...)`` do what ``invoke`` and ``fork`` do on the face under test.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langgraph.checkpoint.base import BaseCheckpointSaver

from forkpoint.timetravel import TimeTravel
from tests.postgres import Postgres
from tests.savers import SAVERS, Place, SaverKind

FACES = [
    (name, face)
    for name, kind in SAVERS.items()
    for face in ("sync", "async")
    if face == "async" or kind.sync
]


class Bench:
    """One checkpointer and the face it is used by."""

    def __init__(self, kind: SaverKind, face: str, saver: BaseCheckpointSaver[Any]) -> None:
        self.kind = kind
        self.face = face
        self.saver = saver

    def compile(self, builder: Any, **options: Any) -> Any:
        return builder.compile(checkpointer=self.saver, **options)

    def travel(self, builder: Any, **options: Any) -> TimeTravel:
        return TimeTravel(self.compile(builder), **options)

    @property
    def runs_async(self) -> bool:
        """Whether graphs can be run on the event loop; some savers have no async methods."""
        return self.face == "async" and self.kind.name not in ("sqlite", "postgres")

    async def run(self, graph: Any, given: Any, session: str, **config: Any) -> Any:
        place = {"configurable": {"thread_id": session, **config}}
        if self.runs_async:
            return await graph.ainvoke(given, place)
        return graph.invoke(given, place)

    async def call(self, method: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        """Call a `TimeTravel` method, or its ``a`` twin, and make lists of iterators."""
        if self.face == "async":
            owner = method.__self__  # type: ignore[attr-defined]
            answer = getattr(owner, f"a{method.__name__}")(*args, **keywords)
            if inspect.isasyncgen(answer):
                return [item async for item in answer]
            return await answer
        answer = method(*args, **keywords)
        return list(answer) if inspect.isgenerator(answer) else answer

    async def dump(self, session: str) -> list[Any]:
        """Everything a checkpointer says of a session, to be compared with itself later."""
        place = {"configurable": {"thread_id": session}}
        if self.runs_async:
            rows = [row async for row in self.saver.alist(place)]
        else:
            rows = list(self.saver.list(place))
        return [
            (row.config, row.parent_config, row.metadata, row.checkpoint, row.pending_writes)
            for row in rows
        ]


@pytest_asyncio.fixture(params=FACES, ids=lambda face: f"{face[0]}-{face[1]}")
async def bench(
    request: pytest.FixtureRequest, tmp_path: Path, postgres: Postgres
) -> AsyncIterator[Bench]:
    name, face = request.param
    kind = SAVERS[name]
    async with AsyncExitStack() as stack:
        saver = await stack.enter_async_context(kind.open(Place(tmp_path, postgres)))
        yield Bench(kind, face, saver)
