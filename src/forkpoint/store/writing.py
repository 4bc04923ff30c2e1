"""Everything that changes the database: each operation is one transaction with its guards.

A put takes a number from its session (which fails when the session was deleted meanwhile), checks
that the parent is there, stores what is new, and moves the head, all or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ormsgpack import packb, unpackb

from forkpoint.errors import (
    CheckpointNotFoundError,
    ConflictError,
    SessionDeletedError,
)
from forkpoint.store.adopting import Adopter
from forkpoint.store.cells import Reference, Vault
from forkpoint.store.clock import made_at
from forkpoint.store.driver import Connection, Driver, repeatable
from forkpoint.store.lineage import INHERITED_ROOT, Lineage
from forkpoint.store.lookup import Lookup
from forkpoint.store.records import (
    WAITING_FOR_ROOT,
    NewCheckpoint,
    NewWrite,
    Row,
    cid_bytes,
    cid_text,
)
from forkpoint.store.rows import (
    checkpoint_body,
    read_checkpoint,
    task_bytes,
    versions_and_references,
    write_body,
)
from forkpoint.store.sessions import SessionChangedError, Sessions
from forkpoint.store.standing import (
    Identity,
    Pool,
    SessionFacts,
    Spot,
    Standing,
    ThreadFacts,
    with_row,
)
from forkpoint.store.terms import Fresh, Remembered, Terms
from forkpoint.store.values import Placing, Plan, Values

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Stored:
    """What a write has done: remembered when it is durable."""

    facts: SessionFacts
    placing: Placing
    references: dict[str, Reference] | None
    """Of a checkpoint; None when nothing was written, or no checkpoint was."""


@dataclass(frozen=True, slots=True)
class _Parent:
    """What a put needs to know of its parent."""

    versions: dict[str, Any]
    references: dict[str, Reference]


_NO_PARENT = _Parent({}, {})
_NEW_POOL = Pool(0, 0)
"""Of a session that is not there yet: nothing is remembered in it."""


class Writer:
    """The write operations of one database."""

    def __init__(
        self, driver: Driver, sessions: Sessions, terms: Terms, values: Values, lineage: Lineage
    ) -> None:
        self._driver = driver
        self._sessions = sessions
        self._terms = terms
        self._values = values
        self._lineage = lineage
        self._lookup = Lookup(lineage)
        self._adopter = Adopter(sessions, terms, lineage)
        self._parents: Remembered[tuple[int, str, str], _Parent] = Remembered(2_000)

    # -- checkpoints --------------------------------------------------------------------------

    def put(self, name: str, namespace: str, new: NewCheckpoint, vault: Vault) -> None:
        """Store a checkpoint and make it the head of its namespace.

        Raises `CheckpointNotFoundError` when the parent is not there, `SessionDeletedError` when
        the session was deleted under the writer, `ConflictError` when the id is taken by another
        checkpoint. The same checkpoint put again changes nothing.
        """
        self._again(lambda: self._put_planned(name, namespace, new, vault))

    def _again(self, attempt: Callable[[], T]) -> T:
        while True:
            try:
                return attempt()
            except SessionChangedError:
                continue

    def _put_planned(self, name: str, namespace: str, new: NewCheckpoint, vault: Vault) -> None:
        known = self._sessions.known(name)
        parent = _NO_PARENT
        if known is not None and new.parent is not None:
            parent = self._parent(name, known.session, namespace, new.parent)
        kept: dict[str, Reference] = {}
        plans: dict[str, Plan] = {}
        for channel, value in new.values.items():
            before = parent.references.get(channel)
            if (
                before is not None
                and channel not in new.changed
                and parent.versions.get(channel) == new.versions.get(channel)
            ):
                kept[channel] = before
            else:
                plans[channel] = self._plan(known, new.encode(channel, value), before, vault)

        def insert(db: Connection) -> _Stored:
            return self._insert(db, name, namespace, known, new, kept, plans, vault)

        def remember(stored: _Stored) -> None:
            self._remember(name, stored, vault)
            if stored.references is not None:
                key = (stored.facts.identity.session, namespace, new.id)
                versions = dict(new.versions)
                self._parents.remember(key, _Parent(versions, stored.references))

        self._driver.write(insert, remember, quick=True)

    def _remember(self, name: str, stored: _Stored, vault: Vault) -> None:
        self._terms.committed(stored.placing.fresh)
        self._values.committed(stored.facts.identity.pool, stored.placing, vault)
        self._sessions.remember(name, stored.facts)

    @repeatable
    def _plan(self, known: Identity | None, value: Any, before: Reference, vault: Vault) -> Plan:
        pool = known.pool if known is not None else _NEW_POOL
        plan = self._values.plan(None, pool, value, before, vault)
        if plan is None:
            with self._driver.read() as db:
                plan = self._values.plan(db, pool, value, before, vault)
        assert plan is not None
        return plan

    def _insert(
        self,
        db: Connection,
        name: str,
        namespace: str,
        known: Identity | None,
        new: NewCheckpoint,
        kept: dict[str, Reference],
        plans: dict[str, Plan],
        vault: Vault,
    ) -> _Stored:
        placing = Placing(Fresh())
        cid = cid_bytes(new.id)
        standing = self._sessions.stand(db, name)
        if standing is None:
            begins = new.parent is None and not namespace
            standing = self._sessions.begin(db, name, known, lambda _: begins)
        else:
            self._sessions.expect(name, known, standing.facts.identity)
        session = standing.facts.identity.session
        at = self._thread_to_put(db, standing, namespace, new)
        taken = None if standing.remembered else db.one("row_of", cid=cid, thread=at.thread)
        if taken is not None:
            self._require_same(
                db, name, standing.facts.identity.pool, at.thread, taken[0], new, vault
            )
            return _Stored(self._sessions.left(db, name, standing), placing, None)
        n = standing.tick
        parent = parent_thread = lane = turn = None
        if new.parent is not None:
            parent_cid = cid_bytes(new.parent)
            own_parent = standing.spot(db, at, parent_cid)
            if own_parent is not None:
                parent, turn = own_parent.n, own_parent.turn
                lane = own_parent.lane if parent == at.newest else None
            else:
                found = self._lookup.find(db, session, namespace, at.thread, parent_cid)
                if found is None:
                    raise self._no_parent(db, name, namespace, new)
                parent, parent_thread = found.n, found.thread
        lane = n if lane is None else lane
        turn = n if new.begins_turn else turn
        references = dict(kept)
        for channel, plan in plans.items():
            references[channel] = self._values.place(
                db, standing.facts.identity.pool, plan, vault, placing
            )
        root = None
        if namespace and new.root is not None:
            root = self._root_row(db, standing, at.thread, new.root)
        body = checkpoint_body(db, self._terms, placing.fresh, new, references)
        metadata = self._terms.metadata_number(db, placing.fresh, new.metadata)
        if metadata not in at.noted:
            self._terms.note_thread(db, metadata, at.thread)
        db.run(
            "insert_checkpoint",
            thread=at.thread,
            n=n,
            cid=cid,
            lane=lane,
            parent=parent,
            parent_thread=parent_thread,
            root=root,
            step=new.step,
            turn=turn,
            metadata=metadata,
            size=placing.size + len(body),
            body=body,
        )
        db.run("move_head", thread=at.thread, n=n)
        if at.waiting:
            self._admit_early(db, at.thread, cid, n)
            at = at._replace(waiting=db.one("waiting", thread=at.thread) is not None)
        standing.wrote(namespace, with_row(at, cid, Spot(n, lane, turn), metadata))
        facts = self._sessions.left(db, name, standing)
        db.placed.append(placing)
        return _Stored(facts, placing, references)

    def _thread_to_put(
        self, db: Connection, standing: Standing, namespace: str, new: NewCheckpoint
    ) -> ThreadFacts:
        """The thread that a checkpoint goes to, made if it is not there."""
        # A subgraph's namespace is mostly new when its first checkpoint comes: a draft takes it so.
        seems_new = db.drafting and new.parent is None and namespace not in standing.facts.threads
        at = None if seems_new else standing.thread(db, namespace)
        if at is None:
            session = standing.facts.identity.session
            at = ThreadFacts(self._sessions.new_thread(db, session, namespace), None, False)
        return at

    def _require_same(
        self,
        db: Connection,
        name: str,
        pool: Pool,
        thread: int,
        n: int,
        new: NewCheckpoint,
        vault: Vault,
    ) -> None:
        row = Row(*db.one("row", thread=thread, n=n))
        there = read_checkpoint(db, self._terms, row, session=name, namespace="", inherited=False)
        cells = self._values.fetch(db, pool, there.references.values(), vault)
        parent = None
        if row.parent is not None:
            of = row.parent_thread or thread
            identity = db.one("identity", thread=of, n=row.parent)
            parent = new.parent if identity is None else cid_text(identity[0])
        same = (
            parent == new.parent
            and there.versions == dict(new.versions)
            and there.step == new.step
            and there.seen == {node: dict(seen) for node, seen in new.seen.items()}
            and there.metadata == new.metadata
            and all(
                channel in there.references
                and cells.resolve(there.references[channel]) == new.encode(channel, value)
                for channel, value in new.values.items()
            )
        )
        if not same:
            raise ConflictError(
                f"session {name!r} already has a checkpoint {new.id!r} with another content; "
                "checkpoints do not change. Nothing was written"
            )

    def _no_parent(
        self, db: Connection, name: str, namespace: str, new: NewCheckpoint
    ) -> Exception:
        if db.one("was_deleted", name=name) is not None:
            return SessionDeletedError(
                f"session {name!r} was deleted while a run was still writing: checkpoint "
                f"{new.id!r} follows {new.parent!r}, which is gone. Nothing was written"
            )
        where = f" in namespace {namespace!r}" if namespace else ""
        return CheckpointNotFoundError(
            f"session {name!r} has no checkpoint {new.parent!r}{where}, which checkpoint "
            f"{new.id!r} names as its parent. Nothing was written"
        )

    def _root_row(self, db: Connection, standing: Standing, thread: int, root: str) -> int | None:
        session = standing.facts.identity.session
        at = standing.thread(db, "")
        if at is None:
            at = ThreadFacts(self._sessions.new_thread(db, session, ""), None, False)
        cid = cid_bytes(root)
        known = at.spots.get(cid)
        if known is not None:
            return known.n
        found = db.one("row_of", cid=cid, thread=at.thread)
        if found is not None:
            number: int = found[0]
            return number
        if self._lookup.find(db, session, "", None, cid) is not None:
            return INHERITED_ROOT
        # LangGraph saves a root and its subgraph's checkpoints side by side: the root may be late.
        db.run(
            "insert_early",
            thread=at.thread,
            cid=cid,
            w=standing.tick,
            task=WAITING_FOR_ROOT,
            body=packb([thread, standing.tick]),
        )
        standing.wrote("", at._replace(waiting=True))
        return None

    def _admit_early(self, db: Connection, thread: int, cid: bytes, n: int) -> None:
        for w, task, body in db.all("early_writes", thread=thread, cid=cid):
            if task == WAITING_FOR_ROOT:
                sub_thread, sub_n = unpackb(body)
                db.run("set_root", thread=sub_thread, n=sub_n, root=n)
            else:
                db.run("insert_pending", thread=thread, n=n, w=w, task=task, body=body)
        db.run("delete_early", thread=thread, cid=cid)

    # -- writes -------------------------------------------------------------------------------

    def put_writes(
        self,
        name: str,
        namespace: str,
        checkpoint_id: str,
        task_id: str,
        task_path: str,
        writes: Sequence[NewWrite],
        vault: Vault,
        *,
        done: Callable[[BaseException | None], None] | None = None,
    ) -> None:
        """Store the writes of a task on a checkpoint, which may not be here yet.

        With `done` the call returns at once, the writes join the next transaction of this
        process, and `done` is called when they are durable or have failed.
        Raises `SessionDeletedError` when the session was deleted under the writer.
        """

        def insert(db: Connection) -> _Stored:
            return self._insert_writes(
                db, name, namespace, checkpoint_id, task_id, task_path, writes, vault
            )

        def remember(stored: _Stored) -> None:
            self._remember(name, stored, vault)

        if done is not None:
            self._driver.write_with_next(insert, remember, done)
        else:
            self._driver.write(insert, remember, quick=True)

    def _insert_writes(
        self,
        db: Connection,
        name: str,
        namespace: str,
        checkpoint_id: str,
        task_id: str,
        task_path: str,
        writes: Sequence[NewWrite],
        vault: Vault,
    ) -> _Stored:
        placing = Placing(Fresh())
        cid = cid_bytes(checkpoint_id)
        standing = self._sessions.stand(db, name)
        if standing is None:
            # A write may overtake the first put of a thread whose id is used again.
            standing = self._sessions.begin(
                db, name, None, lambda deleted: made_at(checkpoint_id) > deleted
            )
        session = standing.facts.identity.session
        at = standing.thread(db, namespace)
        if at is None:
            at = ThreadFacts(self._sessions.new_thread(db, session, namespace), None, False)
        pool = standing.facts.identity.pool
        placed = [
            (
                write.position,
                write.channel,
                self._values.place(db, pool, write.value, vault, placing),
            )
            for write in writes
        ]
        body = write_body(db, self._terms, placing.fresh, task_path, placed)
        task = task_bytes(task_id)
        known = at.spots.get(cid)
        if known is None:
            row = db.one("row_of", cid=cid, thread=at.thread)
            n = None if row is None else row[0]
        else:
            n = known.n
        w = standing.tick
        if n is None and namespace:
            inherited = self._adopter.inherited_head(db, session, at.thread, namespace)
            found = self._lookup.find(db, session, namespace, None, cid)
            if inherited is not None and inherited == found:
                n = self._adopter.adopt(db, session, at.thread, inherited, placing.fresh)
                standing.facts = standing.facts._replace(threads={})
                standing.tick = w = self._sessions.take_tick(db, session)
        if n is not None:
            db.run("insert_pending", thread=at.thread, n=n, w=w, task=task, body=body)
        else:
            db.run("insert_early", thread=at.thread, cid=cid, w=w, task=task, body=body)
            standing.wrote(namespace, at._replace(waiting=True))
        if namespace not in standing.facts.threads and standing.facts.threads:
            standing.wrote(namespace, at)
        facts = self._sessions.left(db, name, standing)
        db.placed.append(placing)
        return _Stored(facts, placing, None)

    @repeatable
    def _parent(self, name: str, session: int, namespace: str, checkpoint_id: str) -> _Parent:
        """A parent's channels, for comparing; whether it still is there is checked when writing."""
        key = (session, namespace, checkpoint_id)
        known = self._parents.get(key)
        if known is None:
            with self._driver.read() as db:
                found = self._lookup.find(
                    db,
                    session,
                    namespace,
                    self._sessions.existing_thread(db, session, namespace),
                    cid_bytes(checkpoint_id),
                )
                if found is None:
                    return _NO_PARENT
                row = Row(*db.one("row", thread=found.thread, n=found.n))
                known = _Parent(*versions_and_references(db, self._terms, row.body))
            self._parents.remember(key, known)
        return known
