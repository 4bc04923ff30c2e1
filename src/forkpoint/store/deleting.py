"""Deleting sessions that others were forked from: keep the forks, refuse, or delete them as well.

A fork is counted by whom it was forked from, also where the session between was deleted earlier:
the forks of a deleted session are those of the session that it came from.

With ``cascade`` the deepest forks go first, one transaction each, and every session is asked again
for forks in the transaction that deletes it. So a crash leaves nothing that has lost its source,
and a fork that somebody takes meanwhile is found and deleted like the others, or, if forks are
taken faster than they can be deleted, the session stays and a `ConflictError` says so.
"""

from __future__ import annotations

from typing import Literal

from forkpoint.errors import ConflictError, SessionHasForksError, SessionNotFoundError
from forkpoint.model import DeletionReport
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.removing import Remover

ForksPolicy = Literal["keep", "refuse", "cascade"]
POLICIES = ("keep", "refuse", "cascade")

_PASSES = 20
"""How often a cascade begins again because forks were taken meanwhile."""


class _ForkedMeanwhileError(Exception):
    """A session that a cascade came to has a fork that was not there when it was planned."""


class _AnotherSessionError(Exception):
    """The session was deleted meanwhile, and another one has its name."""


class Deleter:
    """Deletes sessions of one database, and sees to their forks."""

    def __init__(self, driver: Driver, remover: Remover) -> None:
        self._driver = driver
        self._remover = remover

    def delete(self, name: str, forks: ForksPolicy) -> DeletionReport:
        """Delete a session. Raises `SessionNotFoundError`; `SessionHasForksError` when it has forks
        that forbid it; `ConflictError` when a cascade was overtaken by new forks."""
        if forks == "cascade":
            return self._cascade(name)
        return self._alone(name, refuse=forks == "refuse")

    def _alone(self, name: str, *, refuse: bool) -> DeletionReport:
        kept: list[str] = []

        def look(db: Connection, session: int) -> None:
            kept[:] = [row[0] for row in db.all("nearest_forks", id=session)]
            if kept and refuse:
                raise SessionHasForksError(
                    f"session {name!r} has forks: {_listed(kept)}. Nothing was deleted; delete it "
                    'with forks="keep", and they keep what they read through it, or with '
                    '"cascade", and they are deleted too',
                    kept,
                )

        if not self._remover.delete_session(name, look):
            raise _unknown(name)
        return DeletionReport(name, (name,), tuple(kept))

    def _cascade(self, name: str) -> DeletionReport:
        deleted: list[str] = []
        for _ in range(_PASSES):
            with self._driver.read() as db:
                row = db.one("live_session", name=name)
                if row is None:
                    break
                order = [*db.all("descendants", id=row[0]), (name, row[0])]
            try:
                for each, number in order:
                    if self._delete_leaf(each, number):
                        deleted.append(each)
            except _ForkedMeanwhileError:
                continue
            return DeletionReport(name, tuple(deleted))
        else:
            raise ConflictError(
                f"session {name!r} was forked again and again while it was being deleted. Deleted "
                f"so far: {_listed(deleted) or 'nothing'}; delete it again when the forks have "
                "stopped"
            )
        if not deleted:
            raise _unknown(name)
        return DeletionReport(name, tuple(deleted))

    def _delete_leaf(self, name: str, number: int) -> bool:
        def look(db: Connection, session: int) -> None:
            if session != number:
                raise _AnotherSessionError
            if db.one("nearest_forks", id=session) is not None:
                raise _ForkedMeanwhileError

        try:
            return self._remover.delete_session(name, look)
        except _AnotherSessionError:
            return False


def _unknown(name: str) -> SessionNotFoundError:
    return SessionNotFoundError(f"there is no session {name!r} to delete")


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
