"""Every checkpointer that Forkpoint works over, opened the same way.

`SAVERS` maps a name to a `SaverKind`. A test asks for one with ``async with kind.open(where)``,
which gives an empty, ready saver and closes it afterwards. PostgreSQL is a real server
(`tests.postgres`).

A kind says which faces it has: `sync` savers can be driven without an event loop, `asynchronous`
ones inside one. `faces` lists the pairs that a parametrized test should run.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from tests.postgres import Postgres

AnySaver = BaseCheckpointSaver[Any]
Opener = Callable[["Place"], AbstractAsyncContextManager[AnySaver]]


@dataclass(frozen=True)
class Place:
    """Where a saver may keep its data."""

    directory: Path
    postgres: Postgres


@dataclass(frozen=True)
class SaverKind:
    """One kind of checkpointer."""

    name: str
    open: Opener
    sync: bool = True
    asynchronous: bool = True
    native: bool = False
    """True for Forkpoint's own saver."""
    postgres: bool = False


@asynccontextmanager
async def _memory(place: Place) -> AsyncIterator[AnySaver]:
    yield InMemorySaver()


@asynccontextmanager
async def _sqlite(place: Place) -> AsyncIterator[AnySaver]:
    from langgraph.checkpoint.sqlite import SqliteSaver

    path = place.directory / f"{uuid.uuid4().hex}.sqlite"
    connection = sqlite3.connect(path, check_same_thread=False)
    try:
        yield SqliteSaver(connection)
    finally:
        connection.close()


@asynccontextmanager
async def _async_sqlite(place: Place) -> AsyncIterator[AnySaver]:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    path = place.directory / f"{uuid.uuid4().hex}.sqlite"
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        yield saver


@asynccontextmanager
async def _postgres(place: Place) -> AsyncIterator[AnySaver]:
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(place.postgres.new_database()) as saver:
        saver.setup()
        yield saver


@asynccontextmanager
async def _async_postgres(place: Place) -> AsyncIterator[AnySaver]:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    async with AsyncPostgresSaver.from_conn_string(place.postgres.new_database()) as saver:
        await saver.setup()
        yield saver


@asynccontextmanager
async def _forkpoint(place: Place) -> AsyncIterator[AnySaver]:
    import forkpoint

    path = place.directory / f"{uuid.uuid4().hex}.db"
    store = forkpoint.open(str(path))
    try:
        yield store.saver()
    finally:
        store.close()


@asynccontextmanager
async def _forkpoint_postgres(place: Place) -> AsyncIterator[AnySaver]:
    import forkpoint

    store = forkpoint.open(place.postgres.url())
    try:
        yield store.saver()
    finally:
        store.close()


KINDS = (
    SaverKind("memory", _memory),
    SaverKind("sqlite", _sqlite),
    SaverKind("async_sqlite", _async_sqlite, sync=False),
    SaverKind("postgres", _postgres, postgres=True),
    SaverKind("async_postgres", _async_postgres, sync=False, postgres=True),
    SaverKind("forkpoint", _forkpoint, native=True),
    SaverKind("forkpoint_postgres", _forkpoint_postgres, native=True, postgres=True),
)

SAVERS = {kind.name: kind for kind in KINDS}
