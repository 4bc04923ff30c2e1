"""The contenders: LangGraph's stock savers with their default settings, and ours.

The file-based stock savers run in WAL with `synchronous=FULL`, which is what they set up for
themselves; so does Forkpoint. On PostgreSQL all run with the server's settings.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    closing,
    contextmanager,
)
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg import Connection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool

import forkpoint as fp
from benchmarks.places import Database, Place

Saver = BaseCheckpointSaver[Any]
Durability = Literal["sync", "async"]


class Role(Enum):
    """What a contender is measured as, on either database."""

    STOCK = auto()
    ASYNC_STOCK = auto()
    POOLED_STOCK = auto()
    """The stock saver on as many connections as there are writers."""
    MEMORY = auto()
    """The stock saver that keeps nothing. It stands beside those on SQLite."""
    OURS = auto()
    RIDING = auto()
    """Ours as LangGraph runs it by default: writes are saved beside the run."""
    ZSTD = auto()
    SHARING = auto()


@dataclass(frozen=True, slots=True)
class Contender:
    """A saver as one column of the tables."""

    name: str
    database: Database
    role: Role
    opened: Callable[[Place], AbstractContextManager[Saver]] | None
    """Opens the saver; None where it has no synchronous methods."""
    aopened: Callable[[Place], AbstractAsyncContextManager[Saver]] | None = None
    durability: Durability = "sync"
    """What LangGraph's config says: under `async`, Forkpoint commits a superstep's writes together
    with the next checkpoint. Stock savers take no notice."""
    prepare: Callable[[Place], None] | None = None
    """What a user does once, when the database is new."""

    @property
    def ours(self) -> bool:
        """Whether this is Forkpoint."""
        return self.role in (Role.OURS, Role.RIDING, Role.ZSTD, Role.SHARING)

    def topic(self, name: str) -> str:
        """The topic that its samples belong to."""
        return self.database.topic(name)

    def open(self, place: Place) -> AbstractContextManager[Saver]:
        """The saver with its synchronous methods."""
        if self.opened is None:
            raise TypeError(f"{self.name} has no synchronous methods")
        return self.opened(place)

    def aopen(self, place: Place) -> AbstractAsyncContextManager[Saver]:
        """The saver with its asynchronous methods."""
        if self.aopened is None:
            raise TypeError(f"{self.name} is not measured asynchronously")
        return self.aopened(place)


@contextmanager
def _open_sqlite(place: Place) -> Iterator[Saver]:
    with closing(sqlite3.connect(place.url, check_same_thread=False)) as connection:
        yield SqliteSaver(connection)


@asynccontextmanager
async def _aopen_sqlite(place: Place) -> AsyncIterator[Saver]:
    async with AsyncSqliteSaver.from_conn_string(place.url) as saver:
        yield saver


@contextmanager
def _open_memory(place: Place) -> Iterator[Saver]:
    yield InMemorySaver()


@asynccontextmanager
async def _aopen_memory(place: Place) -> AsyncIterator[Saver]:
    yield InMemorySaver()


@contextmanager
def _open_postgres(place: Place) -> Iterator[Saver]:
    with PostgresSaver.from_conn_string(place.url) as saver:
        yield saver


@asynccontextmanager
async def _aopen_postgres(place: Place) -> AsyncIterator[Saver]:
    async with AsyncPostgresSaver.from_conn_string(place.url) as saver:
        yield saver


@contextmanager
def _open_pooled_postgres(place: Place) -> Iterator[Saver]:
    pool: ConnectionPool[Connection[DictRow]] = ConnectionPool(
        place.url,
        min_size=_POOL,
        max_size=_POOL,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        open=False,
    )
    with pool:
        pool.wait()
        yield PostgresSaver(pool)


def _set_up_postgres(place: Place) -> None:
    with PostgresSaver.from_conn_string(place.url) as saver:
        saver.setup()


def _opening(
    *, compress: bool = False, share_values: bool = False
) -> Callable[[Place], AbstractContextManager[Saver]]:
    @contextmanager
    def opened(place: Place) -> Iterator[Saver]:
        with fp.open(place.url, compress=compress) as store:
            yield store.saver(share_values=share_values)

    return opened


def _aopening(
    *, share_values: bool = False
) -> Callable[[Place], AbstractAsyncContextManager[Saver]]:
    @asynccontextmanager
    async def aopened(place: Place) -> AsyncIterator[Saver]:
        async with fp.open(place.url) as store:
            yield store.saver(share_values=share_values)

    return aopened


_POOL = 16


def _ours_on(database: Database) -> Iterator[Contender]:
    yield Contender("Forkpoint", database, Role.OURS, _opening(), _aopening())
    yield Contender(
        "Forkpoint riding", database, Role.RIDING, _opening(), _aopening(), durability="async"
    )
    yield Contender("Forkpoint zstd", database, Role.ZSTD, _opening(compress=True))
    yield Contender(
        "Forkpoint shared",
        database,
        Role.SHARING,
        _opening(share_values=True),
        _aopening(share_values=True),
        durability="async",
    )


CONTENDERS: Sequence[Contender] = (
    Contender("SqliteSaver", Database.SQLITE, Role.STOCK, _open_sqlite),
    Contender("AsyncSqliteSaver", Database.SQLITE, Role.ASYNC_STOCK, None, _aopen_sqlite),
    Contender("InMemorySaver", Database.SQLITE, Role.MEMORY, _open_memory, _aopen_memory),
    *_ours_on(Database.SQLITE),
    Contender(
        "PostgresSaver", Database.POSTGRES, Role.STOCK, _open_postgres, prepare=_set_up_postgres
    ),
    Contender(
        "AsyncPostgresSaver",
        Database.POSTGRES,
        Role.ASYNC_STOCK,
        None,
        _aopen_postgres,
        prepare=_set_up_postgres,
    ),
    Contender(
        "PostgresSaver, pool",
        Database.POSTGRES,
        Role.POOLED_STOCK,
        _open_pooled_postgres,
        prepare=_set_up_postgres,
    ),
    *_ours_on(Database.POSTGRES),
)


def contenders(databases: Sequence[Database], *roles: Role) -> list[Contender]:
    """Those who play some roles on some databases."""
    return [one for one in CONTENDERS if one.role in roles and one.database in databases]


def name_of(database: Database, role: Role) -> str:
    """What the contender in a role is called."""
    return next(one.name for one in CONTENDERS if (one.database, one.role) == (database, role))
