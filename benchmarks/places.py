"""Where savers keep what they are given: a SQLite file, or a database on a PostgreSQL server.

Every turn of a saver gets a place of its own, empty at first, and the place says how large it has
become.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, suppress
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import psycopg
from psycopg import errors, sql
from tests.postgres import Postgres


class Database(Enum):
    """The kinds of database that are measured, each with LangGraph's saver for it beside ours."""

    SQLITE = "SQLite"
    POSTGRES = "PostgreSQL"

    def topic(self, name: str) -> str:
        """A topic as it is measured here."""
        return f"{name} on {self.value}"


class Place(Protocol):
    """A database of its own."""

    database: Database
    url: str
    """As savers take it: ours, and PostgreSQL's stock saver."""
    mark: str
    """A parameter of a statement."""

    def connect(self) -> AbstractContextManager[Any]:
        """A plain connection of the database's driver, every statement of which is committed."""

    def megabytes(self) -> float:
        """The size of what nobody has open any more."""

    def bytes_used(self) -> int:
        """The size of what may be open elsewhere."""

    def discard(self) -> None:
        """Removes all of it."""


class FilePlace:
    """A SQLite file in a directory of its own."""

    database = Database.SQLITE
    mark = "?"

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.path = directory / "bench.db"
        self.url = str(self.path)

    def connect(self) -> AbstractContextManager[sqlite3.Connection]:
        return closing(sqlite3.connect(self.path, isolation_level=None))

    def megabytes(self) -> float:
        with self.connect() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return sum(file.stat().st_size for file in self.path.parent.glob("bench.db*")) / 1e6

    def bytes_used(self) -> int:
        with self.connect() as connection:
            pages, free, size = (
                int(connection.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "freelist_count", "page_size")
            )
        return (pages - free) * size

    def discard(self) -> None:
        shutil.rmtree(self.path.parent, ignore_errors=True)


class ServerPlace:
    """A database on a PostgreSQL server."""

    database = Database.POSTGRES
    mark = "%s"

    def __init__(self, server: str, name: str) -> None:
        self._server = server
        self._name = sql.Identifier(name)
        self.url = urlsplit(server)._replace(path=f"/{name}").geturl()
        self._execute("CREATE DATABASE {}")
        # What the last turn left to be written back is not this one's affair.
        with suppress(errors.InsufficientPrivilege):
            self._execute("CHECKPOINT")

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True)

    def megabytes(self) -> float:
        return self.bytes_used() / 1e6

    def bytes_used(self) -> int:
        """Tables and indexes, without the space of rows that nobody sees any more."""
        with self.connect() as connection:
            connection.execute("VACUUM")
            found = connection.execute(
                "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c"
                " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r'"
                " AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
            ).fetchone()
        return int(found[0]) if found else 0

    def discard(self) -> None:
        self._execute("DROP DATABASE {} WITH (FORCE)")

    def _execute(self, statement: Any) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(self._name))


class Places:
    """Makes places: files below a directory, databases on a server that is given or, when none is,
    on one of our own that is started when it is first needed."""

    def __init__(self, directory: Path, server: str | None = None) -> None:
        self._directory = directory
        self._given = server
        self._own: Postgres | None = None
        self._count = 0

    def new(self, database: Database) -> Place:
        """An empty place."""
        self._count += 1
        if database is Database.SQLITE:
            return FilePlace(self._directory / str(self._count))
        return ServerPlace(self.server, f"forkpoint_bench_{self._count}")

    @cached_property
    def server(self) -> str:
        """The server's connection string."""
        if self._given is not None:
            return self._given
        self._own = Postgres()
        return self._own.uri

    def versions(self, databases: Sequence[Database]) -> dict[str, str]:
        """What the databases are."""
        found = {Database.SQLITE: sqlite3.sqlite_version}
        if Database.POSTGRES in databases:
            with psycopg.connect(self.server) as connection:
                row = connection.execute("SHOW server_version").fetchone()
                found[Database.POSTGRES] = row[0] if row else ""
        return {database.value: found[database] for database in databases}

    def close(self) -> None:
        """Stops the server, if it is ours."""
        if self._own is not None:
            self._own.stop()
