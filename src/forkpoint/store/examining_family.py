"""One family of sessions, as it is in one moment of the database: what the checks of its rows,
sessions and values share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import ormsgpack

from forkpoint.model import Finding, FindingKind
from forkpoint.store.driver import Connection
from forkpoint.store.records import cid_text

Place = tuple[int, int]
"""Thread and row number; -1 for no row in particular."""
ReplayedChannels = Callable[[object], Sequence[str]]

_UUID_BYTES = 17

MALFORMED = (ValueError, TypeError, LookupError, AttributeError)
"""What comes of taking bytes apart that are not what they should be."""


class Member(NamedTuple):
    """A session of the family."""

    id: int
    name: str
    deleted: int
    tick: int
    depth: int
    root: str
    parent: int | None
    base: int | None
    base_thread: int | None
    base_n: int | None
    base_cut: int | None
    base_shown: int

    @property
    def shows_base(self) -> bool:
        """Whether it is seen what lies below."""
        return self.base is not None and not self.deleted and self.base_shown != 0


class Space(NamedTuple):
    """A namespace of a session."""

    id: int
    session: int
    namespace: str
    head: int | None


class Family:
    """The sessions of a family and their namespaces, and how to say where something is."""

    def __init__(self, db: Connection, number: int) -> None:
        self.db = db
        self.number = number
        members = {row[0]: Member(*row) for row in db.all("family_sessions", family=number)}
        self.members = {member.id: member for member in _bases_first(members)}
        self.spaces: dict[int, Space] = {}
        self._spaces_of: dict[int, list[Space]] = {}
        for space in map(Space._make, db.all("family_threads", family=number)):
            self.spaces[space.id] = space
            self._spaces_of.setdefault(space.session, []).append(space)
        self._newest: dict[int, int] = {}

    @property
    def being_imported(self) -> bool:
        """Whether the family is a session that is still being imported: it has no name yet, and its
        rows come before its values."""
        return any(not member.name for member in self.members.values())

    @property
    def inhabited(self) -> bool:
        """Whether anybody is left who could refer to the family's values."""
        return bool(self.spaces) or any(not member.deleted for member in self.members.values())

    def spaces_of(self, session: int) -> list[Space]:
        """The namespaces of a session, the root namespace first."""
        return sorted(self._spaces_of.get(session, ()), key=lambda space: space.namespace)

    def note(self, session: int, tick: int) -> None:
        """A number of a session was met."""
        if tick > self._newest.get(session, -1):
            self._newest[session] = tick

    def newest(self, session: int) -> int:
        """The highest number of a session that was met."""
        return self._newest.get(session, -1)

    def name(self, space: Space) -> str:
        """A namespace in words."""
        of = f"session {self.members[space.session].name!r}"
        return f"{of}, namespace {space.namespace!r}" if space.namespace else of

    def where(self, place: Place) -> str:
        """A checkpoint in words."""
        thread, n = place
        of = self.name(self.spaces[thread])
        row = self.db.one("identity", thread=thread, n=n) if n != -1 else None
        try:
            if row is not None:
                check_id(bytes(row[0]))
                return f"{of}, checkpoint {cid_text(bytes(row[0]))}"
        except ValueError:
            return f"{of}, row {n}"
        return of

    def fault(self, kind: FindingKind, place: Place, text: str) -> Finding:
        """Something is wrong with a row, and nobody knows what was right."""
        details = {"thread": place[0], "n": place[1]}
        return Finding(kind, "error", self.where(place), text, repairable=False, details=details)

    def mendable(
        self, kind: FindingKind, where: str, text: str, details: Mapping[str, Any]
    ) -> Finding:
        """Something is wrong, and what is right follows from the rest."""
        return Finding(kind, "error", where, text, repairable=True, details=details)


class TermReader:
    """Interned texts, read from the database and from nowhere else: memory would hide what is
    gone."""

    def __init__(self) -> None:
        self._bodies: dict[int, Any] = {}

    def body(self, db: Connection, number: int) -> Any:
        """What is interned under a number. Raises one of `MALFORMED`."""
        if number not in self._bodies:
            row = db.one("term_body", id=number)
            if row is None:
                raise LookupError(f"there is no term {number}")
            self._bodies[number] = ormsgpack.unpackb(row[0])
        return self._bodies[number]

    def has(self, db: Connection, number: int) -> bool:
        """Whether something is interned under a number that can be read."""
        try:
            self.body(db, number)
        except MALFORMED:
            return False
        return True


def check_id(stored: bytes) -> None:
    """Raise `ValueError` for an id that is not stored as one."""
    if not (stored[:1] == b"\1" and len(stored) == _UUID_BYTES):
        if stored[:1] != b"\0" or len(stored) == 1:
            raise ValueError(f"{stored!r} is no id")
        stored[1:].decode()


def told(error: BaseException) -> str:
    """An error in its own words."""
    return str(error.args[0]) if error.args else type(error).__name__


def _bases_first(members: Mapping[int, Member]) -> list[Member]:
    """Sessions in such an order that each comes after what it stands on."""
    ordered: dict[int, Member] = {}
    for member in members.values():
        waiting = [member]
        while waiting:
            below = members.get(waiting[-1].base or 0)
            if below is not None and below.id not in ordered and below not in waiting:
                waiting.append(below)
            else:
                here = waiting.pop()
                ordered.setdefault(here.id, here)
    return list(ordered.values())
