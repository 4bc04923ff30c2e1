"""Finding rows as a session sees them, by id or by label: its own first, then what it inherits."""

from __future__ import annotations

from typing import NamedTuple

from forkpoint.store.driver import Connection
from forkpoint.store.labels import SeenLabel, may_be_label, seen_labels
from forkpoint.store.lineage import Lineage, View, seen_through
from forkpoint.store.records import cid_bytes


class Found(NamedTuple):
    """Where a checkpoint is."""

    thread: int
    n: int
    lane: int


class _Holder(NamedTuple):
    thread: int
    n: int
    lane: int
    hidden: int
    root: int | None


class Lookup:
    """Look-ups by checkpoint id through a lineage."""

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage

    def find(
        self, db: Connection, session: int, namespace: str, thread: int | None, cid: bytes
    ) -> Found | None:
        """A checkpoint of a session's namespace; `thread` is the session's own thread there.

        A row that was pruned from the session is not found, one that is inherited is.
        """
        if thread is not None:
            own = db.one("find_checkpoint", cid=cid, thread=thread)
            if own is not None:
                return Found(thread, own[0], own[1]) if own[2] == 0 else None
        view = self._lineage.view(db, session)
        if not view.visible:
            return None
        if namespace == "":
            return self._on_path(db, view, cid)
        return self._in_sub_namespace(db, view, namespace, cid)

    def at(
        self, db: Connection, session: int, namespace: str, thread: int | None, text: str
    ) -> Found | None:
        """What a text from outside names: a checkpoint's id or, in the root namespace, a label."""
        if namespace:
            return self.find(db, session, namespace, thread, cid_bytes(text))
        return self.named(db, session, thread, text)

    def named(self, db: Connection, session: int, thread: int | None, text: str) -> Found | None:
        """The root checkpoint of an id or, if there is none, of a label; ids that are found cost
        nothing more."""
        found = self.find(db, session, "", thread, cid_bytes(text))
        if found is None and may_be_label(text):
            named = self.labels(db, self._lineage.view(db, session), thread, text).get(text)
            found = None if named is None else named[1]
        return found

    def labels(
        self, db: Connection, view: View, thread: int | None, name: str | None = None
    ) -> dict[str, tuple[SeenLabel, Found]]:
        """The labels that a session sees, or the one of a name, and what they name."""
        found: dict[bytes, Found] = {}

        def sees(cid: bytes) -> bool:
            if cid not in found:
                place = self.find(db, view.session, "", thread, cid)
                if place is None:
                    return False
                found[cid] = place
            return True

        return {
            label.name: (label, found[label.cid])
            for label in seen_labels(db, view, sees, name).values()
        }

    def _on_path(self, db: Connection, view: View, cid: bytes) -> Found | None:
        threads = {segment.thread for segment in view.path}
        for thread, n, lane, hidden, _ in db.all(
            "holders_of_checkpoint", cid=cid, threads=db.members(threads)
        ):
            cut = self._lineage.cut(db, view, thread)
            if view.holds(thread, lane, n) and seen_through(hidden, n, cut):
                return Found(thread, n, lane)
        return None

    def _in_sub_namespace(
        self, db: Connection, view: View, namespace: str, cid: bytes
    ) -> Found | None:
        for base in view.shown:
            row = db.one("thread_of", session=base.session, namespace=namespace)
            if row is None:
                continue
            root_thread = db.one("thread_of", session=base.session, namespace="")[0]
            for held in map(
                _Holder._make,
                db.all("holders_of_checkpoint", cid=cid, threads=db.members([row[0]])),
            ):
                if seen_through(held.hidden, held.n, base.cut) and self._lineage.shows_rooted(
                    db, view, base, held, root_thread
                ):
                    return Found(held.thread, held.n, held.lane)
        return None

    def has_child(self, db: Connection, view: View, point: Found) -> bool:
        """Whether a session has gone on past one of the root namespace's rows that it sees."""
        if self._lineage.owner(db, point.thread) != view.session:
            return True  # A strict ancestor of the session's own first row.
        following = db.one("next_in_lane", thread=point.thread, n=point.n, lane=point.lane)
        if following is not None and following[1] == point.n and following[2] == 0:
            return True
        return db.one("branch_at", thread=point.thread, n=point.n) is not None
