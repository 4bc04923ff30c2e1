"""Taking things away without taking anything from anybody else.

A row leaves its own session's view first (it is hidden), and is removed for good when nobody needs
it any more (`needing`). When the last fork that needed a row goes, the row goes with it. A row of
which only the place is needed, so that others know their ancestors, is emptied.

A session is taken out of sight in one transaction. Its rows go in that one as far as they are few,
and else piece by piece. Whoever is killed in between leaves rows that nobody sees and a family that
counts as dirty; the next collection finds both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from forkpoint.errors import DestinationNotEmptyError
from forkpoint.store.adopting import Adopter
from forkpoint.store.clock import now
from forkpoint.store.driver import Connection, Driver, StaleError
from forkpoint.store.lineage import Lineage
from forkpoint.store.needing import Doomed, Needs, ReplayedChannels
from forkpoint.store.rows import empty_body
from forkpoint.store.sessions import Sessions
from forkpoint.store.terms import Fresh, Terms, item_key, item_value

_PIECE = 1_000
"""Rows that one transaction removes at most."""
_FEW_VALUES = 4_096
"""Numbers up to which a family's values go in one transaction."""


Look = Callable[[Connection, int], None]
"""Given a session's number in the transaction that is about to delete it; may raise."""


def _look_away(db: Connection, session: int) -> None:
    """Whatever there is, it goes."""


class Removed(NamedTuple):
    """What went for good: rows of checkpoints and of writes, and the bytes in them."""

    rows: int = 0
    bytes: int = 0

    def plus(self, other: Removed) -> Removed:
        return Removed(self.rows + other.rows, self.bytes + other.bytes)


class _Piece(NamedTuple):
    """Rows that go together."""

    some: tuple[tuple[int, tuple[int, ...]], ...]
    """By thread, rows that are removed."""
    whole: tuple[int, ...]
    """Threads that are removed with every row."""
    hollow: tuple[tuple[int, tuple[int, ...]], ...]
    """By thread, rows of which the place stays."""


class _Shed(NamedTuple):
    """How far the removal of a session's rows has come."""

    removed: Removed
    family: int
    base: int | None
    """What the session stands on, or stood on."""
    unfinished: bool
    buried: bool
    """Whether a deleted session has nothing left."""


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

    # -- what is asked for --------------------------------------------------------------------

    def delete_session(self, name: str, look: Look = _look_away) -> bool:
        """Delete a session; its forks keep working. False when there is none.

        `look` is given the session's number in the transaction that deletes it, with its family
        held, and may raise.
        """
        return self.take_away(name, look) is not None

    def take_away(self, name: str, look: Look = _look_away) -> dict[int, Removed] | None:
        """The same; what went for good, by session, or None."""

        def work(db: Connection) -> tuple[int, _Shed] | None:
            row = db.one("live_session", name=name)
            if row is None:
                return None
            session, family = row[0], row[1]
            hold(db, family, session)
            look(db, session)
            if not db.run("mark_deleted", id=session, now=now()):
                raise StaleError
            db.run("soil_family", family=family, rows=1)
            return session, self._shed(db, family, session)

        begun = self._driver.write(work)
        self._sessions.forget(name)
        return None if begun is None else self._finish(*begun)

    def keep_latest(self, name: str) -> None:
        """Leave only the head of every namespace in a session's view."""

        def work(db: Connection) -> tuple[int, _Shed] | None:
            row = db.one("live_session", name=name)
            if row is None:
                return None
            session, family, base = row[0], row[1], row[3]
            hold(db, family, session)
            if db.one("session_row", id=session)[0]:
                raise StaleError
            if base is not None:
                self.stop_showing_base(db, session)
            tick = self._take_tick(db, session)
            hidden = 0
            for thread, _, head in db.all("threads", session=session):
                # No row has the number that stands for no head.
                n = tick if head is None else head
                hidden += db.run("hide_all_but", thread=thread, n=n, tick=tick)
            if hidden:
                db.run("soil_family", family=family, rows=hidden)
            return session, self._shed(db, family, session)

        begun = self._driver.write(work)
        if begun is not None:
            self._finish(*begun)

    def copy_session(self, source: str, target: str) -> bool:
        """Copy a session's rows, values by reference; False when there is no such session.

        Raises `DestinationNotEmptyError` when the target exists.
        """

        def work(db: Connection) -> bool:
            row = db.one("live_session", name=source)
            if row is None:
                return False
            session, family = row[0], row[1]
            db.run("share_family", family=family)
            db.one("hold_session", id=session)
            again = db.one("live_session", name=source)
            if again is None or again[0] != session:
                raise StaleError
            if db.one("live_session", name=target) is not None:
                raise DestinationNotEmptyError(
                    f"session {target!r} already exists and was left as it is; copy into another id"
                )
            copy = db.insert("copy_session", id=session, name=target, now=now())
            db.run("copy_labels", session=session, copy=copy)
            for thread, namespace, head in db.all("threads", session=session):
                own = self._sessions.new_thread(db, copy, namespace)
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
        session, one after the other; heads move to the newest checkpoint that is left."""
        with self._driver.read() as db:
            numbers = [
                row[0]
                for value in values
                for row in db.all("matching_metadata", name=item_key(key), value=item_value(value))
            ]
            rows = db.all("threads_of_metadata", metadata=db.members(numbers)) if numbers else []
        sessions: dict[int, list[int]] = {}
        for session, thread in rows:
            sessions.setdefault(session, []).append(thread)
        for session in sorted(sessions):
            begun = self._driver.write(
                partial(
                    self._hide_holding, session=session, threads=sessions[session], numbers=numbers
                )
            )
            if begun is not None:
                self._finish(session, begun)

    def _hide_holding(
        self, db: Connection, session: int, threads: list[int], numbers: list[int]
    ) -> _Shed | None:
        family = db.one("session_row", id=session)[2]
        hold(db, family, session)
        if db.one("session_row", id=session)[0]:
            return None
        tick = self._take_tick(db, session)
        carried = db.members(numbers)
        hidden = 0
        for thread in threads:
            gone = db.run("hide_holding", thread=thread, metadata=carried, tick=tick)
            if gone:
                newest = db.one("newest_visible", thread=thread)
                db.run("move_head", thread=thread, n=None if newest is None else newest[0])
            hidden += gone
        if not hidden:
            return None
        db.run("soil_family", family=family, rows=hidden)
        return self._shed(db, family, session)

    def _take_tick(self, db: Connection, session: int) -> int:
        """A number of its own tells forks that were taken before from those taken after."""
        row = db.one("advance_tick", id=session)
        if row is None:
            raise StaleError
        tick: int = row[0]
        return tick

    def stop_showing_base(self, db: Connection, session: int) -> None:
        """Take what a fork inherits out of its view, but for heads that it has no row of its own
        for. The caller holds the session, and takes a tick of it."""
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
        db.run("hide_base", id=session)

    # -- what goes for good -------------------------------------------------------------------

    def release(self, session: int) -> dict[int, Removed]:
        """Remove the rows of a session that nobody needs any more, and of those that it stands on
        as far as that sets them free; what went, by session."""
        gone: dict[int, Removed] = {}
        at: int | None = session
        while at is not None:
            with self._driver.read() as db:
                deleted, base, family, _ = db.one("session_row", id=at)
                doomed = Needs(db, self._terms, self._replayed).doomed(at)
            removed = self.remove(family, at, doomed)
            if removed.rows:
                gone[at] = removed
            buried = bool(deleted) and self.bury(family, at)
            if not removed.rows and not buried and at != session:
                break
            at = base
        return gone

    def remove(self, family: int, session: int, doomed: Doomed) -> Removed:
        """Remove rows that nobody needs, piece by piece."""

        def work(db: Connection, piece: _Piece) -> Removed:
            hold(db, family, session)
            return self._remove_piece(db, family, session, piece)

        removed = Removed()
        for piece in _pieces(doomed):
            removed = removed.plus(self._driver.write(partial(work, piece=piece)))
        return removed

    def bury(self, family: int, session: int) -> bool:
        """Forget what a deleted session had beside its rows, once these have gone. The tombstone
        stays. False when it still has rows."""

        def work(db: Connection) -> bool:
            hold(db, family, session)
            return self._bury(db, family, session)

        buried = self._driver.write(work)
        if buried:
            self.clear_family(family)
        return buried

    def _shed(self, db: Connection, family: int, session: int) -> _Shed:
        """Remove what can go at once. The caller holds the session."""
        deleted, base, _, _ = db.one("session_row", id=session)
        pieces = list(_pieces(Needs(db, self._terms, self._replayed).doomed(session)))
        removed = Removed()
        if pieces:
            removed = self._remove_piece(db, family, session, pieces[0])
        buried = bool(deleted) and len(pieces) < 2 and self._bury(db, family, session)
        return _Shed(removed, family, base, len(pieces) > 1, buried)

    def _finish(self, session: int, shed: _Shed) -> dict[int, Removed]:
        """Remove the rest, and what that sets free below; what went, by session."""
        gone: dict[int, Removed] = {}
        if shed.unfinished:
            gone = self.release(session)
        elif shed.base is not None:
            gone = self.release(shed.base)
        if shed.buried:
            self.clear_family(shed.family)
        if shed.removed.rows:
            gone[session] = gone.get(session, Removed()).plus(shed.removed)
        return gone

    def _remove_piece(self, db: Connection, family: int, session: int, piece: _Piece) -> Removed:
        lengths: list[tuple[int]] = []
        for thread, ns in piece.some:
            members = db.members(ns)
            lengths += db.all("remove_writes", thread=thread, ns=members)
            lengths += db.all("remove_rows", thread=thread, ns=members)
        if piece.whole:
            members = db.members(piece.whole)
            lengths += db.all("remove_threads_writes", threads=members)
            lengths += db.all("remove_threads_rows", threads=members)
        if piece.hollow:
            fresh = Fresh()
            body = empty_body(db, self._terms, fresh)
            metadata = self._terms.metadata_number(db, fresh, {})
        for thread, ns in piece.hollow:
            members = db.members(ns)
            lengths += db.all("remove_writes", thread=thread, ns=members)
            db.run("hollow_rows", thread=thread, ns=members, body=body, metadata=metadata)
            self._terms.note_thread(db, metadata, thread)
        if lengths or piece.hollow:
            db.run("soil_family", family=family, rows=len(lengths) + len(piece.hollow))
            db.run("drop_lost_labels", family=family)
        return Removed(len(lengths), sum(length for (length,) in lengths))

    def _bury(self, db: Connection, family: int, session: int) -> bool:
        threads = [thread for thread, _, _ in db.all("threads", session=session)]
        members = db.members(threads)
        if db.one("holds_rows", session=session) is not None:
            # What forks do not see of it can go all the same.
            cut = db.one("last_cut", session=session)[0]
            late = db.all("remove_late_writes", threads=members, cut=cut or 0)
            late += db.all("remove_late_waiting", threads=members, cut=cut or 0)
            if late:
                db.run("soil_family", family=family, rows=len(late))
            return False
        waiting = db.all("remove_waiting_writes", threads=members)
        if waiting:
            db.run("soil_family", family=family, rows=len(waiting))
        db.run("forget_notes", threads=members)
        db.run("forget_threads", session=session)
        db.run("delete_labels", session=session)
        db.run("detach_base", id=session)
        if not _inhabited(db, family):
            row = db.one("family_row", family=family)
            if row is not None and row[0] <= _FEW_VALUES:
                _delete_values(db, family, 0, row[0])
                db.run("delete_family", family=family)
        return True

    def clear_family(self, family: int) -> None:
        """Remove the values of a family if none of its sessions holds rows any more."""
        with self._driver.read() as db:
            row = db.one("family_row", family=family)
            if row is None or _inhabited(db, family):
                return
        for start in range(0, row[0], _FEW_VALUES):
            self._driver.write(
                partial(_delete_values, family=family, start=start, stop=start + _FEW_VALUES)
            )
        self._driver.write(lambda db: db.run("delete_family", family=family))


def hold(db: Connection, family: int, session: int) -> None:
    """Keep others from changing a session, and who stands on it, until the transaction ends."""
    db.one("hold_family", family=family)
    db.one("hold_session", id=session)


def _pieces(doomed: Doomed) -> Iterator[_Piece]:
    """Rows to remove, in pieces of a size that one transaction can bear."""
    some: list[tuple[int, tuple[int, ...]]] = []
    whole: list[int] = []
    room = _PIECE
    for thread, part in _parts(doomed.rows):
        if len(part) > room:
            yield _Piece(tuple(some), tuple(whole), ())
            some, whole, room = [], [], _PIECE
        if len(part) == len(doomed.rows[thread]) and thread in doomed.whole:
            # Nobody writes there any more.
            whole.append(thread)
        else:
            some.append((thread, part))
        room -= len(part)
    hollow: list[tuple[int, tuple[int, ...]]] = []
    for thread, part in _parts(doomed.hollow):
        if len(part) > room:
            yield _Piece(tuple(some), tuple(whole), tuple(hollow))
            some, whole, hollow, room = [], [], [], _PIECE
        hollow.append((thread, part))
        room -= len(part)
    if some or whole or hollow:
        yield _Piece(tuple(some), tuple(whole), tuple(hollow))


def _parts(rows: Mapping[int, list[int]]) -> Iterator[tuple[int, tuple[int, ...]]]:
    for thread, ns in rows.items():
        for start in range(0, len(ns), _PIECE):
            yield thread, tuple(ns[start : start + _PIECE])


def _inhabited(db: Connection, family: int) -> bool:
    """Whether anybody is left who could refer to a family's values."""
    return (
        db.one("family_members", family=family) is not None
        or db.one("live_member", family=family) is not None
    )


def _delete_values(db: Connection, family: int, start: int, stop: int) -> None:
    low, high = family << 32 | start, (family << 32) + stop
    db.run("delete_items", low=low, high=high)
    db.run("delete_lists", low=low, high=high)
    db.run("delete_blobs", low=low, high=high)
