"""Sessions and their threads inside a transaction: which are live, and the numbers they give
out."""

from __future__ import annotations

from collections.abc import Callable

from forkpoint.errors import SessionDeletedError
from forkpoint.store.clock import now
from forkpoint.store.driver import Connection, Driver, StaleError, repeatable
from forkpoint.store.standing import Identity, SessionFacts, Standing
from forkpoint.store.terms import Remembered

_TOUCH_EVERY = 1_000_000
"""Microseconds: when a session was last written is kept to the second, and costs no more."""


class SessionChangedError(Exception):
    """The session that was planned for is not the live one any more: plan again."""


class Sessions:
    """The sessions of one database, and what this process remembers of them."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._facts: Remembered[str, SessionFacts] = Remembered(5_000)

    @repeatable
    def known(self, name: str) -> Identity | None:
        """A live session, as far as this process knows. What is planned for it is checked when it
        is written."""
        facts = self._facts.get(name)
        if facts is not None:
            return facts.identity
        with self._driver.read() as db:
            row = db.one("live_session", name=name)
        return None if row is None else Identity(row[0], row[1], row[4])

    def stand(self, db: Connection, name: str) -> Standing | None:
        """A live session, to be written to: a tick is taken of it. None when there is none.

        What the transaction leaves of it is for `left`.
        """
        facts: SessionFacts | None = db.known.get(name)
        if facts is None and db.trusts:
            facts = self._facts.get(name)
        if facts is not None:
            facts = _touched(facts)
            if _take(db, facts):
                return Standing(facts, facts.tick, remembered=True)
        db.one("hold_live_session", name=name)
        row = db.one("live_session", name=name)
        if row is None:
            return None
        facts = _touched(SessionFacts(Identity(row[0], row[1], row[4]), row[2], row[5]))
        if not _take(db, facts):
            raise StaleError
        return Standing(facts, facts.tick, remembered=False)

    def left(self, db: Connection, name: str, standing: Standing) -> SessionFacts:
        """What is known of a session when a write to it is done; give it to `remember` after the
        commit."""
        known = standing.facts
        facts = SessionFacts(known.identity, standing.tick + 1, known.touched, known.threads)
        db.known[name] = facts
        return facts

    def remember(self, name: str, facts: SessionFacts) -> None:
        """A transaction that left a session so has committed."""
        self._facts.remember(name, facts)

    def forget(self, name: str) -> None:
        """Drop what is remembered of a session."""
        self._facts.pop(name, None)

    def expect(self, name: str, planned: Identity | None, found: Identity) -> None:
        """Raise `SessionChangedError` when a session is not the one that was planned for."""
        if planned is not None and planned != found:
            self.forget(name)
            raise SessionChangedError

    def begin(
        self,
        db: Connection,
        name: str,
        planned: Identity | None,
        may_begin: Callable[[int], bool],
    ) -> Standing:
        """Make a session that is not there; its number is its family's too.

        `may_begin` is asked with the time at which the last session of the name was deleted, if one
        was: whether this write may begin it anew. Raises `SessionDeletedError` when it may not, and
        `SessionChangedError` when another session was planned for.
        """
        self.forget(name)
        deletion = db.one("was_deleted", name=name)
        if deletion is not None and not may_begin(deletion[0]):
            raise SessionDeletedError(
                f"session {name!r} was deleted; a run that began before may not write to it any "
                "more. Nothing was written"
            )
        if planned is not None:
            raise SessionChangedError
        moment = now()
        session = db.insert("insert_session", name=name, now=moment)
        db.run("own_family", id=session)
        db.run("insert_family", id=session)
        facts = SessionFacts(Identity(session, session, 0), 0, moment)
        db.run("advance_tick", id=session)
        return Standing(facts, 0, remembered=False)

    def new_thread(self, db: Connection, session: int, namespace: str) -> int:
        """A session's thread for a namespace that it has not written in."""
        return db.insert("insert_thread", session=session, namespace=namespace)

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


def _touched(facts: SessionFacts) -> SessionFacts:
    moment = now()
    return facts if 0 <= moment - facts.touched < _TOUCH_EVERY else facts._replace(touched=moment)


def _take(db: Connection, facts: SessionFacts) -> bool:
    taken = db.run(
        "take_tick_at",
        id=facts.identity.session,
        tick=facts.tick,
        next=facts.tick + 1,
        touched=facts.touched,
    )
    return taken == 1
