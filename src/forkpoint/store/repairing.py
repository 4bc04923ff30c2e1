"""Mending what follows from the rest of the database.

A finding is looked at again inside the transaction that mends it, with its session or family held,
so an old diagnosis does no harm: what is sound by now is passed over. No value is touched, nor is
anything made up: what was stored and is gone stays a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ormsgpack import unpackb

from forkpoint.model import Diagnosis, Finding, RepairReport
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.examining import index_entries
from forkpoint.store.examining_family import MALFORMED
from forkpoint.store.records import WAITING_FOR_ROOT, Row
from forkpoint.store.sessions import SessionChangedError, Sessions

Details = Mapping[str, Any]

_PIECE = 256
_ADOPTED = -1


class Repairer:
    """Repairs one database."""

    def __init__(self, driver: Driver, sessions: Sessions) -> None:
        self._driver = driver
        self._sessions = sessions
        self._mending: dict[str, Callable[[Details], bool]] = {
            "head": self._once(self._head),
            "tick": self._once(self._tick),
            "counter": self._once(self._counter),
            "family": self._once(self._family),
            "lineage": self._once(self._lineage),
            "early": self._once(self._early),
            "label": self._once(self._label),
            "metadata": self._once(self._metadata),
            "orphan": self._orphan,
        }

    def repair(self, diagnosis: Diagnosis) -> RepairReport:
        """Mend each finding that can be mended, in a transaction of its own."""
        repaired: list[Finding] = []
        passed: list[Finding] = []
        remaining: list[Finding] = []
        for finding in diagnosis.findings:
            if not finding.repairable:
                if finding.severity != "info":
                    remaining.append(finding)
            elif self._mending[finding.kind](finding.details):
                repaired.append(finding)
            else:
                passed.append(finding)
        return RepairReport(tuple(repaired), tuple(passed), tuple(remaining))

    def _once(self, mend: Callable[[Connection, Details], bool]) -> Callable[[Details], bool]:
        def mended(details: Details) -> bool:
            try:
                return self._driver.write(lambda db: mend(db, details))
            except SessionChangedError:
                # Deleted meanwhile, and with it what was to be mended.
                return False

        return mended

    # -- sessions -----------------------------------------------------------------------------

    def _head(self, db: Connection, details: Details) -> bool:
        session, thread = details["session"], details["thread"]
        db.one("hold_session", id=session)
        owner = db.one("thread_owner", id=thread)
        if owner is None or owner[0] != session:
            return False
        head, newest = owner[2], db.one("newest_visible", thread=thread)
        if head is None and newest is None:
            return False
        if head is not None:
            row = db.one("identity", thread=thread, n=head)
            if row is not None and row[1] == 0:
                return False
        self._sessions.take_tick(db, session)
        db.run("move_head", thread=thread, n=None if newest is None else newest[0])
        return True

    def _tick(self, db: Connection, details: Details) -> bool:
        session = details["session"]
        held = db.one("hold_session", id=session)
        if held is None:
            return False
        used = [
            db.one("newest_label", session=session)[0],
            (db.one("widest_cut", session=session)[0] or 0) - 1,
        ]
        for thread, _, _ in db.all("threads", session=session):
            newest = db.one("newest", thread=thread)
            used.append(None if newest is None else newest[0])
            used += [
                db.one(statement, thread=thread)[0]
                for statement in ("newest_write", "newest_early", "newest_hiding")
            ]
        following = max(number for number in used if number is not None) + 1
        return db.run("raise_tick", id=session, tick=following) == 1

    def _lineage(self, db: Connection, details: Details) -> bool:
        session = details["session"]
        db.one("hold_session", id=session)
        row = db.one("session_standing", id=session)
        parent = None if row is None or row[2] is None else db.one("session_standing", id=row[2])
        if parent is None or (row[0], row[1]) == (parent[0] + 1, parent[1]):
            return False
        db.run("set_standing", id=session, depth=parent[0] + 1, root=parent[1])
        return True

    def _early(self, db: Connection, details: Details) -> bool:
        thread, cid = details["thread"], details["cid"]
        db.one("hold_session", id=details["session"])
        found = db.one("find_checkpoint", cid=cid, thread=thread)
        writes = db.all("early_writes", thread=thread, cid=cid)
        if found is None or found[2] != 0 or not writes:
            return False
        n = found[0]
        if Row(*db.one("row", thread=thread, n=n)).size == _ADOPTED:
            return False
        self._sessions.take_tick(db, details["session"])
        for w, task, body in writes:
            if bytes(task) == WAITING_FOR_ROOT:
                sub_thread, sub_n = unpackb(body)
                db.run("set_root", thread=sub_thread, n=sub_n, root=n)
            else:
                db.run("insert_pending", thread=thread, n=n, w=w, task=task, body=body)
        db.run("delete_early", thread=thread, cid=cid)
        return True

    def _label(self, db: Connection, details: Details) -> bool:
        session = details["session"]
        held = db.one("hold_session", id=session)
        if held is None:
            return db.run("delete_labels", session=session) > 0
        if "name" not in details:
            return False
        deleted, _, family, _ = db.one("session_row", id=session)
        ended = deleted and not db.all("threads", session=session)
        where = {"session": session, "name": details["name"], "tick": details["tick"]}
        label = db.one("label_at", **where)
        if label is None:
            return False
        if not ended and db.one("held_in_family", cid=label[0], family=family) is not None:
            return False
        return db.run("delete_label", **where) == 1

    # -- families -----------------------------------------------------------------------------

    def _counter(self, db: Connection, details: Details) -> bool:
        family = details["family"]
        db.one("hold_family", family=family)
        if not db.run("raise_counter", family=family, next=self._highest(db, family) + 1):
            return False
        # Whoever took numbers from the wrong counter must not use them.
        db.run("forget_values", family=family)
        return True

    def _family(self, db: Connection, details: Details) -> bool:
        family = details["family"]
        db.one("hold_family", family=family)
        row, highest = db.one("family_row", family=family), self._highest(db, family)
        inhabited = (
            db.one("family_members", family=family) is not None
            or db.one("live_member", family=family) is not None
        )
        if row is None:
            if not inhabited and not highest:
                return False
            db.run("restore_family", family=family, next=highest + 1)
            db.run("forget_values", family=family)
        elif inhabited or (highest and row[1]):
            return False
        elif highest:
            db.run("set_dirty", family=family)
        else:
            db.run("delete_family", family=family)
        return True

    def _highest(self, db: Connection, family: int) -> int:
        low, high = family << 32, (family + 1) << 32
        numbers = db.one("highest_numbers", low=low, high=high)
        return max((number - low for number in numbers if number is not None), default=0)

    # -- metadata -----------------------------------------------------------------------------

    def _metadata(self, db: Connection, details: Details) -> bool:
        if "thread" in details:
            return self._notes(db, details["session"], details["thread"])
        number = details["number"]
        body = db.one("metadata_body", id=number)
        try:
            entries = frozenset() if body is None else index_entries(body[0])
        except MALFORMED:
            return False
        if "name" in details:
            entry = (details["name"], details["value"])
            if entry in entries:
                return False
            return (
                db.run("delete_metadata_item", name=entry[0], value=entry[1], metadata=number) == 1
            )
        restored = [
            db.run("restore_metadata_item", name=name, value=value, metadata=number)
            for name, value in sorted(entries)
        ]
        return sum(restored) > 0

    def _notes(self, db: Connection, session: int, thread: int) -> bool:
        db.one("hold_session", id=session)
        noted = {row[0] for row in db.all("noted_metadata", thread=thread)}
        missing = [
            number
            for (number,) in db.all("metadata_in_use", thread=thread)
            if number not in noted and db.one("metadata_body", id=number) is not None
        ]
        if missing:
            self._sessions.take_tick(db, session)
        for number in missing:
            db.run("note_metadata_thread", metadata=number, thread=thread)
        return bool(missing)

    # -- what belongs to nobody ---------------------------------------------------------------

    def _orphan(self, details: Details) -> bool:
        thread = details["thread"]
        if "pending" in details:
            return self._lost_writes(thread, details["pending"])
        mended = False
        while self._driver.write(lambda db: self._piece(db, thread)):
            mended = True
        return mended

    def _lost_writes(self, thread: int, rows: list[int]) -> bool:
        def work(piece: list[int], db: Connection) -> int:
            return sum(
                db.run("delete_pending_of", thread=thread, n=n)
                for n in piece
                if db.one("identity", thread=thread, n=n) is None
            )

        removed = 0
        for start in range(0, len(rows), _PIECE):
            piece = rows[start : start + _PIECE]
            removed += self._driver.write(partial(work, piece))
        return removed > 0

    def _piece(self, db: Connection, thread: int) -> bool:
        """Remove some of a thread that belongs to no session; whether there was any."""
        owner = db.one("thread_owner", id=thread)
        if owner is not None and db.one("session_row", id=owner[0]) is not None:
            return False
        for n in (n for (n,) in db.all("oldest_writes", thread=thread, limit=_PIECE)):
            db.run("delete_pending_of", thread=thread, n=n)
        rows = [n for (n,) in db.all("oldest_rows", thread=thread, limit=_PIECE)]
        db.many("delete_checkpoint", [{"thread": thread, "n": n} for n in rows])
        removed = len(rows) + db.run("delete_all_early", thread=thread)
        removed += db.run("delete_noted_metadata", thread=thread)
        if not rows and owner is not None:
            removed += db.run("delete_thread_row", thread=thread)
        return removed > 0
