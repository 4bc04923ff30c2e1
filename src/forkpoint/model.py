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


@dataclass(frozen=True, slots=True)
class Label:
    """A name for a checkpoint of a session, usable wherever its id is."""

    name: str
    checkpoint_id: str
    created: str
    """When the name was given, ISO-8601, UTC."""
    inherited: bool = False
    """True when a session that this one was forked from gave the name, before the fork."""


@dataclass(frozen=True, slots=True)
class DeletionReport:
    """What a deletion took away, and what goes on without it."""

    session_id: str
    deleted: tuple[str, ...]
    """Sessions, in the order in which they were deleted."""
    kept: tuple[str, ...] = ()
    """Sessions forked from a deleted one, which keep all that they read through it."""


@dataclass(frozen=True, slots=True)
class DetachReport:
    """What became of a session that was to stand on its own."""

    session_id: str
    detached: bool
    """False when it stood on its own already: nothing was changed."""
    checkpoints: int
    """Rows that it read through its source before, and has itself now."""
    writes: int


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What went into an archive."""

    session_id: str
    path: str
    checkpoints: int
    """Of all namespaces; those that a fork inherits are its own in the archive."""
    writes: int
    values: int
    """Shared values, each once."""
    bytes: int
    """Of the file."""
    sha256: str
    """The checksum that the file ends with, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What came out of an archive."""

    session_id: str
    exported_as: str
    """The session's id where it was exported."""
    checkpoints: int
    writes: int
    values: int
    bytes: int
    """Of the file."""
    sha256: str
    forked_from: ForkOrigin | None = None
    skipped: tuple[str, ...] = ()
    """Parts that a newer version wrote, and that can be left out."""


@dataclass(frozen=True, slots=True)
class RefusedThread:
    """A thread that was not brought in, or is not known to be there as it was."""

    thread_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class StockImport:
    """What was brought in from the database of one of LangGraph's savers."""

    threads: int
    """Threads that are there now, each compared with its source."""
    checkpoints: int
    """Written now."""
    writes: int
    """Pending writes that were written now."""
    already_there: int
    """Checkpoints that an earlier import had brought."""
    without_parent: int
    """Checkpoints whose parent the source no longer has; here they have none."""
    refused: tuple[RefusedThread, ...]
    seconds: float
    """All in all: reading, writing, and comparing both sides."""

    @property
    def checkpoints_per_second(self) -> float:
        """Of those that were written now."""
        return self.checkpoints / self.seconds if self.seconds else 0.0


FindingKind = Literal[
    "file",
    "value",
    "reference",
    "list",
    "row",
    "lane",
    "parent",
    "history",
    "root",
    "head",
    "early",
    "orphan",
    "family",
    "counter",
    "tick",
    "lineage",
    "label",
    "metadata",
    "unreachable",
    "import",
]
"""What a finding is about; the page about `forkpoint doctor` says what each kind means."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a database that should be otherwise."""

    kind: FindingKind
    severity: Literal["error", "warning", "info"]
    """``error``: something cannot be read, or is read wrongly. ``warning``: nobody reads anything
    wrong yet, but something is left over or missing. ``info``: nothing is wrong."""
    where: str
    text: str
    repairable: bool
    details: Mapping[str, Any] = field(default_factory=dict)
    """Numbers of rows and the like, by which the place is found again."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What an examination of a database found."""

    findings: tuple[Finding, ...]
    sessions: int
    """Sessions examined, deleted ones included."""
    checkpoints: int
    values: int
    """Shared values, each read and compared with its digest."""

    @property
    def sound(self) -> bool:
        """True when there is nothing but what is worth knowing."""
        return all(finding.severity == "info" for finding in self.findings)


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What became of the findings of a diagnosis."""

    repaired: tuple[Finding, ...]
    passed: tuple[Finding, ...]
    """Findings that were not there any more when they were looked at again."""
    remaining: tuple[Finding, ...]
    """Findings that cannot be repaired without guessing what was stored."""


@dataclass(frozen=True, slots=True)
class CollectedSession:
    """What a collection took from a session, or would."""

    session_id: str
    checkpoints: int
    """That left the session's view."""
    rows: int
    """Of checkpoints and of writes, that were removed for good. Fewer than left the view where a
    fork or a delta channel still needs them; more where such a need has ended."""
    bytes: int
    """In these rows. The values they referred to are shared, and counted by family."""


@dataclass(frozen=True, slots=True)
class CollectedFamily:
    """What a collection took from a session, its forks and theirs, which share their values."""

    root: str
    """The session that all of them come from."""
    values: int
    """That nobody refers to any more."""
    bytes: int


@dataclass(frozen=True, slots=True)
class CollectionReport:
    """What a collection did, or, after a dry run, would do."""

    dry_run: bool
    sessions: tuple[CollectedSession, ...]
    """Only those that lost something."""
    families: tuple[CollectedFamily, ...]
    """Those of which rows have gone since they were last swept."""
    given_back: int = 0
    """Bytes by which the database became smaller."""
    free: int | None = None
    """Bytes that it holds for what will be written next; None where that is not known."""

    @property
    def checkpoints(self) -> int:
        """How many left their session's view."""
        return sum(session.checkpoints for session in self.sessions)

    @property
    def rows(self) -> int:
        """How many rows were removed for good."""
        return sum(session.rows for session in self.sessions)

    @property
    def values(self) -> int:
        """How many shared values were removed."""
        return sum(family.values for family in self.families)

    @property
    def bytes(self) -> int:
        """In rows and values together."""
        in_rows = sum(session.bytes for session in self.sessions)
        return in_rows + sum(family.bytes for family in self.families)


@dataclass(frozen=True, slots=True)
class StandingCheckpoint:
    """A checkpoint of an erased session that a fork still reads."""

    checkpoint_id: str
    namespace: str
    forks: tuple[str, ...]
    """The sessions that stand on the erased one, directly or not."""


@dataclass(frozen=True, slots=True)
class HeldValues:
    """What another session holds of an erased one: the same values, which the two shared."""

    session_id: str
    values: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """What an erasure removed, and what is left elsewhere."""

    session_id: str
    rows: int
    """Of checkpoints and of writes, that were removed for good."""
    values: int
    """Removed because nobody else refers to them."""
    bytes: int
    """In these rows and values."""
    held: tuple[HeldValues, ...]
    """By session, what others still hold: forks, and sessions that the erased one came from."""
    standing: tuple[StandingCheckpoint, ...]
    """Checkpoints of the erased session that stay, unseen, because forks read through them."""
    given_back: int
    """Bytes by which the database became smaller."""
    gone: bool
    """Whether what was removed is gone from the database's files too. False when another process
    was reading all the time: it goes when the next erasure or collection comes through."""

    @property
    def complete(self) -> bool:
        """Whether nothing of the session is left anywhere."""
        return self.gone and not self.held and not self.standing
