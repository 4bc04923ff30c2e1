"""Every row of an SQLite file, read beside the store."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

COUNTERS = {("family", "next")}
"""Columns that count what was given out; everything else of a source stays as it is."""


def dump(database: Path) -> dict[str, set[tuple[Any, ...]]]:
    """All rows of all tables, as committed, without the columns that only count."""
    found: dict[str, set[tuple[Any, ...]]] = {}
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        for (table,) in names:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            kept = [column for column in columns if (table, column) not in COUNTERS]
            rows = connection.execute(f"SELECT {', '.join(kept)} FROM {table}")
            found[table] = set(rows)
    finally:
        connection.close()
    return found


def lost(
    before: dict[str, set[tuple[Any, ...]]], after: dict[str, set[tuple[Any, ...]]]
) -> dict[str, set[tuple[Any, ...]]]:
    """Rows that were there and are not there any more, or not as they were."""
    return {table: rows - after[table] for table, rows in before.items() if rows - after[table]}
