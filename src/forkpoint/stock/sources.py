"""The tables of LangGraph's savers, read as they are. Never written.

Where the saver API tells everything it is used; a write's place among the writes of its task, and
the path of the task, are in the tables only.

Every thread is read in one moment of its database, so a graph may be running on it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from forkpoint.configs import config_of
from forkpoint.errors import CapabilityError, DatabaseError, InvalidArgumentError

Saver = BaseCheckpointSaver[Any]


class Key(NamedTuple):
    """A checkpoint of a thread."""

    namespace: str
    id: str


class Outline(NamedTuple):
    """A checkpoint of a thread, as far as its order in it depends on it."""

    key: Key
    parent: str | None


class StockCheckpoint(NamedTuple):
    """A checkpoint as it was read."""

    key: Key
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    shares_values: bool
    """True when a channel of the same version as the parent's is known to have the same value."""


class StockWrite(NamedTuple):
    """A write as it was read."""

    key: Key
    task_id: str
    task_path: str
    position: int
    channel: str
    value: Any


class Source(Protocol):
    """A database of one of LangGraph's savers."""

    saver: Saver
    """LangGraph's own saver over the same connection."""

    def threads(self) -> list[tuple[str, int]]:
        """Every thread, and how many checkpoints it has."""

    def moment(self) -> AbstractContextManager[None]:
        """Within it, all reads see one moment of the database."""

    def outline(self, thread: str) -> list[Outline]:
        """The checkpoints of a thread, in the order in which LangGraph takes them for written."""

    def checkpoints(self, thread: str, keys: Sequence[Key]) -> Iterator[StockCheckpoint]:
        """Some checkpoints of a thread, in the order of the keys."""

    def writes(self, thread: str, keys: Sequence[Key]) -> Iterator[StockWrite]:
        """The writes on some checkpoints of a thread."""

    def close(self) -> None:
        """Let go of the database."""


def open_source(kind: str, url: str, serde: SerializerProtocol) -> Source:
    """The database of a saver: kind ``sqlite`` with a path, or ``postgres`` with a URL.

    Raises `InvalidArgumentError`, `DatabaseError`, or `CapabilityError` when LangGraph's package
    for it is not installed.
    """
    if kind == "sqlite":
        return SqliteSource(url, serde)
    if kind == "postgres":
        from forkpoint.stock.postgres import PostgresSource

        return PostgresSource(url, serde)
    raise InvalidArgumentError("kind", f"must be sqlite or postgres, not {kind!r}")


def missing_package(name: str, error: ImportError) -> CapabilityError:
    """An error that says what to install."""
    return CapabilityError(f"{name} is needed to read this database: pip install {name} ({error})")


class SqliteSource:
    """A file of `SqliteSaver` or `AsyncSqliteSaver`, opened for reading only."""

    def __init__(self, url: str, serde: SerializerProtocol) -> None:
        try:
            from langgraph.checkpoint.sqlite import SqliteSaver
        except ImportError as error:
            raise missing_package("langgraph-checkpoint-sqlite", error) from error
        self._path = url.removeprefix("sqlite:///")
        if not Path(self._path).is_file():
            raise InvalidArgumentError("url", f"there is no file {self._path!r}")
        self._serde = serde
        try:
            self._connection = self._connect()
            tables = {row[0] for row in self._all("SELECT name FROM sqlite_master")}
            if not {"checkpoints", "writes"} <= tables:
                raise InvalidArgumentError(
                    "url", f"{self._path!r} is no database of LangGraph's SqliteSaver"
                )
            columns = {row[1] for row in self._all("PRAGMA table_info(writes)")}
        except sqlite3.Error as error:
            raise DatabaseError(f"{self._path}: {error}") from error
        saver = SqliteSaver(self._connection, serde=self._serde)
        # It would create its tables, or bring them up to date, before it reads.
        saver.is_setup = True
        self._task_path = "task_path" if "task_path" in columns else "''"
        saver._has_task_path = "task_path" in columns
        self.saver: Saver = saver

    def _connect(self) -> sqlite3.Connection:
        name = f"file:{quote(str(Path(self._path).absolute()))}"
        connection = sqlite3.connect(
            f"{name}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")
        except sqlite3.OperationalError:
            connection.close()
            if Path(f"{self._path}-wal").exists():
                raise
            # Where SQLite may not put its files beside the database, nobody writes to it either.
            connection = sqlite3.connect(
                f"{name}?immutable=1", uri=True, isolation_level=None, check_same_thread=False
            )
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return self._connection.execute(sql, parameters).fetchall()

    def threads(self) -> list[tuple[str, int]]:
        return self._all(
            "SELECT thread_id, count(*) FROM checkpoints GROUP BY thread_id ORDER BY thread_id"
        )

    @contextmanager
    def moment(self) -> Iterator[None]:
        try:
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise DatabaseError(f"{self._path}: {error}") from error

    def outline(self, thread: str) -> list[Outline]:
        return [
            Outline(Key(namespace, checkpoint), parent or None)
            for namespace, checkpoint, parent in self._all(
                "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints"
                " WHERE thread_id = ? ORDER BY checkpoint_id",
                (thread,),
            )
        ]

    def checkpoints(self, thread: str, keys: Sequence[Key]) -> Iterator[StockCheckpoint]:
        for key in keys:
            ((kind, data, metadata),) = self._all(
                "SELECT type, checkpoint, metadata FROM checkpoints"
                " WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
                (thread, *key),
            )
            described = {} if metadata is None else json.loads(metadata)
            yield StockCheckpoint(key, self._serde.loads_typed((kind, data)), described, False)

    def writes(self, thread: str, keys: Sequence[Key]) -> Iterator[StockWrite]:
        for key in keys:
            rows = self._all(
                f"SELECT task_id, {self._task_path}, idx, channel, type, value FROM writes"
                " WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
                (thread, *key),
            )
            for task, path, position, channel, kind, data in rows:
                value = self._serde.loads_typed((kind, data))
                yield StockWrite(key, task, path, position, channel, value)

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()


def tuple_of(saver: Saver, thread: str, key: Key) -> Any:
    """A checkpoint as LangGraph's saver tells it."""
    found = saver.get_tuple(config_of(thread, *key))
    assert found is not None
    return found
