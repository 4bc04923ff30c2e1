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
from forkpoint.store.driver import Connection, Driver
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
from forkpoint.store.terms import Fresh, Remembered, Terms
from forkpoint.store.values import Placing, Plan, Values

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Parent:
    """What a put needs to know of its parent."""

    versions: dict[str, Any]
    references: dict[str, Reference]


_NO_PARENT = _Parent({}, {})


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
            parent = self._parent(name, known[0], namespace, new.parent)
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
        fresh = Fresh()
        placing = Placing(fresh)

        stored: list[tuple[int, int, dict[str, Reference]]] = []

        def insert(db: Connection) -> None:
            done = self._insert(db, name, namespace, known, new, kept, plans, vault, placing)
            if done is not None:
                stored.append(done)
                db.placed.append(placing)

        def remember() -> None:
            for session, family, references in stored:
                self._terms.committed(fresh)
                self._values.committed(family, placing, vault)
                self._sessions.remember(name, session, family)
                self._parents.remember(
                    (session, namespace, new.id), _Parent(dict(new.versions), references)
                )

        self._driver.write(insert, remember)

    def _plan(
        self, known: tuple[int, int] | None, value: Any, before: Reference, vault: Vault
    ) -> Plan:
        family = known[1] if known is not None else 0
        plan = self._values.plan(None, family, value, before, vault)
        if plan is None:
            with self._driver.read() as db:
                plan = self._values.plan(db, family, value, before, vault)
        assert plan is not None
        return plan

    def _insert(
        self,
        db: Connection,
        name: str,
        namespace: str,
        known: tuple[int, int] | None,
        new: NewCheckpoint,
        kept: dict[str, Reference],
        plans: dict[str, Plan],
        vault: Vault,
        placing: Placing,
    ) -> tuple[int, int, dict[str, Reference]] | None:
        cid = cid_bytes(new.id)
        parent_cid = None if new.parent is None else cid_bytes(new.parent)
        where = db.one("where_to_put", name=name, namespace=namespace, cid=cid, parent=parent_cid)
        if where is None:
            begins = new.parent is None and not namespace
            session = family = self._sessions.begin(db, name, known, lambda _: begins)
            thread = taken = own_parent = newest = early = None
        else:
            session, family, thread, taken, *own_parent, newest, early = where
            self._sessions.expect(name, known, (session, family))
        if thread is None:
            thread = self._sessions.new_thread(db, session, namespace)
        if taken is not None:
            self._require_same(db, name, family, thread, taken, new, vault)
            return None
        parent = parent_thread = lane = turn = None
        if parent_cid is not None:
            if own_parent is not None and own_parent[0] is not None and own_parent[2] == 0:
                parent, turn = own_parent[0], own_parent[3]
                lane = own_parent[1] if parent == newest else None
            else:
                found = self._lookup.find(db, session, namespace, thread, parent_cid)
                if found is None:
                    raise self._no_parent(db, name, namespace, new)
                parent, parent_thread = found.n, found.thread
        n = self._sessions.take_tick(db, session)
        references = dict(kept)
        for channel, plan in plans.items():
            references[channel] = self._values.place(db, family, plan, vault, placing)
        root = None
        if namespace and new.root is not None:
            root = self._root_row(db, session, thread, n, new.root)
        body = checkpoint_body(db, self._terms, placing.fresh, new, references)
        metadata = self._terms.metadata_number(db, placing.fresh, new.metadata)
        self._terms.note_thread(db, placing.fresh, metadata, thread)
        db.run(
            "insert_checkpoint",
            thread=thread,
            n=n,
            cid=cid,
            lane=n if lane is None else lane,
            parent=parent,
            parent_thread=parent_thread,
            root=root,
            step=new.step,
            turn=n if new.begins_turn else turn,
            metadata=metadata,
            size=placing.size + len(body),
            body=body,
        )
        db.run("move_head", thread=thread, n=n)
        if early is not None:
            self._admit_early(db, thread, cid, n)
        return session, family, references

    def _require_same(
        self,
        db: Connection,
        name: str,
        family: int,
        thread: int,
        n: int,
        new: NewCheckpoint,
        vault: Vault,
    ) -> None:
        row = Row(*db.one("row", thread=thread, n=n))
        there = read_checkpoint(db, self._terms, row, session=name, namespace="", inherited=False)
        cells = self._values.fetch(db, family, there.references.values(), vault)
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

    def _root_row(self, db: Connection, session: int, thread: int, n: int, root: str) -> int | None:
        root_thread = self._sessions.thread(db, session, "")
        cid = cid_bytes(root)
        found = db.one("find_checkpoint", cid=cid, thread=root_thread)
        if found is not None:
            number: int = found[0]
            return number
        if self._lookup.find(db, session, "", None, cid) is not None:
            return INHERITED_ROOT
        # LangGraph saves a root and its subgraph's checkpoints side by side: the root may be late.
        db.run(
            "insert_early",
            thread=root_thread,
            cid=cid,
            w=n,
            task=WAITING_FOR_ROOT,
            body=packb([thread, n]),
        )
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
        fresh = Fresh()
        placing = Placing(fresh)
        families: list[int] = []

        def insert(db: Connection) -> None:
            cid = cid_bytes(checkpoint_id)
            where = db.one("where_to_write", name=name, namespace=namespace, cid=cid)
            if where is None:
                # A write may overtake the first put of a thread whose id is used again.
                session = family = self._sessions.begin(
                    db, name, None, lambda deleted: made_at(checkpoint_id) > deleted
                )
                thread = n = None
            else:
                session, family, thread, n = where
            families.append(family)
            if thread is None:
                thread = self._sessions.new_thread(db, session, namespace)
            placed = [
                (
                    write.position,
                    write.channel,
                    self._place_write(db, family, write, vault, placing),
                )
                for write in writes
            ]
            body = write_body(db, self._terms, fresh, task_path, placed)
            task = task_bytes(task_id)
            if n is None and namespace:
                inherited = self._adopter.inherited_head(db, session, thread, namespace)
                found = self._lookup.find(db, session, namespace, None, cid)
                if inherited is not None and inherited == found:
                    n = self._adopter.adopt(db, session, thread, inherited, fresh)
            w = self._sessions.take_tick(db, session)
            if n is not None:
                db.run("insert_pending", thread=thread, n=n, w=w, task=task, body=body)
            else:
                db.run("insert_early", thread=thread, cid=cid, w=w, task=task, body=body)
            db.placed.append(placing)

        def remember() -> None:
            self._terms.committed(fresh)
            self._values.committed(families[0], placing, vault)

        if done is not None:
            self._driver.write_with_next(insert, remember, done)
        else:
            self._driver.write(insert, remember)

    def _place_write(
        self, db: Connection, family: int, write: NewWrite, vault: Vault, placing: Placing
    ) -> Reference:
        return self._values.place(db, family, write.value, vault, placing)

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
