"""SQLite: one file in WAL mode, one writer at a time, readers that never wait for it.

Writers of one process share a transaction (`group_commit`); each piece of work runs in a savepoint
of its own when it shares. Between processes SQLite's own lock decides, and the store waits for it
up to `busy_timeout` seconds.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

from forkpoint.errors import (
    DatabaseBusyError,
    DatabaseError,
    NewerDatabaseError,
    NotAForkpointDatabaseError,
    StoreClosedError,
)
from forkpoint.store import sqlite_space
from forkpoint.store.driver import Connection, Parameters, Space, StaleError
from forkpoint.store.group_commit import GroupCommit, Piece
from forkpoint.store.statements import LAYOUT, Dialect, layout, layout_names, statements

T = TypeVar("T")

APPLICATION_ID = 0x464B5054
"""``FKPT`` in the file's header: how a Forkpoint database is told from any other."""
_HEADER_BYTES = 100
_STALE = (StaleError, sqlite3.IntegrityError)
_OLDEST_SQLITE = (3, 35, 0)

DIALECT = Dialect(
    key="INTEGER PRIMARY KEY AUTOINCREMENT",
    given_key="INTEGER PRIMARY KEY",
    clustered="WITHOUT ROWID",
    bytes="BLOB",
    parameter=":{}",
    membership="IN (SELECT value FROM json_each({}))",
    # A write transaction has the whole database to itself.
    hold_family=":family",
    share_family=":family",
    hold_row="",
)


class SqliteConnection:
    """A `sqlite3` connection that runs named statements."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw
        self._sql = statements(DIALECT)
        self._execute = raw.execute
        self.placed: list[Any] = []
        self.known: dict[str, Any] = {}
        self.drafting = False
        self.trusts = True

    def begin(self) -> None:
        """A transaction begins."""
        self.placed.clear()
        self.known.clear()
        self.trusts = True

    def one(self, statement: str, /, **parameters: Any) -> Any:
        return self._execute(self._sql[statement], parameters).fetchone()

    def all(self, statement: str, /, **parameters: Any) -> list[Any]:
        return self._execute(self._sql[statement], parameters).fetchall()

    def run(self, statement: str, /, **parameters: Any) -> int:
        return self._execute(self._sql[statement], parameters).rowcount

    def insert(self, statement: str, /, **parameters: Any) -> int:
        number: int = self._execute(self._sql[statement], parameters).fetchone()[0]
        return number

    def many(self, statement: str, parameters: Iterable[Parameters], /) -> None:
        self.raw.executemany(self._sql[statement], parameters)

    def members(self, values: Iterable[int]) -> str:
        return json.dumps(list(values))


class SqliteDriver:
    """One SQLite file, or a database in memory (path ``:memory:``)."""

    def __init__(
        self,
        path: str,
        *,
        durability: Literal["full", "normal"] = "full",
        busy_timeout: float = 30.0,
        create: bool = True,
    ) -> None:
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise DatabaseError(
                f"SQLite {sqlite3.sqlite_version} is too old: 3.35 or newer is needed"
            )
        self.in_memory = path == ":memory:"
        self.path = path if self.in_memory else str(Path(path).absolute())
        self.url = f"sqlite:///{self.path}"
        if not create and not self.in_memory and not Path(self.path).exists():
            raise DatabaseError(f"{self.path}: there is no such database")
        self._synchronous = durability.upper()
        self._busy_timeout = busy_timeout
        self._closed = False
        self._open_connections()
        self._prepare()

    # -- connections --------------------------------------------------------------------------

    def _open_connections(self) -> None:
        self._pid = os.getpid()
        self._idle: list[SqliteConnection] = []
        self._queue = GroupCommit(self._commit)
        self._writer = SqliteConnection(self._connect())

    def _connect(self) -> sqlite3.Connection:
        # SQLite takes a file that is shorter than its header for an empty one and writes over it.
        with suppress(OSError):
            if not self.in_memory and 0 < os.stat(self.path).st_size < _HEADER_BYTES:
                raise NotAForkpointDatabaseError(f"{self.path}: too short to be a database")
        try:
            raw = sqlite3.connect(
                self.path,
                timeout=self._busy_timeout,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
            )
        except sqlite3.Error as error:
            raise DatabaseError(f"{self.path}: cannot be opened ({error})") from error
        try:
            raw.execute("PRAGMA trusted_schema = OFF")
            raw.execute("PRAGMA secure_delete = ON")
            raw.execute(f"PRAGMA synchronous = {self._synchronous}")
            raw.execute("PRAGMA cache_size = -16384")
            raw.execute("PRAGMA mmap_size = 268435456")
        except sqlite3.Error as error:
            raw.close()
            raise self._translated(error) from error
        return raw

    def _prepare(self) -> None:
        raw = self._writer.raw
        try:
            if self._read_layout(raw) < LAYOUT:
                # Only a file with nothing in it takes this on.
                raw.execute("PRAGMA auto_vacuum = INCREMENTAL")
                if not self.in_memory:
                    self._use_wal(raw)
                raw.execute("BEGIN IMMEDIATE")
                try:
                    for number in range(self._read_layout(raw) + 1, LAYOUT + 1):
                        for statement in layout(DIALECT, number):
                            raw.execute(statement)
                    raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    raw.execute(f"PRAGMA user_version = {LAYOUT}")
                    raw.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        raw.execute("ROLLBACK")
                    raise
        except sqlite3.Error as error:
            raw.close()
            raise self._translated(error) from error
        except BaseException:
            raw.close()
            raise

    def _use_wal(self, raw: sqlite3.Connection) -> None:
        """Switch a new file to WAL. SQLite does not wait its timeout here, so this does."""
        for attempt in range(200):
            try:
                raw.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or attempt == 199:
                    raise
                time.sleep(0.02)

    def _read_layout(self, raw: sqlite3.Connection) -> int:
        """The layout's version; 0 for a database with nothing in it."""
        if not raw.in_transaction:
            # One moment of the file: another process may be creating the layout right now.
            raw.execute("BEGIN")
            try:
                return self._read_layout(raw)
            finally:
                raw.execute("COMMIT")
        application: int = raw.execute("PRAGMA application_id").fetchone()[0]
        version: int = raw.execute("PRAGMA user_version").fetchone()[0]
        if application == APPLICATION_ID:
            if version > LAYOUT:
                raise NewerDatabaseError(
                    f"{self.path}: written by a newer Forkpoint (layout {version}, this one reads "
                    f"up to {LAYOUT}); upgrade Forkpoint to open it"
                )
            return version
        if application or raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            raise NotAForkpointDatabaseError(
                f"{self.path}: an SQLite database that Forkpoint did not write; nothing was changed"
            )
        return 0

    def _translated(self, error: sqlite3.Error) -> Exception:
        text = str(error)
        if self._closed:
            return StoreClosedError(f"{self.path}: the store was closed")
        if "not a database" in text or "malformed" in text:
            return NotAForkpointDatabaseError(f"{self.path}: {text}")
        if "locked" in text or "busy" in text:
            return DatabaseBusyError(
                f"{self.path}: another process held the write lock for more than "
                f"{self._busy_timeout:g} s; nothing was written. Raise busy_timeout=, or move to "
                "PostgreSQL if many processes write"
            )
        return DatabaseError(f"{self.path}: {text}")

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreClosedError(f"{self.path}: the store was closed")
        if self._pid != os.getpid():
            # A forked child must not touch its parent's connections, nor close them.
            self._inherited = (self._writer, self._idle)
            self._open_connections()

    # -- reading ------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[SqliteConnection]:
        self._check_usable()
        if self.in_memory:
            with self._queue.lock:
                yield self._writer
            return
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = SqliteConnection(self._connect())
            connection.raw.execute("PRAGMA query_only = ON")
        raw = connection.raw
        try:
            raw.execute("BEGIN")
            try:
                yield connection
            finally:
                raw.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._translated(error) from error
        finally:
            if self._closed or raw.in_transaction:
                raw.close()
            else:
                self._idle.append(connection)

    # -- writing ------------------------------------------------------------------------------

    def write(
        self,
        work: Callable[[Connection], T],
        after: Callable[[T], None] | None = None,
        *,
        quick: bool = False,
    ) -> T:
        self._check_usable()
        result: T = self._queue.run(Piece(work, after))
        return result

    def write_with_next(
        self,
        work: Callable[[Connection], T],
        after: Callable[[T], None],
        done: Callable[[BaseException | None], None],
    ) -> None:
        self._check_usable()
        self._queue.join_next(Piece(work, after, done))

    def _commit(self, batch: list[Piece]) -> None:
        if self._closed:
            raise StoreClosedError(f"{self.path}: the store was closed")
        raw = self._writer.raw
        try:
            raw.execute("BEGIN IMMEDIATE")
            self._writer.begin()
            if len(batch) == 1:
                self._run_alone(raw, batch[0])
            else:
                for piece in batch:
                    self._run_shared(raw, piece)
            raw.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                if raw.in_transaction:
                    raw.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise self._translated(error) from error
            raise
        for piece in batch:
            piece.durable()

    def _run_alone(self, raw: sqlite3.Connection, piece: Piece) -> None:
        try:
            piece.result = piece.run(self._writer)
        except _STALE:
            raw.execute("ROLLBACK")
            raw.execute("BEGIN IMMEDIATE")
            self._writer.begin()
            self._writer.trusts = False
            piece.result = piece.run(self._writer)

    def _run_shared(self, raw: sqlite3.Connection, piece: Piece) -> None:
        raw.execute("SAVEPOINT piece")
        self._writer.trusts = True
        try:
            try:
                piece.result = piece.run(self._writer)
            except _STALE:
                raw.execute("ROLLBACK TO piece")
                self._writer.trusts = False
                self._writer.known.clear()
                piece.result = piece.run(self._writer)
        except Exception as error:
            if not raw.in_transaction:
                raise
            raw.execute("ROLLBACK TO piece")
            piece.error = self._translated(error) if isinstance(error, sqlite3.Error) else error
        raw.execute("RELEASE piece")

    def check_file(self) -> list[str]:
        with self.read() as connection:
            found = [row[0] for row in connection.raw.execute("PRAGMA quick_check")]
            names = {row[0] for row in connection.raw.execute("SELECT name FROM sqlite_master")}
            version = connection.raw.execute("PRAGMA user_version").fetchone()[0]
        problems = [text for text in found if text != "ok"]
        if version != LAYOUT:
            problems.append(f"its layout is {version}; this Forkpoint knows {LAYOUT}")
        return problems + [f"{name} is missing" for name in layout_names() if name not in names]

    # -- room ---------------------------------------------------------------------------------

    def free_space(self) -> int:
        with self.read() as db:
            return sqlite_space.free_space(db.raw)

    def give_back(self) -> Space:
        with self._apart() as raw:
            return sqlite_space.give_back(raw)

    def compact(self) -> Space:
        with self._apart() as raw:
            return sqlite_space.compact(raw)

    @contextmanager
    def _apart(self) -> Iterator[sqlite3.Connection]:
        """A connection for what is no transaction of the queue's."""
        self._check_usable()
        if self.in_memory:
            with self._queue.lock:
                yield self._writer.raw
            return
        raw = self._connect()
        try:
            yield raw
        except sqlite3.Error as error:
            raise self._translated(error) from error
        finally:
            raw.close()

    # -- life ---------------------------------------------------------------------------------

    def close(self) -> None:
        if self._closed:
            return
        try:
            if self._pid == os.getpid():
                self._queue.finish()
        finally:
            with self._queue.lock:
                self._closed = True
                self._queue.stop()
                if self._pid == os.getpid():
                    while self._idle:
                        self._idle.pop().raw.close()
                    self._writer.raw.close()
