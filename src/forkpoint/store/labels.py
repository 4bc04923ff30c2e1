"""Names for checkpoints, as a session sees them.

A label belongs to one session and names a checkpoint of its root namespace. A fork sees the labels
that its source saw when it was taken: a label given later has a tick that the fork's cut hides, and
one that was taken off later stays, marked with the tick at which it went, as long as a fork may
see it. Of one name the nearest label counts, a session's own before any inherited one.

A label whose checkpoint a session does not see is no label for it: so nobody sees a difference when
the checkpoint goes, and the label with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from forkpoint.errors import InvalidArgumentError
from forkpoint.store.checks import check_text
from forkpoint.store.driver import Connection
from forkpoint.store.lineage import NEVER, View
from forkpoint.store.records import cid_bytes

LONGEST_LABEL = 200
"""UTF-8 bytes."""
CARRIED = -1
"""Tick of a label that a session inherits, but has as a row of its own; others of the same name,
from farther away, are at -2 and so on."""

Sees = Callable[[bytes], bool]
"""Whether a session sees a checkpoint of its root namespace, by the stored form of its id."""


class SeenLabel(NamedTuple):
    """A label, and the session that gave it."""

    session: int
    name: str
    cid: bytes
    tick: int
    created: int

    def is_own(self, session: int) -> bool:
        """Whether a session gave this label itself."""
        return self.session == session and self.tick > CARRIED


def check_label(argument: str, value: object) -> str:
    """A label that cannot be taken for anything else. Raises `InvalidArgumentError`."""
    name = check_text(argument, value, LONGEST_LABEL)
    if not may_be_label(name):
        raise InvalidArgumentError(argument, f"{name!r} has the form of a checkpoint id")
    if "@" in name:
        raise InvalidArgumentError(argument, "must not contain @, which ends a session's id")
    if name.startswith("turn:"):
        raise InvalidArgumentError(argument, "must not begin with turn:, which counts turns")
    return name


def may_be_label(text: str) -> bool:
    """Whether a text is not certainly a checkpoint's id: ids that LangGraph makes are UUIDs."""
    return cid_bytes(text)[0] == 0


def seen_labels(
    db: Connection, view: View, sees: Sees, name: str | None = None
) -> dict[str, SeenLabel]:
    """The labels that a session sees, or the one of a name: the nearest of each name whose
    checkpoint the session sees. Labels on branches that it does not see do not count."""
    nearest: dict[str, SeenLabel] = {}
    for label in _labels(db, view, name):
        if label.name not in nearest and sees(label.cid):
            nearest[label.name] = label
    return nearest


def carry_labels(db: Connection, view: View, sees: Sees, session: int) -> None:
    """Give a session rows of its own for the labels of a view: it does not stand on those who gave
    them, or will not any more. What forks of it will see may be any of a name, so all are kept."""
    lowest: dict[str, int] = {}
    for _, name, _, tick, _, _ in db.all("labels_of", sessions=db.members([session])):
        lowest[name] = min(tick, lowest.get(name, 0))
    carried = []
    for label in _labels(db, view):
        if sees(label.cid):
            tick = lowest[label.name] = min(lowest.get(label.name, 0), 0) + CARRIED
            carried.append({**label._asdict(), "session": session, "tick": tick})
    db.many("insert_label", carried)


def _labels(db: Connection, view: View, name: str | None = None) -> list[SeenLabel]:
    """The labels that the sessions of a view gave in time to be seen, the nearest first."""
    cuts = {view.session: NEVER} | {base.session: base.cut for base in view.bases}
    levels = {session: level for level, session in enumerate(cuts)}
    sessions = db.members(cuts)
    if name is None:
        rows = db.all("labels_of", sessions=sessions)
    else:
        rows = db.all("labels_named", name=name, sessions=sessions)
    labels = [
        SeenLabel(session, of, bytes(cid), tick, created)
        for session, of, cid, tick, gone, created in rows
        if tick < cuts[session] and (gone == 0 or gone >= cuts[session])
    ]
    # What a session gave itself comes before what it carries, and of that the nearest first.
    labels.sort(key=lambda label: (levels[label.session], -label.tick))
    return labels
