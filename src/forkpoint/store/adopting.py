"""A row of another session as a session's own: how forks begin, and how they write on what they
inherit.

Only the row and its writes are copied, a few hundred bytes; every value goes along by reference.
"""

from __future__ import annotations

from forkpoint.store.driver import Connection
from forkpoint.store.lineage import INHERITED_ROOT, Lineage, View
from forkpoint.store.listing import inherited_head
from forkpoint.store.lookup import Found
from forkpoint.store.overlays import overlays
from forkpoint.store.records import ALL_WRITES, Carry, Row, cid_text
from forkpoint.store.rows import filtered_write_body, read_writes
from forkpoint.store.sessions import Sessions
from forkpoint.store.terms import Fresh, Terms

_ADOPTED = -1
"""`size` of a row that still counts as inherited."""


class Adopter:
    """Copies rows between the sessions of one family."""

    def __init__(self, sessions: Sessions, terms: Terms, lineage: Lineage) -> None:
        self._sessions = sessions
        self._terms = terms
        self._lineage = lineage

    def copy(
        self,
        db: Connection,
        session: int,
        own_thread: int,
        thread: int,
        row_n: int,
        cut: int,
        *,
        fresh: Fresh,
        carry: Carry = ALL_WRITES,
        without_tasks: frozenset[str] = frozenset(),
        run_key: str | None = None,
        root: int | None = None,
        over: tuple[View, str] | None = None,
        size: int = 0,
    ) -> int:
        """Give a session a row of its own that stands for another session's, and make it the head.

        Values go along by reference. The row hangs where the other one hangs. `over` is a view that
        inherits the row, and its namespace: what was written over it goes along too.
        """
        n = self._sessions.take_tick(db, session)
        row = Row(*db.one("row", thread=thread, n=row_n))
        metadata = row.metadata
        if run_key is not None:
            entries = self._terms.metadata(db, metadata)
            if entries.pop(run_key, None) is not None:
                metadata = self._terms.metadata_number(db, fresh, entries)
        self._terms.note_thread(db, metadata, own_thread)
        db.run(
            "insert_checkpoint",
            thread=own_thread,
            n=n,
            cid=row.cid,
            lane=n,
            parent=row.parent,
            parent_thread=None if row.parent is None else row.parent_thread or thread,
            root=root,
            step=row.step,
            turn=n if row.turn == row_n else None,
            metadata=metadata,
            size=size,
            body=row.body,
        )
        db.run("move_head", thread=own_thread, n=n)
        written = [row[1:] for row in db.all("pending_of", thread=thread, n=row_n, cut=cut)]
        if over is not None:
            written += overlays(db, *over).get(row.cid, [])
        for task, body in written:
            if cid_text(task) in without_tasks:
                continue
            writes = list(read_writes(db, self._terms, task, body))
            keep = [i for i, write in enumerate(writes) if carry.takes(write.channel)]
            if not keep:
                continue
            if len(keep) < len(writes):
                places = [[writes[i].position, writes[i].channel] for i in keep]
                shape = self._terms.number(db, fresh, [writes[0].task_path, places])
                body = filtered_write_body(body, keep, shape)
            w = self._sessions.take_tick(db, session)
            db.run("insert_pending", thread=own_thread, n=n, w=w, task=task, body=body)
        return n

    def adopt(self, db: Connection, session: int, thread: int, found: Found, fresh: Fresh) -> int:
        """Copy the inherited head of a sub-namespace into a fork's own thread; its number there."""
        view = self._lineage.view(db, session)
        root = Row(*db.one("row", thread=found.thread, n=found.n)).root
        base = view.base_of(self._lineage.owner(db, found.thread))
        of_fork_point = base is not None and base.open and root == base.n
        return self.copy(
            db,
            session,
            thread,
            found.thread,
            found.n,
            self._lineage.cut(db, view, found.thread),
            root=0 if of_fork_point else INHERITED_ROOT,
            fresh=fresh,
            over=(view, db.one("thread_owner", id=thread)[1]),
            size=_ADOPTED,
        )

    def inherited_head(
        self, db: Connection, session: int, thread: int, namespace: str
    ) -> Found | None:
        """The head of a sub-namespace, as long as a fork has not written a row of its own there."""
        if db.one("thread_owner", id=thread)[2] is not None:
            return None
        view = self._lineage.view(db, session)
        row = inherited_head(db, self._lineage, view, namespace)
        return None if row is None else Found(row.thread, row.n, row.lane)
