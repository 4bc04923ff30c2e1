"""Giving names to checkpoints, taking them off, and finding what they name."""

from __future__ import annotations

from forkpoint.errors import (
    CheckpointNotFoundError,
    ConflictError,
    InvalidArgumentError,
    LabelNotFoundError,
    SessionNotFoundError,
)
from forkpoint.model import Label
from forkpoint.store.clock import iso, now
from forkpoint.store.driver import Connection, Driver, StaleError
from forkpoint.store.labels import SeenLabel, may_be_label
from forkpoint.store.lineage import Lineage
from forkpoint.store.lookup import Lookup
from forkpoint.store.records import cid_bytes, cid_text
from forkpoint.store.sessions import Sessions


class Labeller:
    """The labels of one database."""

    def __init__(self, driver: Driver, sessions: Sessions, lineage: Lineage) -> None:
        self._driver = driver
        self._sessions = sessions
        self._lineage = lineage
        self._lookup = Lookup(lineage)

    def label(self, session_name: str, checkpoint_id: str, name: str, *, replace: bool) -> Label:
        """Name a checkpoint that a session sees in its root namespace.

        Raises `SessionNotFoundError`, `CheckpointNotFoundError`, `InvalidArgumentError` when the
        name is the id of a checkpoint, and `ConflictError` when it is taken, unless `replace`.
        """

        def work(db: Connection) -> Label:
            session = self._hold(db, session_name)
            thread = self._sessions.existing_thread(db, session, "")
            if self._lookup.find(db, session, "", thread, cid_bytes(name)) is not None:
                raise InvalidArgumentError(
                    "name", f"{name!r} is the id of a checkpoint of session {session_name!r}"
                )
            found = self._lookup.named(db, session, thread, checkpoint_id)
            if found is None:
                raise _no_checkpoint(session_name, checkpoint_id)
            cid = bytes(db.one("identity", thread=found.thread, n=found.n)[0])
            there = db.one("own_label", session=session, name=name)
            if there is not None:
                old = bytes(there[0])
                if old == cid:
                    return Label(name, cid_text(cid), iso(there[2]))
                if not replace and self._lookup.find(db, session, "", thread, old) is not None:
                    raise ConflictError(
                        f"session {session_name!r} has a label {name!r} already, on checkpoint "
                        f"{cid_text(old)!r}; replace it, or use another name"
                    )
            tick, moment = self._sessions.take_tick(db, session), now()
            if there is not None:
                self._end(db, session, name, there[1], tick)
            db.run("insert_label", session=session, name=name, cid=cid, tick=tick, created=moment)
            return Label(name, cid_text(cid), iso(moment))

        return self._driver.write(work)

    def unlabel(self, session_name: str, name: str) -> None:
        """Take a name off. Raises `SessionNotFoundError`, and `LabelNotFoundError` when the session
        has not given it itself."""

        def work(db: Connection) -> None:
            session = self._hold(db, session_name)
            there = db.one("own_label", session=session, name=name)
            if there is None:
                view = self._lineage.view(db, session)
                thread = self._sessions.existing_thread(db, session, "")
                if self._lookup.labels(db, view, thread, name):
                    raise LabelNotFoundError(
                        f"session {session_name!r} inherits its label {name!r}: it cannot be taken "
                        "off, but the session may give the name to another checkpoint"
                    )
                raise LabelNotFoundError(f"session {session_name!r} has no label {name!r}")
            tick = self._sessions.take_tick(db, session)
            self._end(db, session, name, there[1], tick)

        self._driver.write(work)

    def labels(self, session_name: str) -> tuple[Label, ...]:
        """Every label that a session sees, oldest first. Raises `SessionNotFoundError`."""
        with self._driver.read() as db:
            session = self._session(db, session_name)
            thread = self._sessions.existing_thread(db, session, "")
            view = self._lineage.view(db, session)
            seen = [label for label, _ in self._lookup.labels(db, view, thread).values()]
        seen.sort(key=lambda label: (label.created, label.name))
        return tuple(_public(label, session) for label in seen)

    def resolve(self, session_name: str, text: str) -> str:
        """The id of the root checkpoint that an id or a label names. Raises
        `SessionNotFoundError`, `CheckpointNotFoundError`."""
        with self._driver.read() as db:
            session = self._session(db, session_name)
            thread = self._sessions.existing_thread(db, session, "")
            found = self._lookup.named(db, session, thread, text)
            if found is None:
                raise _no_checkpoint(session_name, text)
            return cid_text(bytes(db.one("identity", thread=found.thread, n=found.n)[0]))

    def resolved(self, session_name: str, text: str) -> str:
        """The same, but what names nothing comes back as it is, and an id that LangGraph made costs
        nothing."""
        if not may_be_label(text):
            return text
        try:
            return self.resolve(session_name, text)
        except (SessionNotFoundError, CheckpointNotFoundError):
            return text

    def _session(self, db: Connection, name: str) -> int:
        row = db.one("live_session", name=name)
        if row is None:
            raise SessionNotFoundError(f"there is no session {name!r}")
        session: int = row[0]
        return session

    def _hold(self, db: Connection, name: str) -> int:
        """A session that nobody else writes to, nor forks."""
        row = db.one("live_session", name=name)
        if row is None:
            raise SessionNotFoundError(f"there is no session {name!r}")
        db.run("hold_family", family=row[1])
        held = db.one("hold_live_session", name=name)
        if held is None or held[0] != row[0]:
            raise StaleError
        session: int = row[0]
        return session

    def _end(self, db: Connection, session: int, name: str, given: int, tick: int) -> None:
        db.run("end_label", session=session, name=name, tick=given, gone=tick)
        db.run("drop_unseen_labels", session=session)


def _no_checkpoint(session_name: str, text: str) -> CheckpointNotFoundError:
    return CheckpointNotFoundError(
        f"session {session_name!r} has no checkpoint {text!r} in its root namespace, and no label "
        "of this name"
    )


def _public(label: SeenLabel, session: int) -> Label:
    return Label(
        label.name, cid_text(label.cid), iso(label.created), inherited=not label.is_own(session)
    )
