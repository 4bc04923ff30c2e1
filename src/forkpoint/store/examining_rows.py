"""The rows of one family: their lanes, parents, roots and heads, and whether they can be read.

What pruning leaves is sound: a row may have lost its parent, but not the first row of its lane, nor
the row that the lane hangs from, nor anything that a delta channel is still rebuilt from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import ormsgpack

from forkpoint.model import Finding
from forkpoint.store.examining_family import (
    MALFORMED,
    Family,
    Member,
    Place,
    ReplayedChannels,
    Space,
    TermReader,
    check_id,
    told,
)
from forkpoint.store.examining_values import Trace
from forkpoint.store.lineage import FORGOTTEN_ROOT, INHERITED_ROOT, NOWHERE
from forkpoint.store.records import WAITING_FOR_ROOT, Row
from forkpoint.store.whole import GONE

_PAGE = 256
_ADOPTED = -1


class Chain(NamedTuple):
    """What lies behind a row whose ancestors end before the conversation's beginning."""

    stored: frozenset[str]
    """Channels that the row or an ancestor that is left has a value of."""
    versions: frozenset[str]
    """Channels that the oldest ancestor that is left knows."""


@dataclass(slots=True)
class ThreadRows:
    """The rows of a thread, as far as others look at them."""

    hidden: dict[int, bool] = field(default_factory=dict)
    chains: dict[int, Chain] = field(default_factory=dict)
    """Only of rows whose ancestors are not all there."""
    lanes: dict[int, int] = field(default_factory=dict)
    """The newest row of each lane so far."""
    cids: dict[bytes, int] = field(default_factory=dict)
    """Which row an id is; only where writes wait, and only rows that writes would go to."""
    metadata: set[int] = field(default_factory=set)


class RowExaminer:
    """Goes through the rows of a family and hands what they refer to to a `Trace`."""

    def __init__(
        self, family: Family, trace: Trace, terms: TermReader, replayed: ReplayedChannels
    ) -> None:
        self._family = family
        self._db = family.db
        self._trace = trace
        self._terms = terms
        self._replayed = replayed
        #: By thread.
        self.rows: dict[int, ThreadRows] = {}
        self.checkpoints = 0

    def findings(self) -> Iterator[Finding]:
        """Everything that is wrong with rows."""
        for member in self._family.members.values():
            root: ThreadRows | None = None
            for space in self._family.spaces_of(member.id):
                yield from self._thread(member, space, root)
                if not space.namespace:
                    root = self.rows[space.id]

    def _thread(self, member: Member, space: Space, root: ThreadRows | None) -> Iterator[Finding]:
        seen = self.rows[space.id] = ThreadRows()
        waits = self._db.one("waiting", thread=space.id) is not None
        after = NOWHERE
        while rows := self._db.all("rows_from", thread=space.id, after=after, limit=_PAGE):
            for row in map(Row._make, rows):
                self.checkpoints += 1
                yield from self._row(member, space, row, seen, root)
                if waits and row.size != _ADOPTED and not row.hidden:
                    seen.cids[bytes(row.cid)] = row.n
            after = rows[-1][1]
        if not member.deleted:
            yield from self._head(space, seen)
        yield from self._pending(space, seen)
        yield from self._early(space, seen)
        yield from self._metadata(member, space, seen)

    # -- one row ------------------------------------------------------------------------------

    def _row(
        self, member: Member, space: Space, row: Row, seen: ThreadRows, root: ThreadRows | None
    ) -> Iterator[Finding]:
        place = (space.id, row.n)
        seen.hidden[row.n] = bool(row.hidden)
        seen.metadata.add(row.metadata)
        self._family.note(member.id, max(row.n, row.hidden))
        visible = not row.hidden and not member.deleted
        yield from self._lane(row, seen, place)
        if row.lane == row.n and row.parent is not None:
            yield from self._hangs(member, space, row, seen, place)
        if visible and space.namespace:
            yield from self._root(row, root, place)
        try:
            check_id(bytes(row.cid))
            versions, references, extra = self._channels(row.body)
            replayed = self._replayed(extra) if visible else ()
        except MALFORMED as error:
            yield self._family.fault("row", place, f"the row cannot be read ({told(error)})")
            return
        for channel, reference in references.items():
            problem = self._trace.refer(reference, place)
            if problem is not None:
                yield self._family.fault("row", place, f"channel {channel!r}: {problem}")
        yield from self._history(row, seen, versions, references, replayed, place)

    def _channels(self, body: bytes) -> tuple[frozenset[str], dict[str, Any], Any]:
        names_term, versions, references, nodes_term, seen_versions, extra = ormsgpack.unpackb(body)
        names = self._terms.body(self._db, names_term)
        nodes = self._terms.body(self._db, nodes_term)
        if len(references) != len(names) or len(versions) > len(names):
            raise ValueError("names, versions and values do not go together")
        if sum(len(channels) for _, channels in nodes) != len(seen_versions):
            raise ValueError("what the nodes have seen is not complete")
        held = {
            name: reference
            for name, reference in zip(names, references, strict=True)
            if reference is not None
        }
        return frozenset(names[: len(versions)]), held, extra

    def _lane(self, row: Row, seen: ThreadRows, place: Place) -> Iterator[Finding]:
        newest = seen.lanes.get(row.lane)
        seen.lanes[row.lane] = row.n
        text = None
        if row.lane == row.n:
            return
        if newest is None:
            text = f"the first row of its lane, {row.lane}, is gone"
        elif row.parent is None or row.parent_thread is not None:
            text = "it goes on in a lane without following a row of it"
        elif row.parent != GONE and not newest <= row.parent < row.n:
            text = f"its parent is row {row.parent}; before it in its lane is row {newest}"
        if text is not None:
            yield self._family.fault("lane", place, text)

    def _hangs(
        self, member: Member, space: Space, row: Row, seen: ThreadRows, place: Place
    ) -> Iterator[Finding]:
        """The row that a lane hangs from stays as long as the lane does, and as long as it is seen
        where it lies in another session. Copies of other sessions' rows hang where those hang,
        which may have been pruned before."""
        text = None
        if row.parent_thread is None:
            if row.parent != GONE and row.parent not in seen.hidden:
                text = f"its parent, row {row.parent}, is gone"
        elif row.parent_thread not in self._family.spaces:
            if member.shows_base:
                text = f"its parent is in thread {row.parent_thread}, which is gone"
        elif not space.namespace and row.n > 0 and member.shows_base:
            others = self.rows.get(row.parent_thread)
            if others is None or row.parent not in others.hidden:
                text = f"its parent, row {row.parent} of thread {row.parent_thread}, is gone"
        if text is not None:
            yield self._family.fault("parent", place, text)

    def _root(self, row: Row, root: ThreadRows | None, place: Place) -> Iterator[Finding]:
        if row.root in (None, INHERITED_ROOT, FORGOTTEN_ROOT):
            return
        if root is None or row.root not in root.hidden:
            text = f"the root checkpoint it belongs to, row {row.root}, is gone"
            yield self._family.fault("root", place, text)

    def _history(
        self,
        row: Row,
        seen: ThreadRows,
        versions: frozenset[str],
        references: Mapping[str, Any],
        replayed: Sequence[str],
        place: Place,
    ) -> Iterator[Finding]:
        """Whether channels without a value can be rebuilt from the ancestors."""
        if row.parent is None:
            return
        above = seen if row.parent_thread is None else self.rows.get(row.parent_thread)
        if above is None or row.parent not in above.hidden:
            behind: Chain | None = Chain(frozenset(), versions)
            seen.chains[row.n] = Chain(frozenset(references), versions)
        else:
            behind = above.chains.get(row.parent)
            if behind is not None:
                stored = behind.stored | references.keys()
                same = len(stored) == len(behind.stored)
                seen.chains[row.n] = behind if same else Chain(stored, behind.versions)
        if behind is None:
            return
        lost = [
            channel
            for channel in replayed
            if channel in versions
            and channel not in references
            and channel not in behind.stored
            and channel in behind.versions
        ]
        if lost:
            text = f"channels {lost} cannot be rebuilt: ancestors that they need are gone"
            yield self._family.fault("history", place, text)

    # -- the rest of a thread -----------------------------------------------------------------

    def _head(self, space: Space, seen: ThreadRows) -> Iterator[Finding]:
        text = None
        if space.head is None:
            if not all(seen.hidden.values()):
                text = "it has checkpoints and no head"
        elif space.head not in seen.hidden:
            text = f"its head, row {space.head}, is gone"
        elif seen.hidden[space.head]:
            text = f"its head, row {space.head}, was pruned"
        if text is not None:
            details = {"session": space.session, "thread": space.id}
            yield self._family.mendable("head", self._family.name(space), text, details)

    def _pending(self, space: Space, seen: ThreadRows) -> Iterator[Finding]:
        n, w = NOWHERE, NOWHERE
        lost: set[int] = set()
        while rows := self._db.all("pending_from", thread=space.id, n=n, w=w, limit=_PAGE):
            for n, w, task, body in rows:
                self._family.note(space.session, w)
                if n in seen.hidden:
                    yield from self._write((space.id, n), bytes(task), bytes(body))
                else:
                    lost.add(n)
        if lost:
            yield Finding(
                "orphan",
                "warning",
                self._family.name(space),
                f"writes lie on {len(lost)} rows that are gone",
                repairable=True,
                details={"thread": space.id, "pending": sorted(lost)},
            )

    def _early(self, space: Space, seen: ThreadRows) -> Iterator[Finding]:
        cid, w = b"", NOWHERE
        late: dict[bytes, int] = {}
        while rows := self._db.all("early_from", thread=space.id, cid=cid, w=w, limit=_PAGE):
            for cid, w, task, body in rows:
                n = seen.cids.get(bytes(cid))
                if n is not None:
                    late[bytes(cid)] = n
                if bytes(task) != WAITING_FOR_ROOT:
                    self._family.note(space.session, w)
                    yield from self._write((space.id, -1), bytes(task), bytes(body))
        for cid, n in late.items():
            yield self._family.mendable(
                "early",
                self._family.where((space.id, n)),
                "writes wait for this checkpoint, which is there",
                {"session": space.session, "thread": space.id, "cid": cid},
            )

    def _write(self, place: Place, task: bytes, body: bytes) -> Iterator[Finding]:
        try:
            check_id(task)
            shape, references = ormsgpack.unpackb(body)
            _path, places = self._terms.body(self._db, shape)
            channels = [channel for _, channel in places]
            if len(channels) != len(references):
                raise ValueError("channels and values do not go together")
        except MALFORMED as error:
            yield self._family.fault("row", place, f"a write cannot be read ({told(error)})")
            return
        for channel, reference in zip(channels, references, strict=True):
            problem = self._trace.refer(reference, place)
            if problem is not None:
                yield self._family.fault("row", place, f"a write to {channel!r}: {problem}")

    def _metadata(self, member: Member, space: Space, seen: ThreadRows) -> Iterator[Finding]:
        used = sorted(seen.metadata)
        known: set[int] = set()
        for start in range(0, len(used), _PAGE):
            part = self._db.members(used[start : start + _PAGE])
            known.update(row[0] for row in self._db.all("known_metadata", ids=part))
        gone = [number for number in used if number not in known]
        name = self._family.name(space)
        if gone:
            yield Finding(
                "metadata",
                "error",
                name,
                f"the metadata of some checkpoints is gone: numbers {gone[:10]}",
                repairable=False,
                details={"thread": space.id, "metadata": gone},
            )
        if member.deleted:
            return
        noted = {row[0] for row in self._db.all("noted_metadata", thread=space.id)}
        missing = sum(number not in noted for number in used)
        if missing:
            text = f"filters miss checkpoints: {missing} of {len(used)} metadata are not noted"
            details = {"session": member.id, "thread": space.id}
            yield self._family.mendable("metadata", name, text, details)
