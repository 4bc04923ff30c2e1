"""Who sees which rows: a session's own, and what its fork point stands on.

A session sees every visible row of its own. On a fork it also sees, read through, the strict
ancestors of its fork point: a **path** of segments, each a lane of some thread up to a row number.
Because a lane is an unbroken run of children, "is an ancestor" is `n <= up_to` on the right lane,
whatever the distance. Every base has a **cut**, the tick of its session at the moment of the fork:
nothing written later is visible through it.

Sub-namespaces follow their root: a row of one is seen through a base iff the root checkpoint it
belongs to is on the path, or is the fork point itself and that was a live head.

What a fork stands on changes only when somebody is detached, so views are remembered, with the
family's shape, which says when. Rows that were hidden (pruned) in their own session stay visible to
the forks that were taken before.

Rows that a detached session inherited are its own, at numbers below -1: they come before row 0, the
fork point, as they always did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from forkpoint.store.driver import Connection
from forkpoint.store.terms import Remembered

NEVER = 2**62
"""A cut that hides nothing."""
FORK_POINT = 0
"""Number of a fork's first row, its own copy of the checkpoint at which it was taken."""
NOWHERE = -(2**62)
"""A row number before every other."""
INHERITED_ROOT = -1
"""`root` of a sub-namespace row whose root checkpoint its session inherits."""
FORGOTTEN_ROOT = NOWHERE
"""`root` of a sub-namespace row whose root checkpoint came before all that its session shows."""
NEVER_SHOWN = -1
"""`hidden` of a row that was out of its session's view from the beginning."""
BESIDE = -2
"""The same of a row that others in view descend from: they name it as their parent all the same. A
subgraph that remembers goes on from its last checkpoint, whatever branch that belongs to."""
BEGINS_INSIDE = 2
"""`base_open` of a fork that begins inside a subgraph."""


class Segment(NamedTuple):
    """Rows of one lane, from its first up to `up_to`."""

    thread: int
    lane: int
    up_to: int


class Rooted(Protocol):
    """A row, as far as it says which root checkpoint it belongs to."""

    @property
    def thread(self) -> int: ...
    @property
    def n(self) -> int: ...
    @property
    def lane(self) -> int: ...
    @property
    def root(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Base:
    """One session below a fork: where it was left, and what is still seen of it."""

    session: int
    thread: int
    n: int
    cut: int
    open: bool
    """True when sub-namespaces that belong to the fork point itself are seen too."""


@dataclass(frozen=True, slots=True)
class View:
    """What a session inherits; `bases` and `path` are empty for a session that is not a fork."""

    session: int
    bases: tuple[Base, ...] = ()
    path: tuple[Segment, ...] = ()
    """Root namespace, nearest first. The fork point itself is not in it: the fork has a copy."""
    lanes: dict[tuple[int, int], int] = field(default_factory=dict)
    """`up_to` by thread and lane: the path as a look-up."""
    inner: dict[tuple[int, int], int] = field(default_factory=dict)
    """The same for sub-namespaces in which the fork begins inside a subgraph."""
    visible: int = 0
    """How many of the bases are shown, nearest first. Those below were pruned out of a session's
    view; only what is rebuilt from ancestors still reads them."""

    @property
    def shown(self) -> tuple[Base, ...]:
        """The bases that are shown."""
        return self.bases[: self.visible]

    def holds(self, thread: int, lane: int, n: int) -> bool:
        """Whether a row of the root namespace lies on the path."""
        return n <= self.lanes.get((thread, lane), NOWHERE)

    def base_of(self, session: int) -> Base | None:
        """The base that a session is, if it is one."""
        for base in self.bases:
            if base.session == session:
                return base
        return None


def seen_through(hidden: int, n: int, cut: int) -> bool:
    """Whether a row written at tick `n` and hidden at another (0: never) shows through a cut."""
    return n < cut and (hidden == 0 or hidden >= cut)


def strict_ancestors(db: Connection, thread: int, n: int) -> Iterator[Segment]:
    """The path from a row to its root, the row itself not included."""
    place = db.one("place", thread=thread, n=n)
    if place is None:
        return
    lane, first = place[0], place
    if n > lane:
        yield Segment(thread, lane, n - 1)
        first = db.one("place", thread=thread, n=lane)
    while first is not None and first[1] is not None:
        thread, n = (first[2] or thread), first[1]
        place = db.one("place", thread=thread, n=n)
        if place is None:
            return
        lane = place[0]
        yield Segment(thread, lane, n)
        first = place if lane == n else db.one("place", thread=thread, n=lane)


class Lineage:
    """Views of the sessions of one database."""

    def __init__(self) -> None:
        self._views: Remembered[int, tuple[int, View]] = Remembered(5_000)
        self._owners: Remembered[int, int] = Remembered()

    def view(self, db: Connection, session: int) -> View:
        """What a session inherits and shows."""
        known = self._views.get(session)
        if known is not None and not known[1].bases:
            return known[1]  # Who stands on nothing never comes to stand on something.
        shape, shown = db.one("standing_now", id=session)
        if known is None or known[0] != shape:
            known = (shape, self._read(db, session))
            self._views.remember(session, known)
        view = known[1]
        # Pruning takes what is inherited out of sight, all of it.
        return view if shown or not view.bases else View(session, view.bases)

    def whole_view(self, db: Connection, session: int) -> View:
        """What a session stands on, whether it shows it or not. What the sessions below had
        stopped to show when it was forked is not shown either."""
        bases, path, inner, visible = self._stands_on(db, session)
        lanes = {(part.thread, part.lane): part.up_to for part in path}
        return View(session, bases, path, lanes, inner, visible)

    def owner(self, db: Connection, thread: int) -> int:
        """The session that a thread belongs to."""
        known = self._owners.get(thread)
        if known is None:
            known = db.one("thread_owner", id=thread)[0]
            self._owners.remember(thread, known)
        return known

    def cut(self, db: Connection, view: View, thread: int) -> int:
        """The tick up to which writes in a thread are seen by the view's session."""
        owner = self.owner(db, thread)
        if owner == view.session:
            return NEVER
        base = view.base_of(owner)
        return base.cut if base is not None else 0

    def shows_rooted(
        self, db: Connection, view: View, base: Base, row: Rooted, root_thread: int
    ) -> bool:
        """Whether a sub-namespace row of a base is seen."""
        if view.inner and row.n <= view.inner.get((row.thread, row.lane), NOWHERE):
            return True
        root = row.root
        if root is None:
            return False
        if root in (INHERITED_ROOT, FORGOTTEN_ROOT):
            return True
        if root == base.n and root_thread == base.thread:
            return base.open
        place = db.one("place", thread=root_thread, n=root)
        return place is not None and view.holds(root_thread, place[0], root)

    def _read(self, db: Connection, session: int) -> View:
        bases, whole_path, inner, visible = self._stands_on(db, session)
        seen = {base.session for base in bases[:visible]}
        path = tuple(part for part in whole_path if self.owner(db, part.thread) in seen)
        lanes = {(part.thread, part.lane): part.up_to for part in path}
        return View(session, bases, path, lanes, inner, visible)

    def _stands_on(
        self, db: Connection, session: int
    ) -> tuple[tuple[Base, ...], tuple[Segment, ...], dict[tuple[int, int], int], int]:
        """The bases, the path through all of them, the places inside subgraphs, and how many of
        the bases are shown as long as the session has not been pruned."""
        rows = db.all("bases_of", id=session)
        if not rows:
            return (), (), {}, 0
        whole_path = tuple(strict_ancestors(db, rows[0][2], rows[0][3]))
        below = {(part.thread, part.lane): part.up_to for part in whole_path}
        bases: list[Base] = []
        inner: dict[tuple[int, int], int] = {}
        visible, going_on = 0, True
        for owner, base, thread, n, cut, is_open, is_deep in rows:
            visible += going_on
            going_on = going_on and bool(is_deep)
            # What belongs to this fork point is seen as far as the point itself lies on the path:
            # its copy, the first row of the session above, as an ancestor or, open, as the end.
            passable = True
            if bases:
                above = bases[-1]
                passable = (above.thread, 0) in below or (above.n == 0 and above.open)
            bases.append(Base(base, thread, n, cut, is_open == 1 and passable))
            if is_open == BEGINS_INSIDE and passable:
                for own, namespace, _ in db.all("threads", session=owner):
                    first = db.one("first_row", thread=own)
                    if namespace and first is not None:
                        for part in strict_ancestors(db, own, first[0]):
                            inner[part.thread, part.lane] = part.up_to
        return tuple(bases), whole_path, inner, visible
