"""What the database alone needs for the same bytes and the same commits.

The tables that Forkpoint wrote are read into memory and written again to tables of the same shape,
in as many transactions as there were calls. Prepared rows, no serialization, no Python objects of
anybody's: the distance to this is what the saver itself costs. On PostgreSQL a transaction is one
round trip.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from psycopg.types.numeric import Int8BinaryDumper

from benchmarks import results as m
from benchmarks.measure import Bench
from benchmarks.places import Database, FilePlace, Place, ServerPlace
from benchmarks.workloads import Recording


@dataclass(frozen=True, slots=True)
class _Table:
    insert: str
    rows: Sequence[Sequence[Any]]


def limit(database: Database, *, riding: bool) -> str:
    """What the database alone is called."""
    return f"{database.value} alone{', riding' if riding else ''}"


def measure_limit(bench: Bench, recording: Recording, written: Place, calls: int) -> None:
    """Writes the rows of `written` again: one commit per call, then one per superstep."""
    supersteps = len(recording.puts)
    for riding, commits in ((False, calls), (True, supersteps)):
        if isinstance(written, FilePlace):
            fresh = bench.places.new(Database.SQLITE)
            value = _write_to_file(written, fresh, commits)
            fresh.discard()
        else:
            assert isinstance(written, ServerPlace)
            value = _write_to_server(written, commits)
        topic, name = recording.workload.name, limit(written.database, riding=riding)
        bench.results.add(
            written.database.topic(topic), m.SUPERSTEP, name, value / supersteps * 1e3
        )


def _write_to_file(written: FilePlace, fresh: Place, commits: int) -> float:
    with written.connect() as source, fresh.connect() as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        definitions = source.execute(
            "SELECT type, name, sql FROM sqlite_master"
            " WHERE type IN ('table', 'index') AND sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
            " ORDER BY type DESC"
        ).fetchall()
        for _, _, definition in definitions:
            connection.execute(definition)
        names = [name for kind, name, _ in definitions if kind == "table"]
        tables = [_table(source, name, name, "?") for name in names]

        def write(batch: Sequence[_Table]) -> None:
            _write_in_transaction(connection, batch)

        return _write_all(tables, commits, write)


def _write_in_transaction(connection: sqlite3.Connection, batch: Sequence[_Table]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for table in batch:
        connection.executemany(table.insert, table.rows)
    connection.execute("COMMIT")


def _write_to_server(written: ServerPlace, commits: int) -> float:
    with written.connect() as connection:
        connection.prepare_threshold = 0
        connection.adapters.register_dumper(int, Int8BinaryDumper)
        connection.execute("CREATE SCHEMA alone")
        names = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'forkpoint' ORDER BY tablename"
        ).fetchall()
        tables = []
        for (name,) in names:
            connection.execute(f"CREATE TABLE alone.{name} (LIKE forkpoint.{name} INCLUDING ALL)")
            tables.append(_table(connection, f"forkpoint.{name}", f"alone.{name}", "%b"))

        def write(batch: Sequence[_Table]) -> None:
            if len(batch) == 1 and len(batch[0].rows) == 1:
                connection.execute(batch[0].insert, batch[0].rows[0])
                return
            with connection.pipeline(), connection.cursor() as cursor:
                for table in batch:
                    for row in table.rows:
                        cursor.execute(table.insert, row)

        try:
            return _write_all(tables, commits, write)
        finally:
            connection.execute("DROP SCHEMA alone CASCADE")


def _table(connection: Any, source: str, target: str, mark: str) -> _Table:
    """A table's rows, with the statement that inserts one."""
    found = connection.execute(f"SELECT * FROM {source}")
    columns = [f'"{column[0]}"' for column in found.description]
    marks = ", ".join([mark] * len(columns))
    return _Table(f"INSERT INTO {target} ({', '.join(columns)}) VALUES ({marks})", found.fetchall())


def _write_all(
    tables: Sequence[_Table], commits: int, write: Callable[[Sequence[_Table]], None]
) -> float:
    """Seconds for all rows, spread evenly over the commits."""
    batches = []
    for number in range(commits):
        batch = []
        for table in tables:
            first, after = (len(table.rows) * n // commits for n in (number, number + 1))
            if first < after:
                batch.append(_Table(table.insert, table.rows[first:after]))
        batches.append(batch)
    start = perf_counter()
    for batch in batches:
        write(batch)
    return perf_counter() - start
