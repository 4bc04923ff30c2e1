"""Making a fork stand on its own: what it inherits becomes rows of its own.

Values are shared within a family, and a detached fork stays in its family, so nothing is copied but
rows. Sessions that were forked from it go on reading through it, and what they hung on below it
hangs on the rows that it now has.
"""

from __future__ import annotations

from secrets import randbelow

from forkpoint.errors import SessionNotFoundError
from forkpoint.model import DetachReport
from forkpoint.store.contents import chunks, contents, early_in, writes
from forkpoint.store.driver import Connection, Driver, StaleError
from forkpoint.store.labels import carry_labels
from forkpoint.store.lineage import View
from forkpoint.store.removing import Remover
from forkpoint.store.rows import empty_body
from forkpoint.store.sessions import Sessions
from forkpoint.store.terms import Fresh, Terms
from forkpoint.store.whole import GONE, InPlace, Whole, WholeRow, Wholes

_NOBODY = 0
"""Number of no session."""
_SHAPES = 2**31


class Detacher:
    """Detaches forks in one database."""

    def __init__(
        self, driver: Driver, sessions: Sessions, terms: Terms, wholes: Wholes, remover: Remover
    ) -> None:
        self._driver = driver
        self._sessions = sessions
        self._terms = terms
        self._wholes = wholes
        self._remover = remover

    def detach(self, name: str) -> DetachReport:
        """Make a fork stand on nothing. Raises `SessionNotFoundError`."""

        def work(db: Connection) -> tuple[DetachReport, Fresh, int | None]:
            fresh = Fresh()
            found = db.one("live_session", name=name)
            if found is None:
                raise SessionNotFoundError(f"there is no session {name!r} to detach")
            session, family = found[0], found[1]
            db.one("hold_family", family=family)
            above = [row[0] for row in db.all("standing_above", id=session)]
            for held in sorted({session, *above}):
                db.one("hold_session", id=held)
            deleted, base, *_ = db.one("session_row", id=session)
            if deleted:
                raise StaleError
            if base is None:
                return DetachReport(name, detached=False, checkpoints=0, writes=0), fresh, None
            checkpoints, written = self._carry_out(db, session, above, fresh)
            db.run("stand_alone", id=session)
            # A number that a transaction gave out and undid must not come again for another shape.
            db.run("change_shape", family=family, by=1 + randbelow(_SHAPES))
            for held in (session, *above):
                db.one("advance_tick", id=held)
            db.run("soil_family", family=family, rows=1)
            report = DetachReport(name, detached=True, checkpoints=checkpoints, writes=written)
            return report, fresh, base

        made = self._driver.write(work, lambda made: self._terms.committed(made[1]))
        self._sessions.forget(name)
        if made[2] is not None:
            self._remover.release(made[2])
        return made[0]

    def _carry_out(
        self, db: Connection, session: int, above: list[int], fresh: Fresh
    ) -> tuple[int, int]:
        forks = db.all("forks_standing", id=session)
        # A fork that was taken before the session was pruned sees what the session inherits. The
        # tick of the pruning is not known, but it lies between the last such fork and the next.
        seeing = [cut for cut, deep in forks if deep]
        in_place = InPlace(bool(forks), min(seeing, default=None), max(seeing, default=None))
        whole = self._wholes.plan(db, session, in_place)
        threads = {namespace: thread for thread, namespace, _ in db.all("threads", session=session)}
        for namespace in whole.heads:
            if namespace not in threads:
                threads[namespace] = self._sessions.new_thread(db, session, namespace)
        inherited = [row for row in whole.rows if row.inherited]
        self._insert_rows(db, threads, inherited, fresh)
        written = self._insert_writes(db, threads, whole, inherited)
        self._name_roots(db, whole)
        self._hang_anew(db, threads, whole, {session, *above})
        self._renumber(db, threads, whole)
        there = {bytes(row.cid) for row in whole.rows if not row.namespace}
        carry_labels(db, View(_NOBODY, whole.view.bases), there.__contains__, session)
        for namespace, head in whole.heads.items():
            if head is not None:
                at = whole.numbers.get((threads[namespace], head), head)
                db.run("move_head", thread=threads[namespace], n=at)
            db.run("own_all", thread=threads[namespace])
        return len(inherited), written

    def _insert_rows(
        self, db: Connection, threads: dict[str, int], inherited: list[WholeRow], fresh: Fresh
    ) -> None:
        bare = empty_body(db, self._terms, fresh)
        used: set[tuple[int, int]] = set()
        for chunk in chunks(inherited):
            held = contents(db, chunk)
            used |= {(held[row.thread, row.n].metadata, threads[row.namespace]) for row in chunk}
            db.many(
                "insert_moved",
                [
                    {
                        "thread": threads[row.namespace],
                        "n": row.number,
                        "cid": row.cid,
                        "lane": row.lane,
                        "parent": row.parent,
                        "root": row.root,
                        "hidden": row.hidden,
                        "step": held[row.thread, row.n].step,
                        "turn": row.turn,
                        "metadata": held[row.thread, row.n].metadata,
                        "size": 0,
                        "body": bare if row.bare else held[row.thread, row.n].body,
                    }
                    for row in chunk
                ],
            )
        db.many(
            "note_metadata_thread",
            [{"metadata": metadata, "thread": thread} for metadata, thread in sorted(used)],
        )

    def _insert_writes(
        self, db: Connection, threads: dict[str, int], whole: Whole, inherited: list[WholeRow]
    ) -> int:
        count = 0
        early = {namespace: early_in(db, thread) for namespace, thread in threads.items()}
        waited = {namespace: set(there) for namespace, there in early.items()}
        replaced = [there for _, there in whole.moved]
        for chunk in chunks([row for row in inherited if not row.bare] + replaced):
            made = [
                {"thread": threads[row.namespace], "n": row.number, **write._asdict()}
                for row, there in writes(db, whole, early, chunk)
                for write in there
            ]
            db.many("insert_pending", made)
            count += len(made)
        for namespace, before in waited.items():
            db.many(
                "delete_early",
                [
                    {"thread": threads[namespace], "cid": cid}
                    for cid in sorted(before - early[namespace].keys())
                ],
            )
        return count

    def _name_roots(self, db: Connection, whole: Whole) -> None:
        """Rows of the session's own that only said that they have an inherited root say which."""
        db.many(
            "set_root",
            [
                {"thread": row.thread, "n": row.n, "root": row.root}
                for row in whole.rows
                if not row.inherited and row.root is not None and row.root < 0
            ],
        )

    def _hang_anew(
        self, db: Connection, threads: dict[str, int], whole: Whole, standing: set[int]
    ) -> None:
        """Rows of the session, and of those that stand on it, that hang on what it inherits, hang
        on its own rows."""
        moved: list[dict[str, int | None]] = []
        for base in whole.view.bases:
            for thread, namespace, _ in db.all("threads", session=base.session):
                own = threads.get(namespace)
                for child, n, parent, owner in db.all("hanging_on", thread=thread):
                    if owner in standing:
                        moved.append(
                            {
                                "thread": child,
                                "n": n,
                                "parent": whole.numbers.get((thread, parent), GONE),
                                "parent_thread": None if child == own else own,
                            }
                        )
        db.many("rehang", moved)

    def _renumber(self, db: Connection, threads: dict[str, int], whole: Whole) -> None:
        """Rows of the session's own that take the numbers of inherited ones, and whoever names
        them."""
        for namespace in sorted({own.namespace for own, _ in whole.moved}):
            thread = threads[namespace]
            numbers = {own.n: own.number for own, _ in whole.moved if own.namespace == namespace}
            db.many(
                "renumber",
                [
                    {
                        "thread": thread,
                        "n": row.n,
                        "number": row.number,
                        "lane": row.lane,
                        "parent": row.parent,
                        "turn": row.turn,
                    }
                    for row in whole.rows
                    if row.namespace == namespace and not row.inherited
                ],
            )
            db.many(
                "renumber_pending",
                [{"thread": thread, "n": n, "number": to} for n, to in numbers.items()],
            )
            db.many(
                "rehang",
                [
                    {"thread": child, "n": n, "parent": numbers[parent], "parent_thread": thread}
                    for child, n, parent, _ in db.all("hanging_on", thread=thread)
                    if parent in numbers
                ],
            )
