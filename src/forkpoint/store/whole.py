"""A session whole: its own rows, and what it inherits as if that were its own.

A fork reads its past through the sessions below it. Here that past is planned as rows of the
session itself: they come before row 0, so they get numbers below -1, the newest -2, in the order in
which the session lists them. Lanes, parents, roots and turns are told in the new numbers. Nothing
is written here: detaching a fork carries the plan out in its own database, exporting one into a
file.

What the session shows comes along. What it does not show comes along unseen if a delta channel is
rebuilt from it, and else only as **skeleton**: the first row of a lane, the row it hangs from, and
the root that a subgraph's checkpoint names, without which older rows would not be known to be
ancestors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from forkpoint.store.driver import Connection
from forkpoint.store.lineage import (
    BESIDE,
    FORGOTTEN_ROOT,
    FORK_POINT,
    INHERITED_ROOT,
    NEVER,
    NEVER_SHOWN,
    NOWHERE,
    Base,
    Lineage,
    View,
    seen_through,
)
from forkpoint.store.overlays import Overlays, laid_by
from forkpoint.store.records import cid_bytes
from forkpoint.store.rows import extra_of, versions_and_references
from forkpoint.store.terms import Terms

GONE = -1
"""The parent of a row whose parent is no more: no row has this number."""
_FIRST_INHERITED = -2
_CHUNK = 500

Place = tuple[int, int]
"""Thread and row number, where a row is now."""
ReplayedChannels = Callable[[object], Sequence[str]]
"""From the extra part of a checkpoint body: the channels that are rebuilt from ancestors."""
RootId = Callable[[object], str | None]
"""From the same: the root checkpoint that a subgraph's checkpoint belongs to."""


class WholeRow(NamedTuple):
    """A row as a session has it that stands on nothing."""

    namespace: str
    inherited: bool
    thread: int
    n: int
    """`thread` and `n` say where the row is now."""
    cut: int
    """The tick up to which writes on it are seen."""
    number: int
    cid: bytes
    lane: int
    parent: int | None
    root: int | None
    turn: int | None
    hidden: int
    bare: bool
    """Skeleton: only its place matters."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A session as it is when it stands on nothing."""

    rows: list[WholeRow]
    """Newest first within each namespace."""
    heads: dict[str, int | None]
    """By namespace."""
    laid: dict[str, Overlays]
    """What the sessions below had written over rows that they inherit, by namespace."""
    numbers: dict[Place, int]
    """Of the rows that come along."""
    moved: list[tuple[WholeRow, WholeRow]]
    """Rows of the session's own that stand for inherited ones, and take their numbers, because
    forks see those that do not see these; and the inherited ones."""
    view: View
    """What the session stands on."""


class _Outline(NamedTuple):
    n: int
    cid: bytes
    lane: int
    parent: int | None
    parent_thread: int | None
    root: int | None
    hidden: int
    turn: int | None


@dataclass(slots=True)
class _Entry:
    """A row that may come along."""

    namespace: str
    level: int
    """0: the session's own; 1: its base's, and so on down."""
    thread: int
    cut: int
    row: _Outline
    shown: bool
    """Whether the session's view shows it, or would if it had not been pruned."""
    beside: bool = False
    """Whether shown rows descend from it without it being shown itself."""
    number: int = FORK_POINT

    @property
    def place(self) -> Place:
        return (self.thread, self.row.n)

    @property
    def parent(self) -> Place | None:
        if self.row.parent is None:
            return None
        return (self.row.parent_thread or self.thread, self.row.parent)


@dataclass(frozen=True, slots=True)
class InPlace:
    """A session that is made whole where it is: all of its own rows stay."""

    forks: bool
    """Whether sessions that stand on it must find what they read through it."""
    seen_from: int | None = None
    """The least tick up to which one of these sees it, of those that see what it inherits too."""
    hidden_at: int | None = None
    """The greatest such tick: if it was pruned, that was then or later."""


@dataclass(slots=True)
class _Planning:
    """What is known of a session while it is planned."""

    view: View
    shown: bool
    """Whether the session shows what it inherits."""
    entries: dict[str, list[_Entry]] = field(default_factory=dict)
    numbers: dict[Place, int] = field(default_factory=dict)
    on_path: dict[bytes, Place] = field(default_factory=dict)
    """Inherited rows of the root namespace by id."""
    heads: dict[str, int | None] = field(default_factory=dict)
    kept: dict[Place, int] = field(default_factory=dict)
    """Numbers of the rows that come along."""
    replaced: dict[Place, _Entry] = field(default_factory=dict)
    """By rows of the session's own, the inherited rows whose numbers they take."""
    repeated: list[_Entry] = field(default_factory=list)
    """Rows that another one stands for."""
    moved: list[tuple[WholeRow, WholeRow]] = field(default_factory=list)


class Wholes:
    """Plans sessions whole.

    `replayed` and `root_id` tell, from what the layer above stored with a checkpoint, which of its
    channels are rebuilt from its ancestors, and which root checkpoint it belongs to.
    """

    def __init__(
        self, lineage: Lineage, terms: Terms, replayed: ReplayedChannels, root_id: RootId
    ) -> None:
        self._lineage = lineage
        self._terms = terms
        self._replayed = replayed
        self._root_id = root_id

    def plan(self, db: Connection, session: int, in_place: InPlace | None = None) -> Whole:
        """A session as it is when it stands on nothing."""
        view = self._lineage.whole_view(db, session)
        now = _Planning(view, bool(db.one("standing_now", id=session)[1]))
        self._gather_own(db, session, now)
        for level, base in enumerate(view.bases, 1):
            self._gather_path(db, now, level, base)
        for level, base in enumerate(view.bases, 1):
            self._gather_inside(db, now, level, base)
        self._add_ancestors(db, now)
        _number(now, None if in_place is None else in_place.seen_from)
        rows: list[WholeRow] = []
        roots: set[int] = set()
        for namespace in sorted(now.entries, key=lambda name: name == ""):
            kept = self._kept(db, now, namespace, in_place, roots)
            rows += kept
            if namespace:
                roots |= {row.root for row in kept if row.root is not None and not row.bare}
        for namespace in now.entries:
            self._find_head(now, namespace, rows)
        below = [(base.session, base.cut) for base in view.bases]
        laid = {name: laid_by(db, below, name) for name in now.entries} if below else {}
        return Whole(rows, now.heads, laid, now.kept, now.moved, view)

    # -- which rows there are -----------------------------------------------------------------

    def _gather_own(self, db: Connection, session: int, now: _Planning) -> None:
        for thread, namespace, head in db.all("threads", session=session):
            now.heads[namespace] = head
            rows = map(_Outline._make, db.all("outline", thread=thread, below=NEVER))
            now.entries[namespace] = [
                _Entry(
                    namespace, 0, thread, NEVER, row, row.hidden == 0, row.hidden == BESIDE, row.n
                )
                for row in rows
            ]

    def _gather_path(self, db: Connection, now: _Planning, level: int, base: Base) -> None:
        found: list[_Entry] = []
        for part in now.view.path:
            if self._lineage.owner(db, part.thread) == base.session:
                rows = db.all("lane_outline", **part._asdict())
                for row in map(_Outline._make, rows):
                    now.on_path.setdefault(row.cid, (part.thread, row.n))
                    found.append(_entry(now.view, "", level, base, part.thread, row))
        now.entries.setdefault("", []).extend(found)

    def _gather_inside(self, db: Connection, now: _Planning, level: int, base: Base) -> None:
        path = set(now.on_path.values())
        for thread, namespace, _ in db.all("threads", session=base.session):
            if not namespace:
                continue
            rows = map(_Outline._make, db.all("outline", thread=thread, below=base.cut))
            found = [
                _entry(now.view, namespace, level, base, thread, row)
                for row in rows
                if _belongs(now.view, base, thread, row, path)
            ]
            if found:
                now.entries.setdefault(namespace, []).extend(found)

    def _add_ancestors(self, db: Connection, now: _Planning) -> None:
        """Rows that a subgraph's rows descend from although they belong to another branch of the
        conversation."""
        levels = {base.session: (level, base) for level, base in enumerate(now.view.bases, 1)}
        for namespace, entries in now.entries.items():
            if not namespace:
                continue
            there = {entry.place for entry in entries}
            waiting = [entry for entry in entries if entry.parent is not None]
            while waiting:
                parent = waiting.pop().parent
                if parent is None or parent in there:
                    continue
                there.add(parent)
                standing = levels.get(self._lineage.owner(db, parent[0]))
                found = db.one("row_outline", thread=parent[0], n=parent[1])
                if standing is not None and found is not None and parent[1] < standing[1].cut:
                    level, base = standing
                    entry = _entry(now.view, namespace, level, base, parent[0], _Outline(*found))
                    entry.shown, entry.beside = False, entry.shown or entry.beside
                    entries.append(entry)
                    waiting.append(entry)

    # -- which of them come along -------------------------------------------------------------

    def _kept(
        self,
        db: Connection,
        now: _Planning,
        namespace: str,
        in_place: InPlace | None,
        roots: Iterable[int],
    ) -> list[WholeRow]:
        entries = sorted(now.entries[namespace], key=lambda entry: -entry.number)
        shows = now.shown or (in_place is not None and in_place.hidden_at is not None)
        full = {
            entry.number
            for entry in entries
            if (entry.shown and (shows or not entry.level)) or (entry.beside and now.shown)
        }
        stays = {entry.number for entry in entries if in_place is not None and not entry.level}
        if len(full) < len(entries):
            wanting = full | stays if in_place is not None and in_place.forks else full
            full = full | self._needed_by_deltas(db, now, entries, wanting)
        full |= stays
        named = set() if namespace else set(roots)
        bare = _skeleton(now, entries, full | named) - full
        kept = [entry for entry in entries if entry.number in full or entry.number in bare]
        lanes: dict[Place, int] = {}
        for entry in reversed(kept):
            lanes.setdefault((entry.thread, entry.row.lane), entry.number)
        now.kept |= {entry.place: entry.number for entry in kept}
        numbers = {entry.number for entry in kept}
        now.kept |= {
            entry.place: entry.number
            for entry in now.repeated
            if entry.namespace == namespace and entry.number in numbers
        }
        rows: list[WholeRow] = []
        for entry in kept:
            row = self._row(db, now, entry, lanes, in_place, bare=entry.number in bare)
            rows.append(row)
            first = now.replaced.get(entry.place)
            if first is not None:
                there = row._replace(
                    inherited=True, thread=first.thread, n=first.row.n, cut=first.cut
                )
                now.moved.append((row, there))
        return rows

    def _needed_by_deltas(
        self, db: Connection, now: _Planning, entries: list[_Entry], wanting: set[int]
    ) -> set[int]:
        """Rows whose writes, or whose value, a delta channel of a wanting row is rebuilt from."""
        wanted: dict[int, set[str]] = {}
        needed: set[int] = set()
        for entry, body in _with_bodies(db, entries):
            versions, references = versions_and_references(db, self._terms, body)
            missing = wanted.pop(entry.number, set())
            if missing:
                needed.add(entry.number)
                missing -= references.keys()
            if entry.number in wanting:
                replayed = self._replayed(extra_of(body))
                missing |= {c for c in replayed if c in versions and c not in references}
            parent = now.numbers.get(entry.parent) if entry.parent is not None else None
            if missing and parent is not None:
                wanted.setdefault(parent, set()).update(missing)
        return needed

    def _row(
        self,
        db: Connection,
        now: _Planning,
        entry: _Entry,
        lanes: dict[Place, int],
        in_place: InPlace | None,
        *,
        bare: bool,
    ) -> WholeRow:
        row = entry.row
        parent = turn = None
        if entry.parent is not None:
            parent = now.kept.get(entry.parent, GONE)
        if row.turn is not None and not bare:
            turn = now.kept.get((entry.thread, row.turn))
        hidden = row.hidden
        pruned = NEVER_SHOWN if in_place is None else in_place.hidden_at or NEVER_SHOWN
        if entry.level:
            hidden = NEVER_SHOWN
            if entry.shown and not bare:
                hidden = 0 if now.shown else pruned
            elif entry.beside and now.shown:
                hidden = BESIDE
        return WholeRow(
            entry.namespace,
            entry.level > 0,
            entry.thread,
            row.n,
            entry.cut,
            entry.number,
            row.cid,
            lanes[entry.thread, row.lane],
            parent,
            self._root(db, now, entry),
            turn,
            hidden,
            bare,
        )

    def _root(self, db: Connection, now: _Planning, entry: _Entry) -> int | None:
        root = entry.row.root
        if root is None:
            return None
        if root == INHERITED_ROOT:
            ((_, body),) = _with_bodies(db, [entry])
            name = self._root_id(extra_of(body))
            place = None if name is None else now.on_path.get(cid_bytes(name))
            return FORGOTTEN_ROOT if place is None else now.numbers[place]
        if root == FORGOTTEN_ROOT or entry.level == 0:
            return root
        base = now.view.bases[entry.level - 1]
        if root == base.n:
            return _fork_point(now, entry.level)
        return now.numbers.get((base.thread, root))

    # -- the rest -----------------------------------------------------------------------------

    def _find_head(self, now: _Planning, namespace: str, rows: list[WholeRow]) -> None:
        if now.heads.get(namespace) is None:
            shown = [row.number for row in rows if row.namespace == namespace and row.hidden == 0]
            now.heads[namespace] = max(shown, default=None)


def _entry(
    view: View, namespace: str, level: int, base: Base, thread: int, row: _Outline
) -> _Entry:
    shown = level <= view.visible and seen_through(row.hidden, row.n, base.cut)
    beside = level <= view.visible and row.hidden == BESIDE
    return _Entry(namespace, level, thread, base.cut, row, shown, beside)


def _belongs(view: View, base: Base, thread: int, row: _Outline, path: set[Place]) -> bool:
    """Whether a row of a subgraph is one that forks of the base see: `Lineage.shows_rooted`, with
    the path at hand."""
    if row.n <= view.inner.get((thread, row.lane), NOWHERE):
        return True
    if row.root is None:
        return False
    if row.root in (INHERITED_ROOT, FORGOTTEN_ROOT):
        return True
    return base.open if row.root == base.n else (base.thread, row.root) in path


def _number(now: _Planning, seen_from: int | None) -> None:
    """Give inherited rows numbers in the order in which the session lists them.

    A thread has one row of an id. A fork that writes on the head of a subgraph adopts it, so there
    may be several; the session lists the nearest. A fork of it that was taken before sees the one
    that was adopted: then the session's row takes its number, which comes before every cut.
    """
    everything = [entry for entries in now.entries.values() for entry in entries]
    everything.sort(key=lambda entry: (entry.level, -entry.row.n))
    listed: dict[tuple[str, bytes], _Entry] = {}
    for entry in everything:
        key = (entry.namespace, entry.row.cid)
        known = listed.setdefault(key, entry)
        if known.level and entry.shown and not known.shown:
            listed[key] = entry
    next_number = _FIRST_INHERITED
    for entry in everything:
        first = listed[entry.namespace, entry.row.cid]
        if first is not entry:
            now.repeated.append(entry)
            if _is_seen_before(entry, first, seen_from) and first.place not in now.replaced:
                now.replaced[first.place] = entry
                first.number = now.numbers[first.place] = next_number
                next_number -= 1
        elif entry.level:
            entry.number = next_number
            next_number -= 1
        now.numbers[entry.place] = entry.number
    for entry in now.repeated:
        entry.number = now.numbers[entry.place] = listed[entry.namespace, entry.row.cid].number
    left_out = set(map(id, now.repeated))
    for namespace, entries in now.entries.items():
        now.entries[namespace] = [entry for entry in entries if id(entry) not in left_out]


def _is_seen_before(entry: _Entry, own: _Entry, seen_from: int | None) -> bool:
    return (
        seen_from is not None
        and bool(entry.namespace)
        and entry.shown
        and own.level == 0
        and own.row.n >= seen_from
    )


def _fork_point(now: _Planning, level: int) -> int | None:
    """The number of the row that stands for the point at which the session above a base began."""
    if level == 1:
        return FORK_POINT
    above = now.view.bases[level - 2]
    number = now.numbers.get((above.thread, 0))
    if number is None and above.n == 0:
        return _fork_point(now, level - 1)
    return number


def _skeleton(now: _Planning, entries: list[_Entry], stay: set[int]) -> set[int]:
    """Rows that say how those that stay are related: the first row of each lane, which says where
    the lane hangs, and the row that it hangs from, as far down as there is something to relate."""
    by_number = {entry.number: entry for entry in entries}
    needed = {number for number in stay if number in by_number}
    lowest = min(needed, default=0)
    waiting = list(needed)
    while waiting:
        entry = by_number[waiting.pop()]
        start = now.numbers.get((entry.thread, entry.row.lane))
        hangs = entry.row.n == entry.row.lane and entry.parent is not None
        parent = now.numbers.get(entry.parent) if hangs and entry.parent is not None else None
        for number in (start, parent):
            if number is None or number < lowest or number in needed or number not in by_number:
                continue
            needed.add(number)
            waiting.append(number)
    return needed


def _with_bodies(db: Connection, entries: list[_Entry]) -> Iterator[tuple[_Entry, bytes]]:
    """The bodies of some rows, in the order of the rows."""
    for start in range(0, len(entries), _CHUNK):
        chunk = entries[start : start + _CHUNK]
        threads: dict[int, list[int]] = {}
        for entry in chunk:
            threads.setdefault(entry.thread, []).append(entry.row.n)
        bodies = {
            (thread, n): body
            for thread, numbers in threads.items()
            for n, body in db.all("bodies", thread=thread, numbers=db.members(numbers))
        }
        for entry in chunk:
            yield entry, bodies[entry.place]
