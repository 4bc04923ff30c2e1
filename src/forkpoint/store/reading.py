"""Everything that reads checkpoints: each operation sees one moment of the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forkpoint.errors import CheckpointNotFoundError, SessionNotFoundError
from forkpoint.model import ForkOrigin
from forkpoint.store.cells import Encoded, Reference, Vault
from forkpoint.store.clock import iso, made_at
from forkpoint.store.driver import Connection, Driver, repeatable
from forkpoint.store.lineage import (
    BESIDE,
    FORK_POINT,
    NEVER,
    Lineage,
    Segment,
    View,
    seen_through,
    strict_ancestors,
)
from forkpoint.store.listing import Listing, inherited_head
from forkpoint.store.lookup import Found, Lookup
from forkpoint.store.overlays import overlays
from forkpoint.store.records import (
    Row,
    SessionSummary,
    StoredCheckpoint,
    StoredWrite,
    cid_bytes,
    cid_text,
)
from forkpoint.store.rows import (
    extra_of,
    merged_writes,
    read_checkpoint,
    read_writes,
    versions_and_references,
)
from forkpoint.store.standing import Pool
from forkpoint.store.terms import Terms, numbers_holding
from forkpoint.store.values import Cells, Values

_PAGE = 64
_FILTERED_PAGE = 512

_SUMMARIES = {
    frozenset[str](): "summaries",
    frozenset({"workspace"}): "summaries_of_workspace",
    frozenset({"agent"}): "summaries_of_agent",
    frozenset({"workspace", "agent"}): "summaries_of_both",
}

Accept = Callable[[StoredCheckpoint], bool]


@dataclass(frozen=True, slots=True)
class ChannelHistory:
    """What one channel received along the ancestors of a checkpoint."""

    writes: list[StoredWrite]
    """Oldest first."""
    seed: Reference
    """The value at the nearest ancestor that stores one; None when none does."""
    whole: bool
    """True when the walk ended at a stored value or at the conversation's beginning; False when a
    missing row cut it short."""


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A checkpoint without its values, and what follows it."""

    checkpoint: StoredCheckpoint
    parent: StoredCheckpoint | None
    """Without values. What its nodes had seen and what they have seen now says which ran."""
    is_fork_point: bool
    """Whether this is the first checkpoint of a fork."""
    children: int
    forks: int
    turn: Any
    """The extra part of the checkpoint that began the turn, this one or an ancestor; or None."""


class Reader:
    """The read operations of one database."""

    def __init__(self, driver: Driver, terms: Terms, values: Values, lineage: Lineage) -> None:
        self._driver = driver
        self._terms = terms
        self._values = values
        self._lineage = lineage
        self._lookup = Lookup(lineage)

    # -- one checkpoint -----------------------------------------------------------------------

    @repeatable
    def get(
        self, name: str, namespace: str, checkpoint_id: str | None, vault: Vault
    ) -> StoredCheckpoint | None:
        """A checkpoint with its writes and values; the head when no id is given; None if absent."""
        with self._driver.read() as db:
            where = db.one("session_and_thread", name=name, namespace=namespace)
            if where is None:
                return None
            session, family, swept, thread, head = where
            view = self._lineage.view(db, session)
            if checkpoint_id is None:
                row = self._head(db, view, namespace, thread, head)
            else:
                found = self._lookup.at(db, session, namespace, thread, checkpoint_id)
                row = None if found is None else _row(db, found.thread, found.n)
            if row is None:
                return None
            inherited = row.thread != thread
            page = [(row, namespace, inherited)]
            return self._load(db, name, Pool(family, swept), view, page, vault)[0]

    def _head(
        self, db: Connection, view: View, namespace: str, thread: int | None, head: int | None
    ) -> Row | None:
        if thread is not None and head is not None:
            return _row(db, thread, head)
        return inherited_head(db, self._lineage, view, namespace)

    # -- many checkpoints ---------------------------------------------------------------------

    def checkpoints(
        self,
        name: str,
        namespace: str | None,
        vault: Vault | None,
        *,
        before: tuple[str, str] | None = None,
        holding: Sequence[tuple[str, Any]] = (),
        accept: Accept | None = None,
        limit: int | None = None,
        guess_before: bool = False,
    ) -> Iterator[list[StoredCheckpoint]]:
        """A session's checkpoints, newest first, in pages; values only with a vault.

        `before` is a namespace and checkpoint id to begin below; with `guess_before` an id that is
        not stored, but has a time in it, stands for that time. `holding` are metadata entries
        that must be there, looked up in an index; `accept` decides on what is left, before values
        are read. Nothing is held between pages. Raises `CheckpointNotFoundError` for an unknown
        `before`.
        """
        listing: Listing | None = None
        left = limit
        while left is None or left > 0:
            with self._driver.read() as db:
                base = db.one("live_session", name=name)
                if base is None:
                    return
                session, pool = base[0], Pool(base[1], base[4])
                view = self._lineage.view(db, session)
                numbers = numbers_holding(db, holding) if holding else None
                if numbers is not None and not numbers:
                    return
                if listing is None:
                    listing = self._listing(
                        db, name, session, view, namespace, before, guess_before
                    )
                filtered = numbers is not None or accept is not None
                size = _FILTERED_PAGE if filtered else min(_PAGE, left or _PAGE)
                rows = listing.next(db, size)
                ended = len(rows) < size
                if numbers is not None:
                    rows = [item for item in rows if item[0].metadata in numbers]
                records = self._records(db, name, view, rows)
                if accept is not None:
                    records = [record for record in records if accept(record)]
                if left is not None:
                    records = records[:left]
                    left -= len(records)
                if vault is not None:
                    self._load_values(db, pool, view, records, vault)
            if records:
                yield records
            if ended:
                return

    def everywhere(
        self,
        vault: Vault,
        *,
        before: tuple[str, str, str] | None = None,
        holding: Sequence[tuple[str, Any]] = (),
        accept: Accept | None = None,
        limit: int | None = None,
    ) -> Iterator[list[StoredCheckpoint]]:
        """Every session's own checkpoints: the session made last first. What a fork inherits is
        listed once, where it was written. `before` is a session, a namespace and an id."""
        left = limit
        below = NEVER
        if before is not None:
            with self._driver.read() as db:
                start = db.one("live_session", name=before[0])
            if start is None:
                raise SessionNotFoundError(f"before: there is no session {before[0]!r}")
            below = start[0] + 1
        matching: set[int] | None = None
        if holding:
            with self._driver.read() as db:
                numbers = numbers_holding(db, holding)
                rows = db.all("threads_of_metadata", metadata=db.members(numbers))
                matching = {session for session, _ in rows}
        while left is None or left > 0:
            with self._driver.read() as db:
                sessions = db.all("live_sessions", below=below, limit=_PAGE)
            for session, name, _ in sessions:
                if matching is not None and session not in matching:
                    continue
                own_before = before[1:] if before is not None and before[0] == name else None
                pages = self.checkpoints(
                    name,
                    None,
                    vault,
                    before=own_before,
                    holding=holding,
                    accept=lambda record: (
                        not record.inherited and (accept is None or accept(record))
                    ),
                    limit=left,
                )
                for records in pages:
                    if left is not None:
                        left -= len(records)
                    yield records
                if left is not None and left <= 0:
                    return
            if len(sessions) < _PAGE:
                return
            below = sessions[-1][0]

    def timeline(
        self,
        name: str,
        *,
        before: str | None = None,
        limit: int | None = None,
        accept: Accept | None = None,
    ) -> Iterator[list[TimelineRow]]:
        """A session's root namespace without values, newest first, in pages.

        Raises `SessionNotFoundError`.
        """
        if not self.exists(name):
            raise SessionNotFoundError(f"there is no session {name!r}")
        pages = self.checkpoints(
            name,
            "",
            None,
            before=None if before is None else ("", before),
            accept=accept,
            limit=limit,
        )
        for records in pages:
            with self._driver.read() as db:
                rows = self._follow_ups(db, name, records)
            yield rows

    # -- delta channels -----------------------------------------------------------------------

    @repeatable
    def channel_histories(
        self,
        name: str,
        namespace: str,
        checkpoint_id: str | None,
        channels: Iterable[str],
        vault: Vault,
    ) -> tuple[dict[str, ChannelHistory], Cells | None]:
        """For each channel the writes on the ancestors of a checkpoint (the head without an id),
        back to the nearest stored value. Crosses fork edges, and rows that were pruned but kept.
        """
        wanted = list(dict.fromkeys(channels))
        with self._driver.read() as db:
            where = db.one("session_and_thread", name=name, namespace=namespace)
            row = None
            if where is not None:
                session, family, swept, thread, head = where
                view = self._lineage.view(db, session)
                if checkpoint_id is None:
                    row = self._head(db, view, namespace, thread, head)
                else:
                    found = self._lookup.at(db, session, namespace, thread, checkpoint_id)
                    row = None if found is None else _row(db, found.thread, found.n)
            if row is None:
                return {name: ChannelHistory([], None, True) for name in wanted}, None
            laid = self._overlays(db, view, namespace)
            histories = self._walk(db, view, row, wanted, laid)
            references: list[Reference] = []
            for history in histories.values():
                references.append(history.seed)
                references += [write.value for write in history.writes]
            return histories, self._values.fetch(db, Pool(family, swept), references, vault)

    def _walk(
        self,
        db: Connection,
        view: View,
        row: Row,
        channels: Sequence[str],
        laid: dict[bytes, list[StoredWrite]],
    ) -> dict[str, ChannelHistory]:
        newest_first: dict[str, list[StoredWrite]] = {channel: [] for channel in channels}
        seeds: dict[str, Reference] = {}
        remaining = set(channels)
        last, last_versions = row, dict[str, Any]()
        for segment in strict_ancestors(db, row.thread, row.n):
            if not remaining:
                break
            cut = self._lineage.cut(db, view, segment.thread)
            for ancestor, writes in self._ancestors(db, segment, cut):
                last = ancestor
                last_versions, references = versions_and_references(db, self._terms, ancestor.body)
                if laid:
                    writes = writes + laid.get(ancestor.cid, [])
                for write in reversed(merged_writes(writes)):
                    if write.channel in remaining:
                        newest_first[write.channel].append(write)
                for channel in [c for c in remaining if c in references]:
                    seeds[channel] = references[channel]
                    remaining.discard(channel)
                if not remaining:
                    break
        beginning = last.parent is None
        return {
            channel: ChannelHistory(
                newest_first[channel][::-1],
                seeds.get(channel),
                # Before its first version a channel had not been written to.
                channel in seeds or beginning or channel not in last_versions,
            )
            for channel in channels
        }

    def _ancestors(
        self, db: Connection, segment: Segment, cut: int
    ) -> Iterator[tuple[Row, list[StoredWrite]]]:
        up_to, size = segment.up_to, 16
        while True:
            rows = [
                Row(*row)
                for row in db.all(
                    "lane_page", thread=segment.thread, lane=segment.lane, up_to=up_to, limit=size
                )
            ]
            if not rows:
                return
            writes = self._writes_between(db, segment.thread, rows[-1].n, rows[0].n, cut)
            for row in rows:
                yield row, writes.get(row.n, [])
            if len(rows) < size:
                return
            up_to, size = rows[-1].n - 1, min(size * 2, 512)

    # -- sessions -----------------------------------------------------------------------------

    @repeatable
    def session(self, name: str) -> SessionSummary:
        """One session with checkpoints. Raises `SessionNotFoundError`."""
        with self._driver.read() as db:
            row = db.one("summary", name=name)
        if row is None:
            raise SessionNotFoundError(f"there is no session {name!r}")
        return _summary(row)

    @repeatable
    def sessions(
        self,
        limit: int,
        before: str | None,
        workspace: str | None = None,
        agent: str | None = None,
    ) -> list[SessionSummary]:
        """Live sessions with checkpoints, last written first; those of a workspace or an agent."""
        of = {"workspace": workspace, "agent": agent}
        given = {name: value for name, value in of.items() if value is not None}
        statement = _SUMMARIES[frozenset(given)]
        with self._driver.read() as db:
            touched, number = NEVER, NEVER
            if before is not None:
                row = db.one("summary", name=before)
                if row is None:
                    raise SessionNotFoundError(f"before: there is no session {before!r}")
                touched, number = row[5], row[0]
            rows = db.all(statement, touched=touched, id=number, limit=limit, **given)
        return [_summary(row) for row in rows]

    @repeatable
    def forks(self, name: str) -> list[SessionSummary]:
        """Live sessions forked from a session, oldest first. Raises `SessionNotFoundError`."""
        with self._driver.read() as db:
            session = db.one("live_session", name=name)
            if session is None:
                raise SessionNotFoundError(f"there is no session {name!r}")
            return [_summary(row) for row in db.all("forks", id=session[0])]

    @repeatable
    def origin(self, name: str) -> ForkOrigin | None:
        """Where a session was forked from; None for one that is not a fork.

        Raises `SessionNotFoundError`.
        """
        with self._driver.read() as db:
            session = db.one("live_session", name=name)
            if session is None:
                raise SessionNotFoundError(f"there is no session {name!r}")
            row = db.one("origin", id=session[0])
        return _origin(row)

    @repeatable
    def has_child(self, name: str, checkpoint_id: str) -> bool:
        """Whether a session has gone on past one of its root namespace's checkpoints.

        Raises `SessionNotFoundError`, `CheckpointNotFoundError`.
        """
        with self._driver.read() as db:
            session = db.one("live_session", name=name)
            if session is None:
                raise SessionNotFoundError(f"there is no session {name!r}")
            view = self._lineage.view(db, session[0])
            at = db.one("thread_of", session=session[0], namespace="")
            found = self._lookup.named(db, session[0], at and at[0], checkpoint_id)
            if found is None:
                raise CheckpointNotFoundError(
                    f"session {name!r} has no checkpoint {checkpoint_id!r}"
                )
            return self._lookup.has_child(db, view, found)

    @repeatable
    def exists(self, name: str) -> bool:
        """Whether a live session of this name has anything in it."""
        with self._driver.read() as db:
            return db.one("live_session", name=name) is not None

    # -- parts --------------------------------------------------------------------------------

    def _listing(
        self,
        db: Connection,
        name: str,
        session: int,
        view: View,
        namespace: str | None,
        before: tuple[str, str] | None,
        guess_before: bool,
    ) -> Listing:
        threads = [
            (thread, own)
            for thread, own, _ in db.all("threads", session=session)
            if namespace is None or own == namespace
        ]
        after: Found | None = None
        owner: int | None = None
        if before is not None:
            after = self._position(db, session, view, *before)
            if after is None and guess_before and made_at(before[1]):
                return Listing(
                    self._lineage, view, namespace, threads, older_than=cid_bytes(before[1])
                )
            if after is None:
                raise CheckpointNotFoundError(
                    f"before: session {name!r} has no checkpoint {before[1]!r}"
                    + (f" in namespace {before[0]!r}" if before[0] else "")
                )
            owner = self._lineage.owner(db, after.thread)
        return Listing(self._lineage, view, namespace, threads, after, owner)

    def _position(
        self, db: Connection, session: int, view: View, namespace: str, checkpoint_id: str
    ) -> Found | None:
        """A checkpoint to begin below. LangGraph lists a subgraph's checkpoints before one of the
        graph around it, so a namespace that lacks the id is not the only place to look; a label
        comes after every id."""
        cid = cid_bytes(checkpoint_id)
        namespaces = [namespace, ""]
        for owner in (session, *(base.session for base in view.bases)):
            namespaces += [other for _, other, _ in db.all("threads", session=owner)]
        for candidate in dict.fromkeys(namespaces):
            at = db.one("thread_of", session=session, namespace=candidate)
            found = self._lookup.find(db, session, candidate, at and at[0], cid)
            if found is not None:
                return found
        at = db.one("thread_of", session=session, namespace="")
        return self._lookup.named(db, session, at and at[0], checkpoint_id)

    def _load(
        self,
        db: Connection,
        name: str,
        pool: Pool,
        view: View,
        rows: list[tuple[Row, str, bool]],
        vault: Vault,
    ) -> list[StoredCheckpoint]:
        records = self._records(db, name, view, rows)
        self._load_values(db, pool, view, records, vault)
        return records

    def _records(
        self, db: Connection, name: str, view: View, rows: list[tuple[Row, str, bool]]
    ) -> list[StoredCheckpoint]:
        at_hand = {(row.thread, row.n): (row.cid, row.hidden) for row, _, _ in rows}
        records = []
        for row, namespace, inherited in rows:
            record = read_checkpoint(
                db, self._terms, row, session=name, namespace=namespace, inherited=inherited
            )
            if row.parent is not None:
                thread = row.parent_thread or row.thread
                parent = at_hand.get((thread, row.parent)) or db.one(
                    "identity", thread=thread, n=row.parent
                )
                cut = self._lineage.cut(db, view, thread)
                if thread != row.thread and self._lineage.owner(db, thread) not in {
                    base.session for base in view.shown
                }:
                    cut = 0
                if parent is not None and (
                    parent[1] == BESIDE or seen_through(parent[1], row.parent, cut)
                ):
                    record.parent = cid_text(parent[0])
            records.append(record)
        return records

    def _load_values(
        self,
        db: Connection,
        pool: Pool,
        view: View,
        records: list[StoredCheckpoint],
        vault: Vault,
    ) -> None:
        by_thread: dict[int, list[StoredCheckpoint]] = {}
        inherited = {record.namespace for record in records if record.inherited}
        laid = {namespace: self._overlays(db, view, namespace) for namespace in inherited}
        for record in records:
            by_thread.setdefault(record.place[0], []).append(record)
        for thread, group in by_thread.items():
            places = [record.place[1] for record in group]
            cut = self._lineage.cut(db, view, thread)
            writes = self._writes_between(db, thread, min(places), max(places), cut)
            for record in group:
                own = writes.get(record.place[1], [])
                if record.inherited:
                    own = own + laid[record.namespace].get(cid_bytes(record.id), [])
                record.writes = merged_writes(own)
        references: list[Reference] = []
        for record in records:
            references += record.references.values()
            references += [write.value for write in record.writes]
        cells = self._values.fetch(db, pool, references, vault)
        for record in records:
            record.cells = cells

    def _overlays(
        self, db: Connection, view: View, namespace: str
    ) -> dict[bytes, list[StoredWrite]]:
        return {
            cid: [write for row in rows for write in read_writes(db, self._terms, *row)]
            for cid, rows in overlays(db, view, namespace).items()
        }

    def _writes_between(
        self, db: Connection, thread: int, low: int, high: int, cut: int
    ) -> dict[int, list[StoredWrite]]:
        found: dict[int, list[StoredWrite]] = {}
        rows = db.all("pending_between", thread=thread, low=low, high=high, cut=cut)
        for n, _, task, body in rows:
            found.setdefault(n, []).extend(read_writes(db, self._terms, task, body))
        return found

    def _follow_ups(
        self, db: Connection, name: str, records: list[StoredCheckpoint]
    ) -> list[TimelineRow]:
        session = db.one("live_session", name=name)
        if session is None or not records:
            return []
        by_id = {record.id: record for record in records}
        children, forks = self._children_and_forks(db, records)
        turns = self._turns(db, records)
        is_fork = db.one("origin", id=session[0])[0] is not None
        rows = []
        for record in records:
            parent = by_id.get(record.parent or "")
            if parent is None and record.parent is not None:
                parent = self._without_values(db, name, session[0], record.parent)
            rows.append(
                TimelineRow(
                    record,
                    parent,
                    record.place[1] == FORK_POINT and is_fork and not record.inherited,
                    1 if record.inherited else children.get(record.place, 0),
                    forks.get(record.place, 0),
                    turns.get(record.place),
                )
            )
        return rows

    def _children_and_forks(
        self, db: Connection, records: list[StoredCheckpoint]
    ) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]:
        children: dict[tuple[int, int], int] = {}
        forks: dict[tuple[int, int], int] = {}
        listed: dict[tuple[int, int], Any] = {}
        for record in records:
            # Newest first: within a lane, whoever was listed before is the child.
            thread, n = record.place
            lane = (thread, record.lane)
            child = listed.get(lane)
            if child is None:
                child = db.one("next_in_lane", thread=thread, n=n, lane=record.lane)
            if child is not None and child[1] == n and child[2] == 0:
                children[record.place] = 1
            listed[lane] = (n, record.parent_n, 0)
        threads: dict[int, list[int]] = {}
        for record in records:
            threads.setdefault(record.place[0], []).append(record.place[1])
        for thread, places in threads.items():
            span = {"thread": thread, "low": min(places), "high": max(places)}
            for parent, count in db.all("branches_between", **span):
                children[thread, parent] = children.get((thread, parent), 0) + count
            owner = self._lineage.owner(db, thread)
            for n, count in db.all("forks_at", session=owner, **span):
                forks[thread, n] = count
        return children, forks

    def _turns(self, db: Connection, records: list[StoredCheckpoint]) -> dict[tuple[int, int], Any]:
        """For each record the extra part of the row that began its turn."""
        began: dict[tuple[int, int], tuple[int, int]] = {}
        above: dict[tuple[int, int], tuple[int, int] | None] = {}
        for record in records:
            thread, n = record.place
            if record.turn is not None:
                began[thread, n] = (thread, record.turn)
                continue
            # In a fork, a turn that was under way began in another session.
            lane = (thread, record.lane)
            if lane not in above:
                above[lane] = _turn_above(db, *lane)
            inherited = above[lane]
            if inherited is not None:
                began[thread, n] = inherited
        wanted: dict[int, set[int]] = {}
        for thread, turn in began.values():
            wanted.setdefault(thread, set()).add(turn)
        extras = {
            (thread, n): extra_of(body)
            for thread, turns in wanted.items()
            for n, body in db.all("turns_between", thread=thread, turns=db.members(turns))
        }
        return {place: extras.get(turn) for place, turn in began.items()}

    def _without_values(
        self, db: Connection, name: str, session: int, checkpoint_id: str
    ) -> StoredCheckpoint | None:
        at = db.one("thread_of", session=session, namespace="")
        found = self._lookup.find(db, session, "", at and at[0], cid_bytes(checkpoint_id))
        if found is None:
            return None
        row = _row(db, found.thread, found.n)
        if row is None:
            return None
        return read_checkpoint(db, self._terms, row, session=name, namespace="", inherited=False)


def resolve_all(
    record: StoredCheckpoint, references: Mapping[str, Reference]
) -> dict[str, Encoded | None]:
    """What a record's references stand for."""
    assert record.cells is not None
    return {name: record.cells.resolve(ref) for name, ref in references.items()}


def _turn_above(db: Connection, thread: int, lane: int) -> tuple[int, int] | None:
    """Where the turn began that was under way where a lane begins: thread and row."""
    for segment in strict_ancestors(db, thread, lane):
        row = _row(db, segment.thread, segment.up_to)
        if row is not None and row.turn is not None:
            return segment.thread, row.turn
    return None


def _row(db: Connection, thread: int, n: int) -> Row | None:
    row = db.one("row", thread=thread, n=n)
    return None if row is None else Row(*row)


def _origin(row: Any) -> ForkOrigin | None:
    if row is None or row[0] is None:
        return None
    return ForkOrigin(row[0], cid_text(row[1]), iso(row[2]), row[3], row[4], row[5])


def _summary(row: Any) -> SessionSummary:
    _, name, depth, root, created, touched, of, at, by, reason, run, head, forks, *owners = row
    return SessionSummary(
        session_id=name,
        head=cid_text(head),
        root=root,
        depth=depth,
        forked_from=None
        if of is None
        else ForkOrigin(of, cid_text(at), iso(created), by, reason, run),
        created=iso(created),
        updated=iso(touched),
        forks=forks,
        workspace=owners[0],
        agent=owners[1],
    )
