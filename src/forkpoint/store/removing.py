"""Taking things away without taking anything from anybody else.

A row leaves its own session's view first (it is hidden), and is removed for good only when nothing
needs it: no fork stands on it, and no delta channel of a later checkpoint is rebuilt from it. When
the last fork that needed a row goes, the row goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from forkpoint.errors import DestinationNotEmptyError
from forkpoint.store.adopting import Adopter
from forkpoint.store.clock import now
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.lineage import NEVER, Lineage, strict_ancestors
from forkpoint.store.records import Row
from forkpoint.store.rows import extra_of, versions_and_references
from forkpoint.store.sessions import Sessions
from forkpoint.store.terms import Fresh, Terms, item_key, item_value

Place = tuple[int, int]
"""Thread and row number."""

ReplayedChannels = Callable[[object], Sequence[str]]
"""From the extra part of a checkpoint body: the channels that are rebuilt from ancestors."""


@dataclass(frozen=True, slots=True)
class _Place:
    n: int
    lane: int
    parent: int | None
    parent_thread: int | None
    root: int | None
    hidden: int


class Remover:
    """The operations on whole sessions, of one database: copies and what goes away.

    `replayed` tells, from what the layer above stored with a checkpoint, which of its channels
    have no value of their own and are rebuilt from the writes on its ancestors.
    """

    def __init__(
        self,
        driver: Driver,
        sessions: Sessions,
        terms: Terms,
        lineage: Lineage,
        replayed: ReplayedChannels,
    ) -> None:
        self._driver = driver
        self._sessions = sessions
        self._adopter = Adopter(sessions, terms, lineage)
        self._terms = terms
        self._lineage = lineage
        self._replayed = replayed

    def delete_session(self, name: str) -> bool:
        """Delete a session; its forks keep working. False when there is none."""

        def work(db: Connection) -> bool:
            row = db.one("live_session", name=name)
            if row is None:
                return False
            db.run("mark_deleted", id=row[0], now=now())
            self._release(db, row[0])
            return True

        deleted = self._driver.write(work)
        self._sessions.forget(name)
        return deleted

    def keep_latest(self, name: str) -> None:
        """Leave only the head of every namespace in a session's view."""

        def work(db: Connection) -> None:
            row = db.one("live_session", name=name)
            if row is None:
                return
            session, _, _, base = row
            if base is not None:
                self._keep_inherited_heads(db, session)
                db.run("hide_base", id=session)
            # A number of its own tells forks that were taken before from those taken after.
            tick = self._sessions.take_tick(db, session)
            for thread, _, head in db.all("threads", session=session):
                for place in _places(db, thread):
                    if place.n != head:
                        db.run("hide", thread=thread, n=place.n, tick=tick)
            self._release(db, session)

        self._driver.write(work)

    def copy_session(self, source: str, target: str) -> bool:
        """Copy a session's rows, values by reference; False when there is no such session.

        Raises `DestinationNotEmptyError` when the target exists.
        """

        def work(db: Connection) -> bool:
            row = db.one("live_session", name=source)
            if row is None:
                return False
            if db.one("live_session", name=target) is not None:
                raise DestinationNotEmptyError(
                    f"session {target!r} already exists and was left as it is; copy into another id"
                )
            copy = db.one("copy_session", id=row[0], name=target, now=now())[0]
            for thread, namespace, head in db.all("threads", session=row[0]):
                own = db.one("insert_thread", session=copy, namespace=namespace)[0]
                for statement in (
                    "copy_checkpoints",
                    "copy_metadata_threads",
                    "copy_pending",
                    "copy_early",
                ):
                    db.run(statement, thread=thread, copy=own)
                db.run("move_head", thread=own, n=head)
            return True

        return self._driver.write(work)

    def delete_holding(self, key: str, values: Iterable[str]) -> None:
        """Remove every checkpoint whose metadata holds one of some values under a key, in every
        session; heads move to the newest checkpoint that is left."""
        wanted = list(values)

        def work(db: Connection) -> None:
            numbers = {
                row[0]
                for value in wanted
                for row in db.all("matching_metadata", name=item_key(key), value=item_value(value))
            }
            if not numbers:
                return
            sessions: dict[int, set[int]] = {}
            carried = db.members(numbers)
            for session, thread in db.all("threads_of_metadata", metadata=carried):
                tick = self._sessions.take_tick(db, session)
                for (n,) in db.all("rows_holding", thread=thread, metadata=carried):
                    db.run("hide", thread=thread, n=n, tick=tick)
                    sessions.setdefault(session, set()).add(thread)
            for session, threads in sessions.items():
                for thread in threads:
                    newest = db.one("newest_visible", thread=thread)
                    db.run("move_head", thread=thread, n=None if newest is None else newest[0])
                self._release(db, session)

        if wanted:
            self._driver.write(work)

    def _keep_inherited_heads(self, db: Connection, session: int) -> None:
        """Give a fork a row of its own for each sub-namespace that it only inherits."""
        view = self._lineage.view(db, session)
        fresh = Fresh()
        inherited = {
            namespace
            for base in view.shown
            for _, namespace, _ in db.all("threads", session=base.session)
        }
        for namespace in sorted(inherited):
            if namespace:
                thread = self._sessions.thread(db, session, namespace)
                head = self._adopter.inherited_head(db, session, thread, namespace)
                if head is not None:
                    self._adopter.adopt(db, session, thread, head, fresh)

    # -- what is left -------------------------------------------------------------------------

    def _release(self, db: Connection, session: int) -> None:
        """Remove the hidden rows of a session that nothing needs; of a deleted one, all such."""
        deleted, base, family, _ = db.one("session_row", id=session)
        needed = self._needed_by_forks(db, session)
        threads = db.all("threads", session=session)
        root_thread = next((thread for thread, name, _ in threads if not name), None)
        if not deleted:
            for thread, _, _ in threads:
                needed |= self._needed_by_deltas(db, thread)
        left = 0
        # Sub-namespaces first: their rows are seen by way of their root rows, which then stay.
        for thread, namespace, _ in sorted(threads, key=lambda item: item[1] == ""):
            places = _places(db, thread)
            stay = [
                place
                for place in places
                if (thread, place.n) in needed or (not deleted and place.hidden == 0)
            ]
            if namespace:
                needed |= {
                    (root_thread, place.root)
                    for place in stay
                    if root_thread is not None and place.root is not None
                }
            kept = _with_skeleton(places, {place.n for place in stay})
            for place in places:
                if place.n not in kept:
                    db.run("delete_pending_of", thread=thread, n=place.n)
                    db.run("delete_checkpoint", thread=thread, n=place.n)
            left += len(kept)
            if deleted and not kept:
                db.run("delete_all_early", thread=thread)
                db.run("delete_thread_row", thread=thread)
        if deleted and not left and base is not None:
            db.run("detach_base", id=session)
            self._release(db, base)
        if deleted and not left and db.one("family_members", family=family) is None:
            self._delete_family(db, family)

    def _needed_by_forks(self, db: Connection, session: int) -> set[Place]:
        needed: set[Place] = set()
        for _, base_thread, base_n, base_cut, base_open in db.all("children", id=session):
            path = {
                (segment.thread, segment.lane): segment.up_to
                for segment in strict_ancestors(db, base_thread, base_n)
            }
            threads = db.all("threads", session=session)
            root_thread = next(thread for thread, namespace, _ in threads if not namespace)
            roots: set[int] = set()
            for place in _places(db, root_thread):
                if place.n <= path.get((root_thread, place.lane), -1):
                    roots.add(place.n)
            needed |= {(root_thread, n) for n in roots}
            needed.add((base_thread, base_n))
            if base_open:
                roots.add(base_n)
            roots.add(-1)
            for thread, namespace, _ in threads:
                if namespace:
                    needed |= {
                        (thread, place.n)
                        for place in _places(db, thread)
                        if place.root in roots and place.n < base_cut
                    }
        return needed

    def _needed_by_deltas(self, db: Connection, thread: int) -> set[Place]:
        """Hidden rows of a thread that visible ones still replay writes from."""
        places = _places(db, thread)
        hidden = {place.n for place in places if place.hidden}
        needed: set[Place] = set()
        if not hidden:
            return needed
        for place in places:
            if place.hidden:
                continue
            row = Row(*db.one("row", thread=thread, n=place.n))
            versions, references = versions_and_references(db, self._terms, row.body)
            replayed = self._replayed(extra_of(row.body))
            remaining = {c for c in replayed if c in versions and c not in references}
            for segment in strict_ancestors(db, thread, place.n):
                if not remaining or segment.thread != thread:
                    break
                rows = db.all(
                    "lane_page", thread=thread, lane=segment.lane, up_to=segment.up_to, limit=NEVER
                )
                for ancestor in map(Row._make, rows):
                    needed.add((thread, ancestor.n))
                    held = versions_and_references(db, self._terms, ancestor.body)[1]
                    remaining -= held.keys()
                    if not remaining:
                        break
        return needed

    def _delete_family(self, db: Connection, family: int) -> None:
        low, high = family << 32, (family + 1) << 32
        db.run("delete_items", low=low, high=high)
        db.run("delete_lists", low=low, high=high)
        db.run("delete_blobs", low=low, high=high)
        db.run("delete_family", family=family)


def _with_skeleton(places: list[_Place], stay: set[int]) -> set[int]:
    """Rows to keep so that those that stay know their ancestors: the first row of each lane says
    where the lane hangs, and the row that it hangs from says on which lane."""
    by_n = {place.n: place for place in places}
    kept = set(stay)
    waiting = list(stay)
    while waiting:
        place = by_n.get(waiting.pop())
        if place is None:
            continue
        hangs_here = place.n == place.lane and place.parent_thread is None
        for n in (place.lane, place.parent if hangs_here else None):
            if n is not None and n not in kept:
                kept.add(n)
                waiting.append(n)
    return kept


def _places(db: Connection, thread: int) -> list[_Place]:
    return [_Place(*row) for row in db.all("places", thread=thread)]
