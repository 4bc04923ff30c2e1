"""Forks: a new session whose first checkpoint is one of another's.

One transaction writes the session, one row that stands for the fork point, and the writes that go
along. What lies before is read through, so a fork costs the same at every depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forkpoint.errors import (
    CheckpointNotFoundError,
    ConflictError,
    DestinationNotEmptyError,
    SessionNotFoundError,
)
from forkpoint.model import ForkOrigin
from forkpoint.store.adopting import Adopter
from forkpoint.store.checks import is_text
from forkpoint.store.clock import iso, now
from forkpoint.store.driver import Connection, Driver, StaleError
from forkpoint.store.labels import carry_labels
from forkpoint.store.lineage import BEGINS_INSIDE, NOWHERE, Lineage, View, strict_ancestors
from forkpoint.store.lookup import Found, Lookup
from forkpoint.store.records import Carry, Row, StoredFork, cid_bytes, cid_text
from forkpoint.store.sessions import Sessions
from forkpoint.store.terms import Fresh, Terms


@dataclass(frozen=True, slots=True)
class InnerPoint:
    """A checkpoint of a sub-namespace that a fork begins at too, and the writes that it loses."""

    namespace: str
    checkpoint_id: str
    carry: Carry
    without_tasks: frozenset[str] = frozenset()


class Forker:
    """Makes forks in one database."""

    def __init__(self, driver: Driver, sessions: Sessions, terms: Terms, lineage: Lineage) -> None:
        self._driver = driver
        self._sessions = sessions
        self._terms = terms
        self._lineage = lineage
        self._lookup = Lookup(lineage)
        self._adopter = Adopter(sessions, terms, lineage)

    def fork(
        self,
        source: str,
        checkpoint_id: str,
        destination: str,
        *,
        live: Carry,
        past: Carry,
        pending: str,
        without_tasks: frozenset[str] = frozenset(),
        inner: Sequence[InnerPoint] = (),
        sub_namespaces: bool = True,
        by: str | None = None,
        reason: str | None = None,
        run_key: str = "run_id",
        request_id: str | None = None,
    ) -> StoredFork:
        """A new session whose first checkpoint is one of another's, with the same id and values.

        `live` and `past` say which of the fork point's writes go along when it has no child yet
        and when it has. `sub_namespaces` is whether those that belong to the fork point itself go
        along while it has no child. `run_key` names the metadata entry that is not carried.
        Nothing of the source is written. Raises `SessionNotFoundError`,
        `CheckpointNotFoundError`, `DestinationNotEmptyError`, or `ConflictError` when
        `request_id` was used for another fork.
        """

        def insert(db: Connection) -> tuple[StoredFork, Fresh]:
            fresh = Fresh()
            if request_id is not None:
                made = self._made_by(db, request_id, source, checkpoint_id, destination)
                if made is not None:
                    return made, fresh
            base = db.one("live_session", name=source)
            if base is None:
                raise SessionNotFoundError(f"there is no session {source!r} to fork")
            base_session, family = base[0], base[1]
            db.run("share_family", family=family)
            held = db.one("hold_source", id=base_session)
            if held is None:
                raise StaleError
            cut, swept, depth, root = held
            self._require_empty(db, destination)
            point = self._lookup.find(
                db,
                base_session,
                "",
                self._sessions.existing_thread(db, base_session, ""),
                cid_bytes(checkpoint_id),
            )
            if point is None:
                raise CheckpointNotFoundError(
                    f"session {source!r} has no checkpoint {checkpoint_id!r} in its root namespace"
                )
            view = self._lineage.view(db, base_session)
            standing, base_thread, base_n, base_cut = base_session, point.thread, point.n, cut
            if self._lineage.owner(db, point.thread) != base_session:
                # An inherited row: the fork stands on the session that owns it, as its source does.
                standing = self._lineage.owner(db, point.thread)
                base_cut = self._lineage.cut(db, view, point.thread)
            superseded = self._lookup.has_child(db, view, point)
            carry = past if superseded else live
            moment = now()
            origin = self._origin(db, source, checkpoint_id, point, by, reason, run_key, moment)
            session = db.insert(
                "insert_fork",
                name=destination,
                family=family,
                swept=swept,
                now=moment,
                depth=depth + 1,
                root=root,
                parent=base_session,
                base=standing,
                base_thread=base_thread,
                base_n=base_n,
                base_cut=base_cut,
                base_deep=int(_shows_more(view, standing)),
                base_open=BEGINS_INSIDE if inner else int(sub_namespaces and not superseded),
                origin_session=source,
                origin_checkpoint=cid_bytes(checkpoint_id),
                by=by,
                reason=reason,
                run=origin.run_id,
                pending=f"{pending}:{'past' if superseded else 'live'}",
                request=request_id,
            )
            self._adopter.copy(
                db,
                session,
                self._sessions.new_thread(db, session, ""),
                point.thread,
                point.n,
                base_cut,
                carry=carry,
                without_tasks=without_tasks,
                run_key=run_key,
                fresh=fresh,
                over=None if standing == base_session else (view, ""),
            )
            if standing != base_session:
                self._carry_labels(db, view, standing, point, session)
            for place in inner:
                self._begin_inside(db, session, base_session, source, place, run_key, fresh)
            return StoredFork(origin, created=True, superseded=superseded), fresh

        return self._driver.write(insert, lambda made: self._terms.committed(made[1]))[0]

    def _carry_labels(
        self, db: Connection, view: View, standing: int, point: Found, session: int
    ) -> None:
        """Labels of the sessions between a fork's source and what the fork stands on: these are no
        bases of it. `view` is the source's."""
        owners = [base.session for base in view.bases]
        between = View(view.session, view.bases[: owners.index(standing)])
        thread = self._sessions.existing_thread(db, view.session, "")
        path = {
            (part.thread, part.lane): part.up_to
            for part in strict_ancestors(db, point.thread, point.n)
        }

        def sees(cid: bytes) -> bool:
            found = self._lookup.find(db, view.session, "", thread, cid)
            if found is None:
                return False
            return found == point or found.n <= path.get((found.thread, found.lane), NOWHERE)

        carry_labels(db, between, sees, session)

    def _begin_inside(
        self,
        db: Connection,
        session: int,
        base_session: int,
        source: str,
        place: InnerPoint,
        run_key: str,
        fresh: Fresh,
    ) -> None:
        thread = self._sessions.existing_thread(db, base_session, place.namespace)
        cid = cid_bytes(place.checkpoint_id)
        found = self._lookup.find(db, base_session, place.namespace, thread, cid)
        if found is None:
            raise CheckpointNotFoundError(
                f"session {source!r} has no checkpoint {place.checkpoint_id!r} in namespace "
                f"{place.namespace!r}"
            )
        view = self._lineage.view(db, base_session)
        self._adopter.copy(
            db,
            session,
            self._sessions.new_thread(db, session, place.namespace),
            found.thread,
            found.n,
            self._lineage.cut(db, view, found.thread),
            over=None if found.thread == thread else (view, place.namespace),
            carry=place.carry,
            without_tasks=place.without_tasks,
            run_key=run_key,
            root=0,
            fresh=fresh,
        )

    def _made_by(
        self, db: Connection, request_id: str, source: str, checkpoint_id: str, destination: str
    ) -> StoredFork | None:
        row = db.one("fork_by_request", request=request_id)
        if row is None:
            return None
        made, of, at, *_ = row
        if (made, of, cid_text(at)) != (destination, source, checkpoint_id):
            raise ConflictError(
                f"request {request_id!r} already made session {made!r} from {of!r} at "
                f"{cid_text(at)!r}; this call asks for {destination!r} from {source!r} at "
                f"{checkpoint_id!r}. Use a new request id for another fork"
            )
        origin = ForkOrigin(of, cid_text(at), iso(row[3]), row[4], row[5], row[6])
        return StoredFork(origin, created=False, superseded=row[7].endswith(":past"))

    def _require_empty(self, db: Connection, destination: str) -> None:
        taken = db.one("live_session", name=destination)
        if taken is not None:
            raise DestinationNotEmptyError(
                f"session {destination!r} already exists; a fork is always a new session. "
                "It was left as it is: fork into another id"
            )

    def _origin(
        self,
        db: Connection,
        source: str,
        checkpoint_id: str,
        point: Found,
        by: str | None,
        reason: str | None,
        run_key: str,
        moment: int,
    ) -> ForkOrigin:
        row = Row(*db.one("row", thread=point.thread, n=point.n))
        run = self._terms.metadata(db, row.metadata).get(run_key)
        return ForkOrigin(
            source, checkpoint_id, iso(moment), by, reason, run if is_text(run) else None
        )


def _shows_more(view: View, standing: int) -> bool:
    """Whether a view shows what lies below one of its bases (or below itself), if anything does."""
    owners = [view.session, *(base.session for base in view.bases)]
    level = owners.index(standing)
    return level == len(view.bases) or level < view.visible
