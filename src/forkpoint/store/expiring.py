"""Which of a session's checkpoints a retention policy lets go.

Decided by what the session shows: its own rows one by one, what it inherits as a whole. Nothing is
written here, so the same decision serves a dry run and the real thing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from forkpoint.store.clock import made_at
from forkpoint.store.driver import Connection
from forkpoint.store.lineage import INHERITED_ROOT, NEVER, Lineage, View
from forkpoint.store.listing import lane_rows
from forkpoint.store.lookup import Found, Lookup
from forkpoint.store.records import cid_text
from forkpoint.store.retention import RetentionPolicy
from forkpoint.store.rows import extra_of

StoredTime = Callable[[object], int | None]
"""From the extra part of a checkpoint body: when it was made, in microseconds since 1970."""

_MICROSECONDS = 1_000_000
_PIECE = 500


class _Row(NamedTuple):
    """A row of a thread, shown or not."""

    n: int
    cid: bytes
    lane: int
    parent: int | None
    parent_thread: int | None
    root: int | None
    hidden: int
    size: int


@dataclass(slots=True)
class Expired:
    """What of a session is to leave its view."""

    rows: dict[int, list[int]] = field(default_factory=dict)
    """By thread, oldest first."""
    inherited: bool = False
    """Whether what it inherits goes."""

    @property
    def count(self) -> int:
        """How many rows of its own go."""
        return sum(map(len, self.rows.values()))

    def __bool__(self) -> bool:
        return self.inherited or bool(self.rows)


class Expiry:
    """Decides for the sessions of one database."""

    def __init__(self, lineage: Lineage, stored_time: StoredTime) -> None:
        self._lineage = lineage
        self._lookup = Lookup(lineage)
        self._stored_time = stored_time

    def of(self, db: Connection, session: int, policy: RetentionPolicy, moment: int) -> Expired:
        """What goes, seen from a moment in microseconds."""
        if policy.keeps_everything:
            return Expired()
        since = _since(policy, moment)
        threads = db.all("threads", session=session)
        root = next(((thread, head) for thread, name, head in threads if not name), None)
        expired = Expired()
        view = self._lineage.view(db, session)
        labelled: list[Found] = []
        if policy.keep_labelled:
            labelled = self._labelled(db, view, None if root is None else root[0])
        kept: set[int] = set()
        rows = 0
        if root is not None:
            thread, head = root
            every = _rows(db, thread)
            shown = [row for row in every if not row.hidden]
            rows = len(shown)
            kept = {found.n for found in labelled if found.thread == thread}
            if head is not None:
                kept.add(head)
            kept |= self._kept(db, session, thread, every, policy, since)
            _let_go(expired, thread, [row.n for row in shown if row.n not in kept])
        if view.visible:
            expired.inherited = not (
                any(root is None or found.thread != root[0] for found in labelled)
                or self._keeps_inherited(db, view, rows, policy, since)
            )
        stays = bool(view.visible) and not expired.inherited
        for thread, namespace, head in threads:
            if namespace:
                gone = [
                    row.n
                    for row in _rows(db, thread)
                    if not row.hidden and row.n != head and not _follows_root(row, kept, stays)
                ]
                _let_go(expired, thread, gone)
        return expired

    def _kept(
        self,
        db: Connection,
        session: int,
        thread: int,
        every: Sequence[_Row],
        policy: RetentionPolicy,
        since: int | None,
    ) -> set[int]:
        kept: set[int] = set()
        shown = [row for row in every if not row.hidden]
        if policy.keep_last is not None:
            kept.update(row.n for row in shown[-policy.keep_last :])
        if policy.keep_fork_points:
            kept.update(row[0] for row in db.all("fork_points", session=session, thread=thread))
        if policy.keep_pending:
            kept |= _waiting(db, thread, every)
        if since is not None:
            kept |= self._newer(
                db, thread, [(row.n, row.cid) for row in shown if row.n not in kept], since
            )
        return kept

    def _newer(
        self, db: Connection, thread: int, rows: Sequence[tuple[int, bytes]], since: int
    ) -> set[int]:
        """The rows that are newer than a moment, or do not say when they were made."""
        newer: set[int] = set()
        timeless: list[int] = []
        for n, cid in rows:
            made = made_at(cid_text(cid))
            if made >= since:
                newer.add(n)
            elif not made:
                timeless.append(n)
        for start in range(0, len(timeless), _PIECE):
            ns = timeless[start : start + _PIECE]
            for n, body in db.all("bodies_at", thread=thread, ns=db.members(ns)):
                stored = self._stored_time(extra_of(body))
                if stored is None or stored >= since:
                    newer.add(n)
        return newer

    def _labelled(self, db: Connection, view: View, thread: int | None) -> list[Found]:
        """What has a name that the session sees."""
        return [found for _, found in self._lookup.labels(db, view, thread).values()]

    def _keeps_inherited(
        self, db: Connection, view: View, own: int, policy: RetentionPolicy, since: int | None
    ) -> bool:
        """Whether what a fork inherits stays, by how much the fork has of its own, or by the newest
        of what it inherits."""
        if policy.keep_last is not None and own < policy.keep_last:
            return True
        if since is None:
            return False
        newest = self._newest_inherited(db, view)
        return newest is not None and bool(
            self._newer(db, newest[0], [(newest[1], newest[2])], since)
        )

    def _newest_inherited(self, db: Connection, view: View) -> tuple[int, int, bytes] | None:
        for segment in view.path:
            cut = self._lineage.cut(db, view, segment.thread)
            rows = lane_rows(db, segment, NEVER, 1, cut)
            if rows:
                return segment.thread, rows[0].n, bytes(rows[0].cid)
        return None


def _since(policy: RetentionPolicy, moment: int) -> int | None:
    newer = policy.keep_newer_than
    if newer is None:
        return None
    # No checkpoint was made before 1970; a time of zero stands for one that is not known.
    return max(1, moment - round(newer.total_seconds() * _MICROSECONDS))


def _rows(db: Connection, thread: int) -> list[_Row]:
    return [_Row(n, bytes(cid), *rest) for n, cid, *rest in db.all("rows_to_judge", thread=thread)]


def _follows_root(row: _Row, kept: Collection[int], inherited: bool) -> bool:
    """Whether a sub-namespace row stays because of the root row that it belongs to."""
    if row.root is None:
        return True  # It waits for its root, which is being written just now.
    if row.root == INHERITED_ROOT or row.size < 0:
        return inherited
    return row.root in kept


def _waiting(db: Connection, thread: int, rows: Sequence[_Row]) -> set[int]:
    """The shown rows that no shown row descends from, and that have writes on them."""
    by_n = {row.n: row for row in rows}
    newest: dict[int, int] = {}
    for row in rows:
        if not row.hidden:
            newest[row.lane] = row.n
    followed: dict[int, int] = {}
    # A lane hangs on an older one, so what follows from newer lanes is known before it is needed.
    for lane in sorted({row.lane for row in rows}, reverse=True):
        first = by_n.get(lane)
        if first is None or first.parent is None or first.parent_thread is not None:
            continue
        if (lane in newest or lane in followed) and (hung := by_n.get(first.parent)):
            followed[hung.lane] = max(followed.get(hung.lane, hung.n), hung.n)
    ends = [n for lane, n in newest.items() if lane not in followed or n > followed[lane]]
    waiting: set[int] = set()
    for start in range(0, len(ends), _PIECE):
        ns = ends[start : start + _PIECE]
        waiting |= {row[0] for row in db.all("written_on", thread=thread, ns=db.members(ns))}
    return waiting


def _let_go(expired: Expired, thread: int, rows: list[int]) -> None:
    if rows:
        expired.rows[thread] = rows
