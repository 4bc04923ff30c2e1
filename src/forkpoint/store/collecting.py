"""Collection: policies applied to sessions, then what that sets free removed, family by family.

Every step is a small transaction that decides on what it finds, so writers go on meanwhile and a
crash at any point leaves nothing but work for the next collection:

1. a session's expired checkpoints leave its view, some hundreds at a time;
2. rows of the family that nobody needs any more are removed, deleted sessions' included;
3. values that no row refers to are swept.

A dry run looks at one family in one moment of the database and works out the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import ormsgpack

from forkpoint.errors import SessionNotFoundError
from forkpoint.model import CollectedFamily, CollectedSession, CollectionReport
from forkpoint.store.cells import Reference
from forkpoint.store.clock import now
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.expiring import Expired, Expiry
from forkpoint.store.lineage import NEVER, Lineage
from forkpoint.store.listing import inherited_head
from forkpoint.store.needing import Doomed, Hanging, Needs, Planned, ReplayedChannels
from forkpoint.store.overlays import overlays
from forkpoint.store.records import Row
from forkpoint.store.removing import Removed, Remover, hold
from forkpoint.store.retention import Policies, RetentionPolicy, stored_policies
from forkpoint.store.sweeping import Sweeper, Swept
from forkpoint.store.terms import Terms

Progress = Callable[[int, int], Any]
"""Called with (done, total) steps."""

_PIECE = 1_000
"""Checkpoints that leave a view in one transaction at most."""
_PAGE = 500


class _Due(NamedTuple):
    """A session that a policy is to be applied to."""

    session: int
    name: str
    policy: RetentionPolicy


@dataclass(slots=True)
class _Taken:
    """What was taken so far, by session."""

    hidden: dict[int, int] = field(default_factory=dict)
    removed: dict[int, Removed] = field(default_factory=dict)
    families: dict[int, Swept] = field(default_factory=dict)

    def remove(self, session: int, removed: Removed) -> None:
        if removed.rows:
            self.removed[session] = self.removed.get(session, Removed()).plus(removed)


class Collector:
    """Collects in one database."""

    def __init__(
        self,
        driver: Driver,
        terms: Terms,
        lineage: Lineage,
        remover: Remover,
        sweeper: Sweeper,
        expiry: Expiry,
        replayed: ReplayedChannels,
    ) -> None:
        self._driver = driver
        self._terms = terms
        self._lineage = lineage
        self._remover = remover
        self._sweeper = sweeper
        self._expiry = expiry
        self._replayed = replayed

    def collect(
        self,
        policy: RetentionPolicy | None,
        names: Sequence[str] | None,
        *,
        dry_run: bool,
        compact: bool,
        progress: Progress | None,
    ) -> CollectionReport:
        """Apply a policy, or the stored ones, to some sessions or all, and remove what goes.

        Raises `SessionNotFoundError` before anything is done.
        """
        moment = now()
        due = self._due(policy, names)
        families = sorted({*due, *self._dirty(names, due)})
        total = sum(map(len, due.values())) + len(families)
        done = 0
        taken = _Taken()
        for family in families:
            sessions = due.get(family, [])
            if dry_run:
                self._foresee(family, sessions, moment, taken)
            else:
                self._collect_family(family, sessions, moment, taken)
            done += len(sessions) + 1
            if progress is not None:
                progress(done, total)
        if dry_run:
            return self._report(taken, dry_run=True, given_back=0, free=self._driver.free_space())
        self._sweeper.sweep_metadata()
        space = self._driver.compact() if compact else self._driver.give_back()
        return self._report(taken, dry_run=False, given_back=space.given_back, free=space.free)

    def settle(self, family: int) -> dict[int, Removed]:
        """Remove every row of a family that nobody needs; what went, by session."""
        with self._driver.read() as db:
            deleted = {row[0] for row in db.all("family_sessions", family=family) if row[2]}
            needs = Needs(db, self._terms, self._replayed)
            doomed = {session: needs.doomed(session) for session in _holding(db, family, needs)}
        taken = _Taken()
        below: list[int] = []
        for session, rows in doomed.items():
            taken.remove(session, self._remover.remove(family, session, rows))
            if session in deleted:
                with self._driver.read() as db:
                    base = db.one("session_row", id=session)[1]
                if self._remover.bury(family, session) and base is not None:
                    below.append(base)
        for base in below:
            for session, removed in self._remover.release(base).items():
                taken.remove(session, removed)
        self._remover.clear_family(family)
        return taken.removed

    # -- what there is to do ------------------------------------------------------------------

    def _due(
        self, policy: RetentionPolicy | None, names: Sequence[str] | None
    ) -> dict[int, list[_Due]]:
        """The sessions that a policy applies to, the newest first, by family."""
        due: dict[int, list[_Due]] = {}
        with self._driver.read() as db:
            policies = Policies(stored_policies(db))
        for session, name, family, workspace, agent in self._sessions(policy, policies, names):
            own = policy or policies.of(name, workspace, agent)
            if own is not None and not own.keeps_everything:
                due.setdefault(family, []).append(_Due(session, name, own))
        return due

    def _sessions(
        self, policy: RetentionPolicy | None, policies: Policies, names: Sequence[str] | None
    ) -> Iterator[Any]:
        if names is not None:
            yield from self._named(names)
        elif policy is None and (only := policies.only_sessions()) is not None:
            with self._driver.read() as db:
                rows = [db.one("session_to_collect", name=name) for name in only]
            yield from sorted((row for row in rows if row is not None), reverse=True)
        else:
            below = NEVER
            while True:
                with self._driver.read() as db:
                    rows = db.all("sessions_to_collect", below=below, limit=_PAGE)
                yield from rows
                if len(rows) < _PAGE:
                    return
                below = rows[-1][0]

    def _named(self, names: Sequence[str]) -> list[Any]:
        with self._driver.read() as db:
            rows = {name: db.one("session_to_collect", name=name) for name in names}
        for name, row in rows.items():
            if row is None:
                raise SessionNotFoundError(
                    f"there is no session {name!r} to collect; nothing was collected"
                )
        return sorted(rows.values(), reverse=True)

    def _dirty(self, names: Sequence[str] | None, due: dict[int, list[_Due]]) -> set[int]:
        """Families of which rows went earlier; of some sessions only, if those were asked for."""
        found: set[int] = set()
        after = 0
        while True:
            with self._driver.read() as db:
                rows = db.all("dirty_families", after=after, limit=_PAGE)
            found.update(family for (family,) in rows)
            if len(rows) < _PAGE:
                break
            after = rows[-1][0]
        return found if names is None else found & {row[2] for row in self._named(names)}

    # -- doing it -----------------------------------------------------------------------------

    def _collect_family(
        self, family: int, sessions: Sequence[_Due], moment: int, taken: _Taken
    ) -> None:
        for due in sessions:
            hidden = self._hide(family, due, moment)
            if hidden:
                taken.hidden[due.session] = hidden
        with self._driver.read() as db:
            row = db.one("family_row", family=family)
        if row is None or not row[1]:
            return
        for session, removed in self.settle(family).items():
            taken.remove(session, removed)
        taken.families[family] = self._sweeper.sweep(family)

    def _hide(self, family: int, due: _Due, moment: int) -> int:
        """Take what has expired out of a session's view; how many checkpoints."""
        with self._driver.read() as db:
            if not self._expiry.of(db, due.session, due.policy, moment):
                return 0
        hidden = 0
        while True:
            count, more = self._driver.write(
                partial(self._hide_some, family=family, due=due, moment=moment)
            )
            hidden += count
            if not more:
                return hidden

    def _hide_some(self, db: Connection, family: int, due: _Due, moment: int) -> tuple[int, bool]:
        session = due.session
        hold(db, family, session)
        if db.one("session_row", id=session)[0]:
            return 0, False
        expired = self._expiry.of(db, session, due.policy, moment)
        if not expired:
            return 0, False
        if expired.inherited:
            self._remover.stop_showing_base(db, session)
        # A number of its own tells forks that were taken before from those taken after.
        tick = db.one("advance_tick", id=session)[0]
        left = _PIECE
        for thread, ns in expired.rows.items():
            some = db.members(ns[:left])
            left -= db.run("hide_rows", thread=thread, ns=some, tick=tick)
            if left <= 0:
                break
        db.run("soil_family", family=family, rows=1 + _PIECE - left)
        return _PIECE - left, expired.count > _PIECE

    # -- foreseeing it ------------------------------------------------------------------------

    def _foresee(self, family: int, sessions: Sequence[_Due], moment: int, taken: _Taken) -> None:
        planned = Planned()
        more: list[Sequence[Reference]] = []
        with self._driver.read() as db:
            for due in sessions:
                expired = self._expiry.of(db, due.session, due.policy, moment)
                if expired:
                    self._plan(db, due.session, expired, planned, more)
                    if expired.count:
                        taken.hidden[due.session] = expired.count
            row = db.one("family_row", family=family)
            if row is None or not (row[1] or planned.hidden or planned.alone):
                return
            needs = Needs(db, self._terms, self._replayed, planned)
            without: dict[int, set[int]] = {}
            for session in _holding(db, family, needs):
                doomed = needs.doomed(session)
                for rows in (doomed.rows, doomed.hollow):
                    for thread, ns in rows.items():
                        without.setdefault(thread, set()).update(ns)
                taken.remove(session, _weighed(db, doomed))
            taken.families[family] = self._sweeper.estimate(db, family, without, more)

    def _plan(
        self,
        db: Connection,
        session: int,
        expired: Expired,
        planned: Planned,
        more: list[Sequence[Reference]],
    ) -> None:
        for thread, ns in expired.rows.items():
            planned.hidden[thread] = set(ns)
        if not expired.inherited:
            return
        planned.alone.add(session)
        for row, writes in self._heads_to_keep(db, session):
            if row.parent is not None:
                place = (row.parent_thread or row.thread, row.parent)
                planned.hanging.setdefault(session, []).append(Hanging(*place, bytes(row.body)))
            more.append(ormsgpack.unpackb(row.body)[2])
            more += [ormsgpack.unpackb(body)[1] for body in writes]

    def _heads_to_keep(self, db: Connection, session: int) -> Iterator[tuple[Row, list[bytes]]]:
        """What a fork will get as its own when it stops showing what it inherits, with writes."""
        view = self._lineage.view(db, session)
        own = {name: head for _, name, head in db.all("threads", session=session)}
        inherited = {
            namespace
            for base in view.shown
            for _, namespace, _ in db.all("threads", session=base.session)
        }
        for namespace in sorted(inherited):
            if not namespace or own.get(namespace) is not None:
                continue
            row = inherited_head(db, self._lineage, view, namespace)
            if row is None:
                continue
            cut = self._lineage.cut(db, view, row.thread)
            written = db.all("pending_of", thread=row.thread, n=row.n, cut=cut)
            laid = overlays(db, view, namespace).get(row.cid, [])
            yield row, [body for *_, body in (*written, *laid)]

    # -- telling ------------------------------------------------------------------------------

    def _report(
        self, taken: _Taken, *, dry_run: bool, given_back: int, free: int | None
    ) -> CollectionReport:
        with self._driver.read() as db:
            sessions = tuple(
                CollectedSession(
                    db.one("name_of", id=session)[0],
                    taken.hidden.get(session, 0),
                    *taken.removed.get(session, Removed()),
                )
                for session in sorted({*taken.hidden, *taken.removed})
            )
            families = tuple(
                CollectedFamily(db.one("name_of", id=family)[0], *swept)
                for family, swept in taken.families.items()
            )
        return CollectionReport(dry_run, sessions, families, given_back, free)


def _holding(db: Connection, family: int, needs: Needs) -> list[int]:
    """Members of a family that hold rows, forks before what they stand on."""
    found = {session for _, session, _, _ in db.all("family_threads", family=family)}
    needs.prepare(found)
    return sorted(found, reverse=True)


def _weighed(db: Connection, doomed: Doomed) -> Removed:
    weighed = Removed()
    for statement, rows in (
        ("weigh_rows", doomed.rows),
        ("weigh_writes", doomed.rows),
        ("weigh_writes", doomed.hollow),
    ):
        for thread, ns in rows.items():
            for start in range(0, len(ns), _PIECE):
                members = db.members(ns[start : start + _PIECE])
                weighed = weighed.plus(Removed(*db.one(statement, thread=thread, ns=members)))
    return weighed
