"""What SQLite alone needs for the same bytes and the same commits.

The tables that Forkpoint wrote are read into memory and written to a new file of the same schema,
in as many transactions as there were calls. Prepared rows, no serialization, no Python objects of
anybody's: the distance to this is what the saver itself costs.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import results as m
from benchmarks.measure import Bench, discard
from benchmarks.workloads import Recording

LIMIT = "SQLite alone"
LIMIT_RIDING = "SQLite alone, riding"


def measure_limit(bench: Bench, recording: Recording, written: Path, calls: int) -> None:
    """Writes the rows of `written` again: one commit per call, then one per superstep."""
    schema, inserts = _contents(written)
    supersteps = len(recording.puts)
    for name, commits in ((LIMIT, calls), (LIMIT_RIDING, supersteps)):
        path = bench.new_file()
        value = _write(path, schema, inserts, commits) / supersteps
        bench.results.add(recording.workload.name, m.SUPERSTEP, name, value * 1e3)
        discard(path)


def _contents(path: Path) -> tuple[list[str], list[tuple[str, list[Any]]]]:
    """The schema's statements, and each table's rows with the statement that inserts them."""
    with closing(sqlite3.connect(path)) as connection:
        definitions = connection.execute(
            "SELECT type, name, sql FROM sqlite_master"
            " WHERE type IN ('table', 'index') AND sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
            " ORDER BY type DESC"
        ).fetchall()
        inserts = []
        for kind, name, _ in definitions:
            if kind != "table":
                continue
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
            listed = ", ".join(f'"{column}"' for column in columns)
            marks = ", ".join("?" * len(columns))
            rows = connection.execute(f'SELECT {listed} FROM "{name}"').fetchall()
            inserts.append((f'INSERT INTO "{name}" ({listed}) VALUES ({marks})', rows))
    return [sql for _, _, sql in definitions], inserts


def _write(
    path: Path, schema: list[str], inserts: list[tuple[str, list[Any]]], commits: int
) -> float:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        for statement in schema:
            connection.execute(statement)
        start = perf_counter()
        for number in range(commits):
            connection.execute("BEGIN IMMEDIATE")
            for statement, rows in inserts:
                first, after = (len(rows) * n // commits for n in (number, number + 1))
                if first < after:
                    connection.executemany(statement, rows[first:after])
            connection.execute("COMMIT")
        return perf_counter() - start
