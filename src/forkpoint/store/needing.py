"""Which rows of a session somebody still needs, so that the others can go for good.

A row is needed when its own session shows it, when a fork sees it, when a delta channel of a row
that is seen is rebuilt from the writes on it, or when without it one of these would not know its
ancestors: then its place is needed, and what is in it is not. Everybody counts who stands on the
session, directly or not, and deleted sessions too, as long as a fork of theirs holds them.

A row that nobody needs is never needed again: what is seen later descends from what is seen now. So
whoever has found such rows in one moment of the database can remove them at leisure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from forkpoint.store.driver import Connection
from forkpoint.store.lineage import (
    BESIDE,
    FORGOTTEN_ROOT,
    INHERITED_ROOT,
    NOWHERE,
    seen_through,
)
from forkpoint.store.rows import extra_of, is_empty, versions_and_references
from forkpoint.store.terms import Terms

Place = tuple[int, int]
"""Thread and row number."""

ReplayedChannels = Callable[[object], Sequence[str]]
"""From the extra part of a checkpoint body: the channels that are rebuilt from ancestors."""

_CHUNK = 256


class Footing(NamedTuple):
    """A session, and what it stands on."""

    id: int
    family: int
    deleted: int
    base: int | None
    base_thread: int
    base_n: int
    base_cut: int
    base_open: int
    base_shown: int
    base_deep: int


class Spot(NamedTuple):
    """A row, as far as it says where it hangs."""

    n: int
    lane: int
    parent: int | None
    parent_thread: int | None
    root: int | None
    hidden: int


class Hanging(NamedTuple):
    """A row that a session is to get as its own: where it hangs, and its body."""

    parent_thread: int
    parent: int
    body: bytes


class Doomed(NamedTuple):
    """The rows of a session that nobody needs."""

    rows: dict[int, list[int]]
    """By thread, oldest first."""
    whole: frozenset[int]
    """Threads of a deleted session of which no row is needed."""
    hollow: dict[int, list[int]]
    """By thread, rows of which only the place is needed, and that still have something in them."""


class _Needed(NamedTuple):
    """What of a thread is needed."""

    rows: set[int]
    """With all that is in them."""
    places: set[int]
    """Rows of which only the place matters."""


@dataclass(slots=True)
class Planned:
    """What is going to be taken out of view: looked at as if it had been."""

    hidden: dict[int, set[int]] = field(default_factory=dict)
    """Rows by thread."""
    alone: set[int] = field(default_factory=set)
    """Sessions that no longer show what they inherit."""
    hanging: dict[int, list[Hanging]] = field(default_factory=dict)
    """By session, the rows that it gets as its own instead."""


class Needs:
    """What is needed of the sessions of one family, in one moment of the database."""

    def __init__(
        self,
        db: Connection,
        terms: Terms,
        replayed: ReplayedChannels,
        planned: Planned | None = None,
    ) -> None:
        self._db = db
        self._terms = terms
        self._replayed = replayed
        self._planned = planned or Planned()
        self._footings: dict[int, Footing] = {}
        self._forks: dict[int, list[Footing]] = {}
        self._threads: dict[int, list[tuple[int, str]]] = {}
        self._spots: dict[int, list[Spot]] = {}
        #: By session: what its rows, and those of all who stand on it, are rebuilt from below it.
        self._below: dict[int, dict[Place, set[str]]] = {}

    def prepare(self, sessions: Iterable[int]) -> None:
        """Read some sessions that will be asked for, in a few queries for all of them."""
        self._load(sessions)

    def doomed(self, session: int) -> Doomed:
        """The rows of a session that nobody needs."""
        self._load([session])
        needed, _ = self._needed(session, below=False)
        rows: dict[int, list[int]] = {}
        whole: set[int] = set()
        hollow: dict[int, list[int]] = {}
        for thread, _ in self._threads[session]:
            spots = self._spots[thread]
            kept = with_skeleton(spots, needed[thread].rows | needed[thread].places)
            gone = [spot.n for spot in spots if spot.n not in kept]
            if gone:
                rows[thread] = gone
                if self._footings[session].deleted and not kept:
                    whole.add(thread)
            full = self._full(thread, sorted(kept - needed[thread].rows))
            if full:
                hollow[thread] = full
        return Doomed(rows, frozenset(whole), hollow)

    def _full(self, thread: int, ns: Sequence[int]) -> list[int]:
        """Which of some rows have something in them, or on them."""
        if not ns:
            return []
        written = self._db.all("written_on", thread=thread, ns=self._db.members(ns))
        full = {n for (n,) in written}
        full |= {n for n, body in self.bodies(thread, ns).items() if not is_empty(body)}
        return sorted(full)

    # -- reading ------------------------------------------------------------------------------

    def _load(self, sessions: Iterable[int]) -> None:
        """Read some sessions, who stands on them, their threads and rows, a few queries for all."""
        db = self._db
        new = [session for session in sessions if session not in self._threads]
        if not new:
            return
        unknown = [session for session in new if session not in self._footings]
        for row in db.all("footing", ids=db.members(unknown)):
            self._footings[row[0]] = Footing(*row)
        for session in new:
            self._forks[session], self._threads[session] = [], []
        for row in db.all("footings_on", ids=db.members(new)):
            fork = self._footings[row[0]] = Footing(*row)
            if fork.base is not None:
                self._forks[fork.base].append(fork)
        threads = []
        for session, thread, namespace in db.all("threads_of_sessions", sessions=db.members(new)):
            self._threads[session].append((thread, namespace))
            self._spots[thread] = []
            threads.append(thread)
        for thread, *spot in db.all("places_in", threads=db.members(threads)):
            self._spots[thread].append(Spot(*spot))

    def _is_hidden(self, thread: int, spot: Spot) -> bool:
        return spot.hidden != 0 or spot.n in self._planned.hidden.get(thread, ())

    def _shows_base(self, fork: Footing) -> bool:
        """Whether somebody still sees what lies below a fork: itself, or a fork of it that was
        taken while it did."""
        waiting = [fork]
        while waiting:
            one = waiting.pop()
            if not one.deleted and one.base_shown and one.id not in self._planned.alone:
                return True
            self._load([one.id])
            waiting += [above for above in self._forks[one.id] if above.base_deep]
        return False

    # -- what is kept -------------------------------------------------------------------------

    def _needed(
        self, session: int, *, below: bool
    ) -> tuple[dict[int, _Needed], dict[Place, set[str]]]:
        """What is needed, by thread. With `below` also what is wanted of other sessions' rows: the
        channels that are rebuilt from there."""
        footing = self._footings[session]
        threads = self._threads[session]
        seen: dict[int, set[int]] = {thread: set() for thread, _ in threads}
        if not footing.deleted:
            for thread, _ in threads:
                seen[thread] = {
                    spot.n for spot in self._spots[thread] if not self._is_hidden(thread, spot)
                }
        stay: dict[int, set[int]] = {thread: set() for thread, _ in threads}
        forks = self._forks[session]
        showing = [fork for fork in forks if self._shows_base(fork)]
        for fork in forks:
            # A view begins to look for its path here, whatever is shown of it.
            stay.setdefault(fork.base_thread, set()).add(fork.base_n)
        blind = self._see(threads, showing, seen)
        cuts = [fork.base_cut for fork in showing]
        for thread, namespace in threads:
            if namespace:
                stay[thread] |= _named_as_parents(self._spots[thread], seen[thread], cuts)
        beneath = below and footing.base is not None
        asking = forks if beneath else [f for f in forks if f.id in blind or f not in showing]
        wanted: dict[int, dict[int, set[str]]] = {}
        elsewhere: dict[Place, set[str]] = {}
        for place, channels in self._wanted_by(session, asking):
            if place[0] in seen:
                wanted.setdefault(place[0], {}).setdefault(place[1], set()).update(channels)
            else:
                elsewhere.setdefault(place, set()).update(channels)
        needed: dict[int, _Needed] = {}
        root_thread = next((thread for thread, namespace in threads if not namespace), None)
        # Sub-namespaces first: their rows are seen by way of their root rows, which then stay.
        for thread, namespace in sorted(threads, key=lambda item: item[1] == ""):
            spots = self._spots[thread]
            walk = _Walk(self, thread, spots, seen[thread], beneath)
            rows = seen[thread] | walk.down(wanted.get(thread, {}))
            for place, channels in walk.elsewhere.items():
                elsewhere.setdefault(place, set()).update(channels)
            if namespace and root_thread is not None:
                stay[root_thread] |= {
                    spot.root for spot in spots if spot.root is not None and spot.n in rows
                }
            needed[thread] = _Needed(rows, stay[thread])
        return needed, elsewhere

    def _see(
        self,
        threads: Sequence[tuple[int, str]],
        showing: Sequence[Footing],
        seen: dict[int, set[int]],
    ) -> set[int]:
        """Add what forks may see of a session: what lies on their paths, and what belongs to it.
        Which of the forks do not see all of it, because something was hidden before they were
        taken: what they rebuild is read from rows that they do not see."""
        blind: set[int] = set()
        root_thread = next((thread for thread, namespace in threads if not namespace), None)
        if root_thread is None:
            return blind
        spots = {spot.n: spot for spot in self._spots[root_thread]}
        hidden = [spot for spot in spots.values() if spot.hidden]
        #: By lane: up to which row, and below which cut, somebody sees.
        sights: dict[int, set[tuple[int, int]]] = {}
        for fork in showing:
            path = _path(spots, fork.base_n)
            for lane, up_to in path.items():
                sights.setdefault(lane, set()).add((up_to, fork.base_cut))
            for thread, namespace in threads:
                if not namespace:
                    continue
                for spot in self._spots[thread]:
                    if spot.n >= fork.base_cut or not _belongs(spot.root, spots, path, fork):
                        continue
                    if seen_through(spot.hidden, spot.n, fork.base_cut):
                        seen[thread].add(spot.n)
                    else:
                        blind.add(fork.id)
            if any(
                spot.n <= path.get(spot.lane, NOWHERE)
                and not seen_through(spot.hidden, spot.n, fork.base_cut)
                for spot in hidden
            ):
                blind.add(fork.id)
        furthest = {lane: max(up_to for up_to, _ in there) for lane, there in sights.items()}
        seen[root_thread] |= {
            spot.n
            for spot in spots.values()
            if spot.n <= furthest.get(spot.lane, NOWHERE)
            and (
                not spot.hidden
                or any(
                    spot.n <= up_to and seen_through(spot.hidden, spot.n, cut)
                    for up_to, cut in sights[spot.lane]
                )
            )
        }
        return blind

    # -- delta channels -----------------------------------------------------------------------

    def _wanted_by(
        self, session: int, forks: Sequence[Footing]
    ) -> Iterator[tuple[Place, set[str]]]:
        """What is rebuilt, by some forks of a session and all who stand on them, from below."""
        order: list[int] = []
        level = [fork.id for fork in forks if fork.id not in self._below]
        while level:
            self._load(level)
            order += level
            level = [fork.id for one in level for fork in self._forks[one]]
            level = [one for one in level if one not in self._below]
        for one in reversed(order):
            self._below[one] = self._needed(one, below=True)[1]
        for fork in forks:
            yield from self._below[fork.id].items()
        for hanging in self._planned.hanging.get(session, ()):
            channels = self.rebuilt(hanging.body)
            if channels:
                yield (hanging.parent_thread, hanging.parent), channels

    def rebuilt(self, body: bytes) -> set[str]:
        """The channels of a row that it has no value of: they are rebuilt from its ancestors."""
        versions, references = versions_and_references(self._db, self._terms, body)
        channels = self._replayed(extra_of(body))
        return {name for name in channels if name in versions and name not in references}

    def stored(self, body: bytes) -> set[str]:
        """The channels that a row has a value of."""
        return set(versions_and_references(self._db, self._terms, body)[1])

    def bodies(self, thread: int, ns: Sequence[int]) -> dict[int, bytes]:
        """Bodies of some rows of a thread."""
        if not ns:
            return {}
        return {
            n: bytes(body)
            for n, body in self._db.all("bodies_at", thread=thread, ns=self._db.members(ns))
        }


class _Walk:
    """One way down a thread, newest row first, that finds what delta channels are rebuilt from.

    What a row wants is handed to the row before it, and from there on until a value is stored.
    """

    def __init__(
        self,
        needs: Needs,
        thread: int,
        spots: Sequence[Spot],
        seen: set[int],
        beneath: bool,
    ) -> None:
        self._needs = needs
        self._thread = thread
        self._spots = spots
        self._seen = seen
        #: What is wanted of rows in other threads.
        self.elsewhere: dict[Place, set[str]] = {}
        self._before: dict[int, Place | None] = {}
        #: Rows that may want something of a row that is not seen itself.
        self._asking: set[int] = set()
        last: dict[int, int] = {}
        there = {spot.n for spot in spots}
        for spot in spots:
            before: Place | None = None
            if spot.n > spot.lane:
                if spot.lane in last:
                    before = (thread, last[spot.lane])
            elif spot.parent is not None:
                before = (spot.parent_thread or thread, spot.parent)
                if before[0] == thread and spot.parent not in there:
                    before = None
            last[spot.lane] = spot.n
            self._before[spot.n] = before
            if before is None:
                continue
            if beneath if before[0] != thread else self._may_want(before[1]):
                self._asking.add(spot.n)

    def _may_want(self, n: int) -> bool:
        return n not in self._seen or n in self._asking

    def down(self, wanted: Mapping[int, set[str]]) -> set[int]:
        """The rows that are read to rebuild channels, given what others want of some rows."""
        wishes = {n: set(channels) for n, channels in wanted.items()}
        asking = self._asking & self._seen
        read: set[int] = set()
        if not wishes and not asking:
            return read
        newest_first = [spot.n for spot in reversed(self._spots)]
        for start in range(0, len(newest_first), _CHUNK):
            chunk = newest_first[start : start + _CHUNK]
            first = [n for n in chunk if n in asking or n in wishes]
            bodies = self._needs.bodies(self._thread, first)
            for at, n in enumerate(chunk):
                wish = wishes.pop(n, None)
                if wish is None and n not in asking:
                    continue
                if n not in bodies:
                    bodies |= self._needs.bodies(self._thread, chunk[at:])
                body = bodies[n]
                if wish is not None:
                    read.add(n)
                    wish -= self._needs.stored(body)
                else:
                    wish = set()
                if n in asking:
                    wish |= self._needs.rebuilt(body)
                before = self._before[n]
                if not wish or before is None:
                    continue
                if before[0] == self._thread:
                    wishes.setdefault(before[1], set()).update(wish)
                else:
                    self.elsewhere.setdefault(before, set()).update(wish)
        return read


def with_skeleton(spots: Iterable[Spot], stay: set[int]) -> set[int]:
    """Rows to keep so that those that stay know their ancestors: the first row of each lane says
    where the lane hangs, and the row that it hangs from says on which lane."""
    by_n = {spot.n: spot for spot in spots}
    kept = stay & by_n.keys()
    waiting = list(kept)
    while waiting:
        spot = by_n[waiting.pop()]
        hangs_here = spot.n == spot.lane and spot.parent_thread is None
        for n in (spot.lane, spot.parent if hangs_here else None):
            if n is not None and n not in kept and n in by_n:
                kept.add(n)
                waiting.append(n)
    return kept


def _named_as_parents(spots: Sequence[Spot], seen: set[int], cuts: Sequence[int]) -> set[int]:
    """Rows that what is seen of a subgraph descends from, although they belong to another branch
    of the conversation: a subgraph that remembers goes on from whatever it did last."""
    by_n = {spot.n: spot for spot in spots}
    named: set[int] = set()
    for spot in reversed(spots):
        if spot.parent is None or spot.parent_thread is not None or spot.parent in seen:
            continue
        parent = by_n.get(spot.parent)
        if parent is None or (spot.n not in seen and spot.n not in named):
            continue
        if parent.hidden == BESIDE or any(
            seen_through(parent.hidden, parent.n, cut) for cut in cuts
        ):
            named.add(parent.n)
    return named


def _path(spots: Mapping[int, Spot], n: int) -> dict[int, int]:
    """The strict ancestors of a row in its own thread: by lane, up to which row."""
    path: dict[int, int] = {}
    spot = spots.get(n)
    if spot is None:
        return path
    if n > spot.lane:
        path[spot.lane] = n - 1
    while (first := spots.get(spot.lane)) is not None:
        if first.parent is None or first.parent_thread is not None:
            break
        spot = spots.get(first.parent)
        if spot is None:
            break
        path[spot.lane] = max(path.get(spot.lane, NOWHERE), spot.n)
    return path


def _belongs(
    root: int | None, spots: Mapping[int, Spot], path: Mapping[int, int], fork: Footing
) -> bool:
    """Whether a fork may see a sub-namespace row, by the root row that it belongs to."""
    if root is None:
        return False
    if root in (INHERITED_ROOT, FORGOTTEN_ROOT) or (root == fork.base_n and fork.base_open):
        return True
    spot = spots.get(root)
    return spot is not None and root <= path.get(spot.lane, NOWHERE)
