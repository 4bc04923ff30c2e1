"""What a fork will be, found by reading alone.

A `Draft` names the fork point, says whether the source has gone on past it and which of its
writes go
along, and holds how the fork must read back. Everything that can be refused is refused on it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import Checkpoint, CheckpointTuple, PendingWrite

from forkpoint.errors import ConflictError
from forkpoint.model import Ancestors, PendingPolicy
from forkpoint.timetravel.copying import Progress
from forkpoint.timetravel.lineage import require
from forkpoint.timetravel.requests import Native, Plan, listed, read
from forkpoint.timetravel.selecting import (
    Inside,
    Outline,
    carried_writes,
    inside,
    resolved_policy,
    row,
)
from forkpoint.timetravel.setup import Address, Setup
from forkpoint.timetravel.snapshots import Reading, reading

_REQUESTS = uuid.UUID("6a0f3c0e-7f0e-5d0a-9a55-2f6c1f0b7c11")


@dataclass(frozen=True, slots=True)
class Order:
    """What the caller asked for."""

    source: Address
    checkpoint_id: str | None
    new_session_id: str | None
    pending: PendingPolicy = "auto"
    ancestors: Ancestors = "turn"
    values: Any = None
    as_node: str | None = None
    by: str | None = None
    reason: str | None = None
    request_id: str | None = None
    progress: Progress | None = None

    @property
    def destination_id(self) -> str:
        """The session to create. A repeated request without a name for it means the same one."""
        if self.new_session_id is not None:
            return self.new_session_id
        if self.request_id is not None:
            return str(uuid.uuid5(_REQUESTS, self.request_id))
        return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Draft:
    """What a fork will be."""

    asked: str
    """The checkpoint that was asked for: `root`, or one inside a subgraph."""
    root: str
    """The root checkpoint that becomes the fork's first."""
    within: Inside | None
    superseded: bool
    policy: PendingPolicy
    stored: tuple[PendingWrite, ...]
    """The fork point's writes as they were read."""
    carried: tuple[PendingWrite, ...]
    checkpoint: Checkpoint
    metadata: Mapping[str, Any]
    expected: Reading
    outline: Outline | None
    """None on Forkpoint's own store, which selects for itself."""


def draft(setup: Setup, order: Order) -> Plan[Draft]:
    """The draft of a fork.

    Raises `NoCheckpointError`, `CheckpointNotFoundError`, and `InvalidArgumentError` for a
    checkpoint inside a subgraph that does not say where it stands.
    """
    source = order.source
    root_address = Address(source.session_id, source.thread_id)
    asked = yield from require(setup, source, order.checkpoint_id)
    within = inside(asked, source.namespace) if source.namespace else None
    saved = asked
    if within is not None:
        saved = yield from require(setup, root_address, within.root)
    root = saved.checkpoint["id"]
    outline = None
    if setup.native:
        superseded = bool((yield Native("has_child", (source.thread_id, root), {})))
    else:
        rows = yield from listed(source.thread_id, row, namespace=None)
        outline = Outline.of(rows)
        superseded = outline.has_child("", root)
    policy = resolved_policy(order.pending, superseded, within)
    return (
        yield from drafted(
            setup, asked.checkpoint["id"], saved, within, superseded, policy, outline
        )
    )


def drafted(
    setup: Setup,
    asked: str,
    saved: CheckpointTuple,
    within: Inside | None,
    superseded: bool,
    policy: PendingPolicy,
    outline: Outline | None,
) -> Plan[Draft]:
    """The draft of a fork at `saved`, once it is known what goes along."""
    stored = tuple(saved.pending_writes or ())
    before = stored if within is None else within.writes_before("", saved.checkpoint["id"], stored)
    carried = carried_writes(before, policy)
    # Reading a checkpoint uses its values up, so what is compared and copied is read separately.
    spare = yield from read(saved.config["configurable"]["thread_id"], saved.checkpoint["id"])
    if spare is None:
        raise ConflictError(f"checkpoint {saved.checkpoint['id']!r} was deleted while it was read")
    own = tuple(spare.pending_writes or ())
    if within is not None:
        own = tuple(within.writes_before("", saved.checkpoint["id"], own))
    spare = spare._replace(pending_writes=carried_writes(own, policy))
    expected = yield from reading(setup, spare, live=True)
    return Draft(
        asked=asked,
        root=saved.checkpoint["id"],
        within=within,
        superseded=superseded,
        policy=policy,
        stored=stored,
        carried=tuple(carried),
        checkpoint=saved.checkpoint,
        metadata=dict(saved.metadata),
        expected=expected,
        outline=outline,
    )
