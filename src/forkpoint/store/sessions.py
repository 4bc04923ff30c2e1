"""Sessions and their threads inside a transaction: which are live, and the numbers they give
out."""

from __future__ import annotations

from forkpoint.errors import SessionDeletedError
from forkpoint.store.clock import made_at, now
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.terms import Remembered


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

    def live(
        self, db: Connection, name: str, planned: tuple[int, int] | None, *, begins: bool
    ) -> tuple[int, int]:
        """Number and family of the live session of a name; with `begins` it may be a new one.

        Raises `SessionChangedError` when it is not the one that was planned for, and
        `SessionDeletedError` when there was one and it may not begin again.
        """
        row = db.one("live_session", name=name)
        if row is not None:
            found = (row[0], row[1])
            if planned is not None and planned != found:
                self._known.pop(name, None)
                raise SessionChangedError
            return found
        self._known.pop(name, None)
        if not begins and db.one("was_deleted", name=name) is not None:
            raise SessionDeletedError(
                f"session {name!r} was deleted; a run that began before may not write to it any "
                "more. Nothing was written"
            )
        if planned is not None:
            raise SessionChangedError
        session: int = db.one("insert_session", name=name, now=now())[0]
        db.run("own_family", id=session)
        db.run("insert_family", id=session)
        return session, session

    def thread(self, db: Connection, session: int, namespace: str) -> int:
        """A session's own thread for a namespace, made if it is not there."""
        row = db.one("thread_of", session=session, namespace=namespace)
        if row is None:
            row = db.one("insert_thread", session=session, namespace=namespace)
        thread: int = row[0]
        return thread

    def existing_thread(self, db: Connection, session: int, namespace: str) -> int | None:
        """A session's own thread for a namespace, if it has written there."""
        row = db.one("thread_of", session=session, namespace=namespace)
        return None if row is None else row[0]

    def take_tick(self, db: Connection, session: int) -> int:
        """The next number of a session. Raises `SessionChangedError` when it was deleted."""
        row = db.one("advance_tick", id=session, count=1, now=now())
        if row is None:
            raise SessionChangedError
        tick: int = row[0]
        return tick

    def may_begin(self, db: Connection, name: str, checkpoint_id: str) -> bool:
        """Whether a write may begin a session anew: its checkpoint was made after the deletion.

        Only asked of writes that overtook the first put of a thread that is used again.
        """
        if db.one("live_session", name=name) is not None:
            return False
        deletion = db.one("was_deleted", name=name)
        return deletion is None or made_at(checkpoint_id) > deletion[0]
