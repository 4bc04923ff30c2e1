"""Room in a PostgreSQL schema: what deletion freed, made usable again.

`VACUUM` frees dead rows for what is written next, and cuts off what is free at the end of a table,
while others write. Only writing a table anew makes it as small as it can be, and everybody waits.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from forkpoint.store.driver import Space
from forkpoint.store.statements import table_names

Raw = psycopg.Connection[Any]

_SIZE = """
SELECT COALESCE(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = ANY (%s)
"""


def give_back(raw: Raw, schema: str) -> Space:
    """Make the room of dead rows usable again. The connection is in no transaction."""
    # The server overwrites dead rows only when it needs their room.
    return Space(_vacuum(raw, schema, "VACUUM {}"), None, False)


def compact(raw: Raw, schema: str) -> Space:
    """Write every table of a schema anew. The connection is in no transaction."""
    return Space(_vacuum(raw, schema, "VACUUM (FULL) {}"), None, True)


def _vacuum(raw: Raw, schema: str, command: str) -> int:
    before = _size(raw, schema)
    for table in table_names():
        raw.execute(sql.SQL(command).format(sql.Identifier(schema, table)), prepare=False)
    return max(0, before - _size(raw, schema))


def _size(raw: Raw, schema: str) -> int:
    row = raw.execute(_SIZE, (schema, table_names())).fetchone()
    size: int = row[0] if row is not None else 0
    return size
