"""The values that Forkpoint's parts hand to each other: frozen, no I/O, no LangGraph.

A checkpoint's address is a pair, `CheckpointRef`: a fork's first checkpoint keeps the id of the
checkpoint it was taken from, so an id alone does not say which session is meant.

Everything here is a plain dataclass. Mappings and sequences inside are not copied when a
value is built; treat them as read-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

PendingPolicy = Literal["auto", "reask", "keep", "drop"]
"""What becomes of the writes on a fork point.

- ``auto``: all of them at a live head (no child yet), otherwise only the open question;
- ``reask``: only the open question (recorded answers and results are left behind);
- ``keep``: recorded results too, but never an answer (``__resume__``);
- ``drop``: none.
"""

Ancestors = int | Literal["turn", "all"]
"""How much history a copied fork takes along: a number of checkpoints, the whole, or back to
the checkpoint before the last input. On Forkpoint's own store history is inherited by reference
and this has no effect."""


@dataclass(frozen=True, slots=True)
class CheckpointRef:
    """The address of a checkpoint: `(session_id, checkpoint_id)`.

    >>> CheckpointRef("s1", "1ef4f797-8335-6428-8001-8a1503f9b875").session_id
    's1'
    """

    session_id: str
    checkpoint_id: str


@dataclass(frozen=True, slots=True)
class Write:
    """One update for `bulk_update_state`: what `node` would have returned.

    >>> Write("summary", {"text": "short"}).node
    'summary'
    """

    node: str
    values: Any = None


@dataclass(frozen=True, slots=True)
class PendingTask:
    """A task of the checkpoint's next superstep."""

    id: str
    name: str
    input: Any = None


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """A write stored on a checkpoint, waiting to be applied by the next superstep."""

    task_id: str
    channel: str
    value: Any


@dataclass(frozen=True, slots=True)
class InterruptRecord:
    """An open question: LangGraph's interrupt id, what it asks, and the namespaces it is in."""

    id: str
    value: Any
    node: str | None = None


@dataclass(frozen=True, slots=True)
class ForkOrigin:
    """Where a fork came from; stays readable when the source has gone."""

    session_id: str
    checkpoint_id: str
    at: str
    """When the fork was taken, ISO-8601, UTC."""
    by: str | None = None
    reason: str | None = None
    run_id: str | None = None
    """The run that wrote the fork point. Not carried into the fork's own metadata: LangGraph
    would take the fork's first input for a re-entry of that run and ignore it."""

    @property
    def ref(self) -> CheckpointRef:
        return CheckpointRef(self.session_id, self.checkpoint_id)


@dataclass(frozen=True, slots=True)
class SnapshotConfig:
    """Where a snapshot was read."""

    session_id: str
    checkpoint_id: str
    thread_id: str
    namespace: str = ""

    @property
    def ref(self) -> CheckpointRef:
        return CheckpointRef(self.session_id, self.checkpoint_id)


@dataclass(frozen=True, slots=True)
class SnapshotMetadata:
    """What is known about a checkpoint besides its state."""

    step: int
    timestamp: str
    """ISO-8601."""
    source: str
    """``input loop update fork rollback bulk_update``."""
    written_by: str | None = None
    """The node, nodes (comma separated) or trigger whose writes made this checkpoint."""
    parents: tuple[str, ...] = ()
    """Checkpoint ids. On a fork's first checkpoint the one id is the source's, in another session
    (`forked_from` names it)."""
    forked_from: CheckpointRef | None = None
    last_event_sequence: int | None = None
    """None on checkpoints from before the cursor existed: readers then skip nothing."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else the checkpointer stored."""


@dataclass(frozen=True, slots=True)
class StateSnapshot:
    """What a reader sees of a checkpoint."""

    values: Mapping[str, Any]
    pending_tasks: tuple[PendingTask, ...]
    pending_writes: tuple[PendingWrite, ...]
    metadata: SnapshotMetadata
    config: SnapshotConfig
    next: tuple[str, ...] = ()
    channel_versions: Mapping[str, int | float | str] = field(default_factory=dict)
    manifest: Any = None
    interrupts: tuple[InterruptRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One checkpoint of a timeline: everything but its values."""

    session_id: str
    checkpoint_id: str
    parent_id: str | None
    step: int
    source: str
    timestamp: str
    nodes: tuple[str, ...] = ()
    """The nodes whose superstep made this checkpoint."""
    title: str | None = None
    """The text of the user message that began the turn this checkpoint belongs to, shortened."""
    size: int | None = None
    """Bytes that this checkpoint added to the database; None where the checkpointer cannot say."""
    children: int = 0
    """Checkpoints that follow this one directly, forks not counted."""
    forks: int = 0
    """Sessions forked from this checkpoint; 0 where the checkpointer keeps no lineage."""
    inherited: bool = False
    """True when the checkpoint belongs to an ancestor session and is read through."""


@dataclass(frozen=True, slots=True)
class MessageChange:
    """A message that differs between two checkpoints."""

    id: str
    kind: Literal["added", "removed", "edited"]
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True)
class ChannelChange:
    """A channel that differs between two checkpoints."""

    channel: str
    kind: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None
    messages: tuple[MessageChange, ...] = ()
    """For lists of messages: aligned by id. Empty for any other value."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What lies between two checkpoints."""

    before: CheckpointRef
    after: CheckpointRef
    common_ancestor: CheckpointRef | None
    changes: tuple[ChannelChange, ...]

    @property
    def same(self) -> bool:
        """True when no channel differs."""
        return not self.changes


@dataclass(frozen=True, slots=True)
class Forkability:
    """Whether a checkpoint can be forked, and what would be lost."""

    verdict: Literal["yes", "with_loss", "no"]
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """What a fork would do, found without doing it."""

    source: CheckpointRef
    destination: str | None
    pending: PendingPolicy
    """The policy as resolved: never ``auto`` unless the fork point is a live head."""
    superseded: bool
    """True when the source has gone on past the fork point."""
    checkpoints: int
    """Checkpoints to write in the destination, the fork point included."""
    writes: int
    """Pending writes to carry."""
    namespaces: tuple[str, ...]
    """Sub-namespaces that go along."""
    bytes: int | None
    """Bytes to write, where the checkpointer can say."""
    delta_chain: int
    """Ancestors that must be taken along for delta channels (0: none needed)."""
    interrupts: tuple[InterruptRecord, ...]
    """Questions that will be open in the fork."""
    rerun: tuple[str, ...]
    """Nodes of the fork point that will run (again) in the fork."""
    effects: tuple[Any, ...] = ()
    """Ledger entries after the fork point: effects that stand."""


@dataclass(frozen=True, slots=True)
class Fork:
    """A fork that was made."""

    session_id: str
    checkpoint_id: str
    forked_from: ForkOrigin
    snapshot: StateSnapshot
    created: bool = True
    """False when `request_id` named a fork that existed already."""

    @property
    def ref(self) -> CheckpointRef:
        return CheckpointRef(self.session_id, self.checkpoint_id)
