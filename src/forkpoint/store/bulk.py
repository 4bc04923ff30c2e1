"""Many writes in one transaction: for whoever brings in a history, and not one superstep.

The same `Writer` that stores a superstep works inside a transaction that is under way. What it
remembers is its own and is thrown away when the transaction is not committed, so it may believe
what it has written before that is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

from forkpoint.errors import CheckpointNotFoundError
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.lineage import Lineage
from forkpoint.store.records import cid_bytes
from forkpoint.store.sessions import Sessions
from forkpoint.store.terms import Terms
from forkpoint.store.values import Values
from forkpoint.store.writing import Writer

T = TypeVar("T")


class _Inside:
    """A driver, as far as writers ask for one, whose one transaction is under way: what is written
    is read in it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._db: Connection | None = None

    @contextmanager
    def during(self, db: Connection) -> Iterator[None]:
        """Work in a transaction until it ends."""
        self._db = db
        try:
            yield
        finally:
            self._db = None

    @property
    def _connection(self) -> Connection:
        assert self._db is not None, "outside of the transaction"
        return self._db

    @contextmanager
    def read(self) -> Iterator[Connection]:
        yield self._connection

    def write(
        self,
        work: Callable[[Connection], T],
        after: Callable[[T], None] | None = None,
        *,
        quick: bool = False,
    ) -> T:
        db = self._connection
        placed = len(db.placed)
        result = work(db)
        # It is remembered at once, and need not be looked for in what the transaction has placed.
        del db.placed[placed:]
        if after is not None:
            after(result)
        return result


class Bulk:
    """Writes to one database, many at a time. Not for several threads."""

    def __init__(self, driver: Driver, *, compress: bool) -> None:
        self._driver = driver
        self._compress = compress
        self._begin_anew()

    def write(self, work: Callable[[Writer], T]) -> T:
        """All that `work` writes, or nothing. It may be run again from the beginning."""
        clean = True

        def run(db: Connection) -> T:
            nonlocal clean
            if not clean:
                self._begin_anew()
            clean = False
            with self._inside.during(db):
                return work(self._writer)

        try:
            return self._driver.write(run)
        except BaseException:
            self._begin_anew()
            raise

    def move_head(self, name: str, namespace: str, checkpoint_id: str) -> None:
        """Make a checkpoint that is there the current one of its namespace."""

        def work(db: Connection) -> None:
            db.one("hold_live_session", name=name)
            session = db.one("live_session", name=name)
            thread = session and db.one("thread_of", session=session[0], namespace=namespace)
            row = thread and db.one("row_of", cid=cid_bytes(checkpoint_id), thread=thread[0])
            if row is None:
                raise CheckpointNotFoundError(f"session {name!r} has no {checkpoint_id!r} any more")
            db.run("move_head", thread=thread[0], n=row[0])
            db.one("advance_tick", id=session[0])

        self._driver.write(work)

    def _begin_anew(self) -> None:
        self._inside = _Inside(self._driver.url)
        driver = cast(Driver, self._inside)
        terms = Terms()
        values = Values(terms, compress=self._compress)
        self._writer = Writer(driver, Sessions(driver), terms, values, Lineage())
