"""A Forkpoint store: one database, its readers and its writers.

    store = forkpoint.open("sqlite:///agent.db")

Many threads and many processes can use one database at a time. A `Store` is cheap to make, but its
memory of what it has read and written makes it faster the longer it lives: keep one for a process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, Self

from forkpoint.errors import InvalidArgumentError
from forkpoint.store.checks import (
    check_choice,
    check_limit,
    check_seconds,
    check_session_id,
)
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.forking import Forker
from forkpoint.store.lineage import Lineage
from forkpoint.store.reading import Reader
from forkpoint.store.records import SessionSummary
from forkpoint.store.removing import Remover
from forkpoint.store.sessions import Sessions
from forkpoint.store.sqlite import SqliteDriver
from forkpoint.store.terms import Terms
from forkpoint.store.values import Values
from forkpoint.store.writing import Writer


class Store:
    """Sessions, checkpoints and values in one database.

    Use `forkpoint.open` to make one, and `saver()` for LangGraph's checkpointer over it.
    """

    def __init__(
        self,
        driver: Driver,
        *,
        compress: bool = False,
        replayed: Callable[[object], Any] = lambda extra: (),
    ) -> None:
        self._driver = driver
        terms = Terms()
        lineage = Lineage()
        values = Values(terms, compress=compress)
        #: Plumbing for the saver: reads, writes, forks and removals.
        self.reader = Reader(driver, terms, values, lineage)
        sessions = Sessions(driver)
        self.writer = Writer(driver, sessions, terms, values, lineage)
        self.forker = Forker(driver, sessions, terms, lineage)
        self.remover = Remover(driver, sessions, terms, lineage, replayed)

    @property
    def url(self) -> str:
        """Where the database is, as `forkpoint.open` takes it."""
        return self._driver.url

    @property
    def path(self) -> str | None:
        """The database's file; None for one in memory or on a server."""
        path = self.url.removeprefix("sqlite:///")
        return None if path == self.url or path == ":memory:" else path

    # -- sessions -----------------------------------------------------------------------------

    def sessions(self, limit: int = 50, before: str | None = None) -> list[SessionSummary]:
        """Sessions that have checkpoints, last written first.

        `before` is the session id that the last page ended with. Raises `SessionNotFoundError`
        when it is unknown.
        """
        check_limit("limit", limit)
        if before is not None:
            check_session_id("before", before)
        return self.reader.sessions(limit, before)

    def session(self, session_id: str) -> SessionSummary:
        """One session. Raises `SessionNotFoundError`."""
        check_session_id("session_id", session_id)
        return self.reader.session(session_id)

    def forks_of(self, session_id: str) -> list[SessionSummary]:
        """The sessions forked from this one directly, oldest first."""
        check_session_id("session_id", session_id)
        return self.reader.forks(session_id)

    # -- facts about the whole database -------------------------------------------------------

    def setting(self, name: str, make: Callable[[], bytes] | None = None) -> bytes | None:
        """A fact stored under a name. With `make` it is recorded first if it is not there."""
        with self._driver.read() as db:
            row = db.one("setting", name=name)
        if row is not None:
            return bytes(row[0])
        if make is None:
            return None
        value = make()

        def work(db: Connection) -> bytes:
            there = db.one("setting", name=name)
            if there is None:
                db.run("insert_setting", name=name, value=value)
                return value
            return bytes(there[0])

        return self._driver.write(work)

    # -- life ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Finish what is queued and let go of the database; later calls raise `StoreClosedError`.

        Idempotent.
        """
        self._driver.close()

    async def aclose(self) -> None:
        """`close`, for `async` code."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def driver_for(
    url: str | os.PathLike[str],
    *,
    durability: Literal["full", "normal"] = "full",
    busy_timeout: float = 30.0,
) -> Driver:
    """The driver for a URL or a path. Raises `InvalidArgumentError` for one that is neither."""
    check_choice("durability", durability, ("full", "normal"))
    check_seconds("busy_timeout", busy_timeout)
    if isinstance(url, os.PathLike):
        url = os.fspath(url)
    if not isinstance(url, str):
        raise InvalidArgumentError("url", f"must be text or a path, not {type(url).__name__}")
    scheme, separator, rest = url.partition("://")
    if not separator:
        path = url
    elif scheme == "sqlite":
        path = rest.removeprefix("/")
    else:
        raise InvalidArgumentError(
            "url", f"{scheme}:// is not a database this version opens; use sqlite:///FILE"
        )
    if not path or "\0" in path:
        raise InvalidArgumentError("url", "names no file; use sqlite:///FILE or sqlite:///:memory:")
    return SqliteDriver(path, durability=durability, busy_timeout=busy_timeout)


__all__ = ["Store", "driver_for"]
