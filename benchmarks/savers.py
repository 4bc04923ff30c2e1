"""The contenders: LangGraph's stock savers with their default settings, and ours.

The file-based stock savers run in WAL with `synchronous=FULL`, which is what they set up for
themselves; so does Forkpoint.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    closing,
    contextmanager,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

import forkpoint as fp

Saver = BaseCheckpointSaver[Any]
Durability = Literal["sync", "async"]


@dataclass(frozen=True, slots=True)
class Contender:
    """A saver as one column of the tables."""

    name: str
    opened: Callable[[Path], AbstractContextManager[Saver]] | None
    """Opens the saver on a file; None where it has no synchronous methods."""
    aopened: Callable[[Path], AbstractAsyncContextManager[Saver]] | None = None
    durability: Durability = "sync"
    """What LangGraph's config says: under `async`, Forkpoint commits a superstep's writes together
    with the next checkpoint. Stock savers take no notice."""
    ours: bool = False
    on_disk: bool = True

    def open(self, path: Path) -> AbstractContextManager[Saver]:
        """The saver with its synchronous methods."""
        if self.opened is None:
            raise TypeError(f"{self.name} has no synchronous methods")
        return self.opened(path)

    def aopen(self, path: Path) -> AbstractAsyncContextManager[Saver]:
        """The saver with its asynchronous methods."""
        if self.aopened is None:
            raise TypeError(f"{self.name} is not measured asynchronously")
        return self.aopened(path)


@contextmanager
def _open_sqlite(path: Path) -> Iterator[Saver]:
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        yield SqliteSaver(connection)


@asynccontextmanager
async def _aopen_sqlite(path: Path) -> AsyncIterator[Saver]:
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        yield saver


@contextmanager
def _open_memory(path: Path) -> Iterator[Saver]:
    yield InMemorySaver()


@asynccontextmanager
async def _aopen_memory(path: Path) -> AsyncIterator[Saver]:
    yield InMemorySaver()


def _opening(
    *, compress: bool = False, share_values: bool = False
) -> Callable[[Path], AbstractContextManager[Saver]]:
    @contextmanager
    def opened(path: Path) -> Iterator[Saver]:
        with fp.open(str(path), compress=compress) as store:
            yield store.saver(share_values=share_values)

    return opened


def _aopening(
    *, share_values: bool = False
) -> Callable[[Path], AbstractAsyncContextManager[Saver]]:
    @asynccontextmanager
    async def aopened(path: Path) -> AsyncIterator[Saver]:
        async with fp.open(str(path)) as store:
            yield store.saver(share_values=share_values)

    return aopened


SQLITE = Contender("SqliteSaver", _open_sqlite)
ASYNC_SQLITE = Contender("AsyncSqliteSaver", None, _aopen_sqlite)
MEMORY = Contender("InMemorySaver", _open_memory, _aopen_memory, on_disk=False)
FORKPOINT = Contender("Forkpoint", _opening(), _aopening(), ours=True)
RIDING = Contender("Forkpoint riding", _opening(), _aopening(), durability="async", ours=True)
ZSTD = Contender("Forkpoint zstd", _opening(compress=True), ours=True)
SHARING = Contender(
    "Forkpoint shared",
    _opening(share_values=True),
    _aopening(share_values=True),
    durability="async",
    ours=True,
)
