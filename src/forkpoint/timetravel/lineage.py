"""Where a session came from, and the way back from a checkpoint through its ancestors.

On Forkpoint's own store lineage is data of the store. Elsewhere a fork's first checkpoint carries
it in its metadata, under scalar keys (nested ones are dropped by stock savers), together with a
role: `FORK_POINT` on the checkpoint that was asked for, `ANCESTOR` on history that was copied with
it. Metadata filters find a role by equality of text, which means the same on every saver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from forkpoint.errors import CheckpointNotFoundError, NoCheckpointError, SessionNotFoundError
from forkpoint.model import CheckpointRef, ForkOrigin
from forkpoint.timetravel.requests import Native, Plan, listed, read
from forkpoint.timetravel.setup import Address, Setup

PREFIX = "forkpoint_"
ROLE = "forkpoint_role"
FORK_POINT = "fork_point"
ANCESTOR = "ancestor"
REQUEST_ID = "forkpoint_request_id"
SOURCE_THREAD = "forkpoint_source_thread"
SOURCE_ID = "forkpoint_source_checkpoint"
INNER_ID = "forkpoint_inner_checkpoint"
_ORIGIN_KEYS = {
    "session_id": "forkpoint_source_session",
    "checkpoint_id": SOURCE_ID,
    "at": "forkpoint_at",
    "by": "forkpoint_by",
    "reason": "forkpoint_reason",
    "run_id": "forkpoint_run_id",
}


@dataclass(frozen=True, slots=True)
class Lineage:
    """A session's origin, with what is needed to go there."""

    origin: ForkOrigin
    source: Address
    fork_point: str
    """Id of the fork's first own checkpoint, in its root namespace."""
    request_id: str | None = None
    inner_checkpoint: str | None = None
    """The checkpoint inside a subgraph that was asked for, if it was one."""


@dataclass(frozen=True, slots=True)
class Step:
    """One checkpoint of a path: what can be said of it without its values."""

    address: Address
    checkpoint_id: str
    parent_id: str | None
    source: str
    found: Any = None
    """What the path's `probe` made of the checkpoint."""

    @property
    def ref(self) -> CheckpointRef:
        return CheckpointRef(self.address.session_id, self.checkpoint_id)


def origin_metadata(lineage: Lineage) -> dict[str, str]:
    """`lineage` as scalar metadata for a fork's first checkpoint."""
    metadata = {ROLE: FORK_POINT, SOURCE_THREAD: lineage.source.thread_id}
    for attribute, key in _ORIGIN_KEYS.items():
        value = getattr(lineage.origin, attribute)
        if value is not None:
            metadata[key] = value
    if lineage.request_id is not None:
        metadata[REQUEST_ID] = lineage.request_id
    if lineage.inner_checkpoint is not None:
        metadata[INNER_ID] = lineage.inner_checkpoint
    return metadata


def lineage_of(saved: CheckpointTuple) -> Lineage | None:
    """What a checkpoint's own metadata says of its origin; None unless it is a fork point."""
    metadata: dict[str, Any] = dict(saved.metadata)
    if metadata.get(ROLE) != FORK_POINT:
        return None
    told: dict[str, Any] = {name: metadata.get(key) for name, key in _ORIGIN_KEYS.items()}
    origin = ForkOrigin(**told)
    thread = metadata.get(SOURCE_THREAD, origin.session_id)
    source = Address(origin.session_id, thread)
    return Lineage(
        origin,
        source,
        saved.checkpoint["id"],
        metadata.get(REQUEST_ID),
        metadata.get(INNER_ID),
    )


def find_lineage(setup: Setup, thread_id: str) -> Plan[Lineage | None]:
    """The origin of a session; None when it is not a fork."""
    if setup.native:
        try:
            origin = yield Native("origin", (thread_id,))
        except SessionNotFoundError:
            return None
        if origin is None:
            return None
        return (yield from _native_lineage(setup, thread_id, origin))
    rows = yield from listed(
        thread_id, lineage_of, namespace="", limit=1, filter={ROLE: FORK_POINT}
    )
    return rows[0] if rows else None


def _native_lineage(setup: Setup, thread_id: str, origin: ForkOrigin) -> Plan[Lineage | None]:
    source = setup.address_of_thread(origin.session_id)
    named = ForkOrigin(
        source.session_id,
        origin.checkpoint_id,
        origin.at,
        origin.by,
        origin.reason,
        origin.run_id,
    )
    fork_point = origin.checkpoint_id
    if (yield from read(thread_id, fork_point)) is None:
        # Taken inside a subgraph: the root checkpoint it ran under is the first one here.
        entries = yield Native("timeline", (thread_id,), {"limit": 1_000_000})
        own = [entry.checkpoint_id for entry in entries if not entry.inherited]
        fork_point = own[-1] if own else entries[0].checkpoint_id
    return Lineage(named, source, fork_point)


def require(setup: Setup, address: Address, checkpoint_id: str | None) -> Plan[CheckpointTuple]:
    """One checkpoint of a session, its head when no id is given.

    Raises `NoCheckpointError` for a session without checkpoints, `CheckpointNotFoundError` for an
    id that is not one of the session's.
    """
    saved = yield from read(address.thread_id, checkpoint_id, address.namespace)
    if saved is not None:
        return saved
    where = f" in namespace {address.namespace!r}" if address.namespace else ""
    if checkpoint_id is not None:
        head = yield from read(address.thread_id, None, address.namespace)
        if head is not None:
            raise CheckpointNotFoundError(
                f"session {address.session_id!r} has no checkpoint {checkpoint_id!r}{where}; its "
                f"head is {head.checkpoint['id']!r}. A checkpoint is addressed by session and id"
            )
    asked = f" (checkpoint {checkpoint_id!r} was asked for)" if checkpoint_id else ""
    raise NoCheckpointError(
        f"session {address.session_id!r} has no checkpoint{where}{asked}: run the graph in it, or "
        "fork another session into it"
    )


def path_from(
    setup: Setup,
    address: Address,
    checkpoint_id: str,
    *,
    probe: Callable[[CheckpointTuple], Any] | None = None,
) -> Plan[list[Step]]:
    """The ancestors of a checkpoint, newest first and itself included, across forks.

    Where a copied fork took only part of its history along, the path goes on in the session it came
    from, for as long as that is there. Values are not kept; `probe` may look at them.
    """
    path: list[Step] = []
    wanted: str | None = checkpoint_id
    here = Address(address.session_id, address.thread_id)
    while wanted is not None:
        steps = yield from _outline(setup, here, probe)
        while wanted is not None and wanted in steps:
            step = steps.pop(wanted)
            path.append(step)
            wanted = step.parent_id
        lineage = yield from find_lineage(setup, here.thread_id)
        if lineage is None or not path:
            break
        # The oldest step that was copied is also a checkpoint of the source: go on from there.
        source = yield from read(lineage.source.thread_id, path[-1].checkpoint_id)
        if source is None or lineage.source.thread_id == here.thread_id:
            break
        here, wanted = lineage.source, _parent_id(source)
    return path


def _outline(
    setup: Setup, address: Address, probe: Callable[[CheckpointTuple], Any] | None
) -> Plan[dict[str, Step]]:
    if setup.native and probe is None:
        entries = yield Native("timeline", (address.thread_id,), {"limit": 1_000_000_000})
        return {
            entry.checkpoint_id: Step(address, entry.checkpoint_id, entry.parent_id, entry.source)
            for entry in entries
        }

    def outlined(saved: CheckpointTuple) -> Step:
        found = probe(saved) if probe is not None else None
        source = str(saved.metadata.get("source", ""))
        return Step(address, saved.checkpoint["id"], _parent_id(saved), source, found)

    rows = yield from listed(address.thread_id, outlined)
    return {row.checkpoint_id: row for row in rows}


def _parent_id(saved: CheckpointTuple) -> str | None:
    if saved.parent_config is None:
        return None
    parent: str | None = saved.parent_config["configurable"].get("checkpoint_id")
    return parent


def parent_id(saved: CheckpointTuple) -> str | None:
    """The id of the checkpoint before `saved` in its own thread."""
    return _parent_id(saved)


def origin_of(setup: Setup, address: Address) -> Plan[ForkOrigin | None]:
    """Where a session came from; None when it is not a fork."""
    yield from require(setup, address, None)
    lineage = yield from find_lineage(setup, address.thread_id)
    return lineage.origin if lineage is not None else None
