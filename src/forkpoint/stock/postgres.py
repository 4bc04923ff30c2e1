"""The tables of LangGraph's PostgresSaver, read as they are, in read-only transactions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from forkpoint.errors import DatabaseError, InvalidArgumentError
from forkpoint.stock.sources import (
    Key,
    Outline,
    Saver,
    StockCheckpoint,
    StockWrite,
    missing_package,
    tuple_of,
)

_SENDS_BY_PARENT = 4
"""Format of a checkpoint before which queued `Send`s lie with the parent's writes."""
_EMPTY = "empty"


class PostgresSource:
    """A database of `PostgresSaver` or `AsyncPostgresSaver`."""

    def __init__(self, url: str, serde: SerializerProtocol) -> None:
        try:
            import psycopg
            from langgraph.checkpoint.postgres import PostgresSaver
        except ImportError as error:
            raise missing_package("langgraph-checkpoint-postgres", error) from error
        self._error = psycopg.Error
        self._serde = serde
        try:
            self._connection = psycopg.Connection[Any].connect(url, prepare_threshold=None)
            self._connection.read_only = True
            self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            with self._connection.transaction():
                row = self._all(
                    "SELECT to_regclass('checkpoints'), to_regclass('checkpoint_blobs')"
                )
        except psycopg.Error as error:
            raise DatabaseError(f"PostgreSQL: {error}") from error
        if None in row[0]:
            self._connection.close()
            raise InvalidArgumentError("url", "is no database of LangGraph's PostgresSaver")
        connection: Any = self._connection
        self.saver: Saver = PostgresSaver(connection, serde=self._serde)
        #: Values of the channel versions that the last checkpoints had.
        self._values: dict[tuple[str, str, str], Any] = {}

    def _all(self, sql: Any, parameters: Sequence[Any] = ()) -> list[Any]:
        with self._connection.cursor(binary=True) as cursor:
            return cursor.execute(sql, parameters).fetchall()

    def threads(self) -> list[tuple[str, int]]:
        with self.moment():
            return self._all(
                "SELECT thread_id, count(*) FROM checkpoints GROUP BY thread_id ORDER BY thread_id"
            )

    @contextmanager
    def moment(self) -> Iterator[None]:
        try:
            with self._connection.transaction():
                yield
        except self._error as error:
            raise DatabaseError(f"PostgreSQL: {error}") from error
        finally:
            self._values.clear()

    def outline(self, thread: str) -> list[Outline]:
        return [
            Outline(Key(namespace, checkpoint), parent or None)
            for namespace, checkpoint, parent in self._all(
                "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints"
                " WHERE thread_id = %s ORDER BY checkpoint_id",
                (thread,),
            )
        ]

    def checkpoints(self, thread: str, keys: Sequence[Key]) -> Iterator[StockCheckpoint]:
        rows = {
            Key(namespace, checkpoint): (body, metadata)
            for namespace, checkpoint, body, metadata in self._all(
                "SELECT checkpoint_ns, checkpoint_id, checkpoint, metadata FROM checkpoints"
                " WHERE thread_id = %s AND (checkpoint_ns, checkpoint_id) IN"
                " (SELECT * FROM unnest(%s::text[], %s::text[]))",
                (thread, [key.namespace for key in keys], [key.id for key in keys]),
            )
        }
        wanted = {
            (key.namespace, channel, str(version))
            for key, (body, _) in rows.items()
            for channel, version in body["channel_versions"].items()
        }
        self._values = {at: held for at, held in self._values.items() if at in wanted}
        self._read_values(thread, [at for at in sorted(wanted) if at not in self._values])
        for key in keys:
            body, metadata = rows[key]
            if body["v"] < _SENDS_BY_PARENT:
                found = tuple_of(self.saver, thread, key)
                yield StockCheckpoint(key, dict(found.checkpoint), dict(found.metadata), False)
                continue
            values = dict(body.get("channel_values") or {})
            for channel, version in body["channel_versions"].items():
                at = (key.namespace, channel, str(version))
                if at in self._values and self._values[at] is not _NOTHING:
                    values[channel] = self._values[at]
            yield StockCheckpoint(key, {**body, "channel_values": values}, metadata, True)

    def _read_values(self, thread: str, wanted: Sequence[tuple[str, str, str]]) -> None:
        for at in wanted:
            self._values[at] = _NOTHING
        rows = self._all(
            "SELECT checkpoint_ns, channel, version, type, blob FROM checkpoint_blobs"
            " WHERE thread_id = %s AND (checkpoint_ns, channel, version) IN"
            " (SELECT * FROM unnest(%s::text[], %s::text[], %s::text[]))",
            (thread, *([at[part] for at in wanted] for part in range(3))),
        )
        for namespace, channel, version, kind, data in rows:
            if kind != _EMPTY:
                value = self._serde.loads_typed((kind, data))
                self._values[namespace, channel, version] = value

    def writes(self, thread: str, keys: Sequence[Key]) -> Iterator[StockWrite]:
        rows = self._all(
            "SELECT checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob"
            " FROM checkpoint_writes WHERE thread_id = %s AND (checkpoint_ns, checkpoint_id) IN"
            " (SELECT * FROM unnest(%s::text[], %s::text[]))",
            (thread, [key.namespace for key in keys], [key.id for key in keys]),
        )
        for namespace, checkpoint, task, path, position, channel, kind, data in rows:
            value = self._serde.loads_typed((kind, data))
            yield StockWrite(Key(namespace, checkpoint), task, path, position, channel, value)

    def close(self) -> None:
        self._connection.close()


class _Nothing:
    """A channel version without a value."""


_NOTHING = _Nothing()
