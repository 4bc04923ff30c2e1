"""SQLite: one file in WAL mode, one writer at a time, readers that never wait for it.

Writers of one process share a transaction: whoever holds the lock runs everything that queued up
behind it and commits once, so sixteen threads pay for one fsync. Each piece of work runs in a
savepoint of its own when it shares. Between processes SQLite's own lock decides, and the store
waits for it up to `busy_timeout` seconds.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections import deque
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
from forkpoint.store.driver import Parameters
from forkpoint.store.statements import Dialect, schema, statements

T = TypeVar("T")

APPLICATION_ID = 0x464B5054
"""``FKPT`` in the file's header: how a Forkpoint database is told from any other."""
LAYOUT = 1
"""Version of the schema, in the file's ``user_version``."""
LINGER = 0.001
"""Seconds that work given to `write_with_next` waits for a transaction to join."""
_HEADER_BYTES = 100
_OLDEST_SQLITE = (3, 35, 0)

DIALECT = Dialect(
    key="INTEGER PRIMARY KEY AUTOINCREMENT",
    given_key="INTEGER PRIMARY KEY",
    clustered="WITHOUT ROWID",
    bytes="BLOB",
    parameter=":{}",
    membership="IN (SELECT value FROM json_each({}))",
)


class SqliteConnection:
    """A `sqlite3` connection that runs named statements."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw
        self._sql = statements(DIALECT)
        self._execute = raw.execute
        self.placed: list[Any] = []

    def one(self, statement: str, /, **parameters: Any) -> Any:
        return self._execute(self._sql[statement], parameters).fetchone()

    def all(self, statement: str, /, **parameters: Any) -> list[Any]:
        return self._execute(self._sql[statement], parameters).fetchall()

    def run(self, statement: str, /, **parameters: Any) -> int:
        return self._execute(self._sql[statement], parameters).rowcount

    def many(self, statement: str, parameters: Iterable[Parameters], /) -> None:
        self.raw.executemany(self._sql[statement], parameters)

    def members(self, values: Iterable[int]) -> str:
        return json.dumps(list(values))


class _Work:
    """A piece of work in the queue, and what became of it."""

    __slots__ = ("after", "done", "error", "notify", "result", "run")

    def __init__(
        self,
        run: Callable[[SqliteConnection], Any],
        after: Callable[[], None] | None,
        notify: Callable[[BaseException | None], None] | None = None,
    ) -> None:
        self.run = run
        self.after = after
        self.notify = notify
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class SqliteDriver:
    """One SQLite file, or a database in memory (path ``:memory:``)."""

    def __init__(
        self,
        path: str,
        *,
        durability: Literal["full", "normal"] = "full",
        busy_timeout: float = 30.0,
    ) -> None:
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise DatabaseError(
                f"SQLite {sqlite3.sqlite_version} is too old: 3.35 or newer is needed"
            )
        self.in_memory = path == ":memory:"
        self.path = path if self.in_memory else str(Path(path).absolute())
        self.url = f"sqlite:///{self.path}"
        self._synchronous = durability.upper()
        self._busy_timeout = busy_timeout
        self._queue: deque[_Work] = deque()
        self._lock = threading.Lock()
        self._closed = False
        self._open_connections()
        self._prepare()

    # -- connections --------------------------------------------------------------------------

    def _open_connections(self) -> None:
        self._pid = os.getpid()
        self._idle: list[SqliteConnection] = []
        self._start = threading.Lock()
        self._flusher: threading.Thread | None = None
        self._wake = threading.Event()
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
            if self._read_layout(raw) is None:
                if not self.in_memory:
                    self._use_wal(raw)
                raw.execute("BEGIN IMMEDIATE")
                try:
                    if self._read_layout(raw) is None:
                        for statement in schema(DIALECT):
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

    def _read_layout(self, raw: sqlite3.Connection) -> int | None:
        """The layout's version; None for a database with nothing in it."""
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
        return None

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
            self._lock = threading.Lock()
            self._queue = deque()
            self._inherited = (self._writer, self._idle)
            self._open_connections()

    # -- reading ------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[SqliteConnection]:
        self._check_usable()
        if self.in_memory:
            with self._lock:
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
            if self._closed:
                raw.close()
            else:
                self._idle.append(connection)

    # -- writing ------------------------------------------------------------------------------

    def write(
        self, work: Callable[[SqliteConnection], T], after: Callable[[], None] | None = None
    ) -> T:
        self._check_usable()
        piece = _Work(work, after)
        self._queue.append(piece)
        with self._lock:
            if not piece.done:
                self._commit_queue()
        if piece.error is not None:
            raise piece.error
        result: T = piece.result
        return result

    def write_with_next(
        self,
        work: Callable[[SqliteConnection], Any],
        after: Callable[[], None],
        done: Callable[[BaseException | None], None],
    ) -> None:
        self._check_usable()
        self._queue.append(_Work(work, after, done))
        if self._closed:
            # Closed between the check and the append: the piece must not wait for ever.
            with self._lock:
                self._commit_queue()
            return
        if self._flusher is None:
            with self._start:
                if self._flusher is None:
                    self._flusher = threading.Thread(
                        target=self._flush_lingering, name="forkpoint-flush", daemon=True
                    )
                    self._flusher.start()
        self._wake.set()

    def _flush_lingering(self) -> None:
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            time.sleep(LINGER)
            if self._queue:
                with self._lock:
                    if not self._closed:
                        self._commit_queue()

    def _commit_queue(self) -> None:
        """Run and commit what has queued up. The caller holds the lock."""
        batch: list[_Work] = []
        with suppress(IndexError):
            while True:
                batch.append(self._queue.popleft())
        if not batch:
            return
        raw = self._writer.raw
        try:
            raw.execute("BEGIN IMMEDIATE")
            self._writer.placed.clear()
            for piece in batch:
                self._run(raw, piece, shared=len(batch) > 1)
            raw.execute("COMMIT")
            for piece in batch:
                if piece.error is None and piece.after is not None:
                    piece.after()
        except BaseException as error:
            with suppress(sqlite3.Error):
                if raw.in_transaction:
                    raw.execute("ROLLBACK")
            failure = self._translated(error) if isinstance(error, sqlite3.Error) else error
            for piece in batch:
                piece.error = piece.error or failure
            if not isinstance(error, Exception):
                raise
        finally:
            for piece in batch:
                piece.done = True
                if piece.notify is not None:
                    piece.notify(piece.error)

    def _run(self, raw: sqlite3.Connection, piece: _Work, *, shared: bool) -> None:
        if not shared:
            piece.result = piece.run(self._writer)
            return
        raw.execute("SAVEPOINT piece")
        try:
            piece.result = piece.run(self._writer)
        except Exception as error:
            if not raw.in_transaction:
                raise
            raw.execute("ROLLBACK TO piece")
            piece.error = self._translated(error) if isinstance(error, sqlite3.Error) else error
        raw.execute("RELEASE piece")

    def close(self) -> None:
        if self._closed:
            return
        try:
            if self._pid == os.getpid():
                with self._lock:
                    self._commit_queue()
        finally:
            with self._lock:
                self._closed = True
                self._wake.set()
                if self._pid == os.getpid():
                    while self._idle:
                        self._idle.pop().raw.close()
                    self._writer.raw.close()
