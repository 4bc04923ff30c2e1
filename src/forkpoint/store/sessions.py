"""Sessions and their threads inside a transaction: which are live, and the numbers they give
out."""

from __future__ import annotations

from collections.abc import Callable

from forkpoint.errors import SessionDeletedError
from forkpoint.store.clock import now
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.terms import Remembered

_TOUCH_EVERY = 1_000_000
"""Microseconds: when a session was last written is kept to the second, and costs no more."""


class SessionChangedError(Exception):
    """The session that was planned for is not the live one any more: plan again."""


class Sessions:
    """The sessions of one database, and what this process remembers of them."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        #: Live sessions by name, as last seen: (number, family). Checked in every transaction.
        self._known: Remembered[str, tuple[int, int]] = Remembered(5_000)

    def remember(self, name: str, session: int, family: int) -> None:
        """A transaction that found this session has committed."""
        self._known.remember(name, (session, family))

    def forget(self, name: str) -> None:
        """Drop what is remembered of a session."""
        self._known.pop(name, None)

    def known(self, name: str) -> tuple[int, int] | None:
        """Number and family of a live session, as far as this process knows."""
        known = self._known.get(name)
        if known is None:
            with self._driver.read() as db:
                row = db.one("live_session", name=name)
            if row is not None:
                known = (row[0], row[1])
                self._known.remember(name, known)
        return known

    def expect(self, name: str, planned: tuple[int, int] | None, found: tuple[int, int]) -> None:
        """Raise `SessionChangedError` when a session is not the one that was planned for."""
        if planned is not None and planned != found:
            self._known.pop(name, None)
            raise SessionChangedError

    def begin(
        self,
        db: Connection,
        name: str,
        planned: tuple[int, int] | None,
        may_begin: Callable[[int], bool],
    ) -> int:
        """Make a session that is not there; its number, which is its family's too.

        `may_begin` is asked with the time at which the last session of the name was deleted, if one
        was: whether this write may begin it anew. Raises `SessionDeletedError` when it may not, and
        `SessionChangedError` when another session was planned for.
        """
        self._known.pop(name, None)
        deletion = db.one("was_deleted", name=name)
        if deletion is not None and not may_begin(deletion[0]):
            raise SessionDeletedError(
                f"session {name!r} was deleted; a run that began before may not write to it any "
                "more. Nothing was written"
            )
        if planned is not None:
            raise SessionChangedError
        session: int = db.one("insert_session", name=name, now=now())[0]
        db.run("own_family", id=session)
        db.run("insert_family", id=session)
        return session

    def new_thread(self, db: Connection, session: int, namespace: str) -> int:
        """A session's thread for a namespace that it has not written in."""
        thread: int = db.one("insert_thread", session=session, namespace=namespace)[0]
        return thread

    def thread(self, db: Connection, session: int, namespace: str) -> int:
        """A session's own thread for a namespace, made if it is not there."""
        row = db.one("thread_of", session=session, namespace=namespace)
        if row is None:
            return self.new_thread(db, session, namespace)
        thread: int = row[0]
        return thread

    def existing_thread(self, db: Connection, session: int, namespace: str) -> int | None:
        """A session's own thread for a namespace, if it has written there."""
        row = db.one("thread_of", session=session, namespace=namespace)
        return None if row is None else row[0]

    def take_tick(self, db: Connection, session: int) -> int:
        """The next number of a session. Raises `SessionChangedError` when it was deleted."""
        row = db.one("advance_tick", id=session)
        if row is None:
            raise SessionChangedError
        moment = now()
        if not 0 <= moment - row[1] < _TOUCH_EVERY:
            db.run("touch", id=session, now=moment)
        tick: int = row[0]
        return tick
