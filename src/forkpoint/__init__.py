"""Forkpoint: sessions that fork and travel in time, for AI agents.

    import forkpoint as fp

    store = fp.open("sqlite:///agent.db")
    graph = builder.compile(checkpointer=store.saver())
    tt = fp.TimeTravel(graph)
    fork = tt.fork("session", checkpoint_id)

Everything public is here; the modules below make no promise.
"""

from forkpoint.errors import (
    AmbiguousNodeError,
    CapabilityError,
    CheckpointNotFoundError,
    ConflictError,
    DatabaseBusyError,
    DatabaseError,
    DeltaHistoryError,
    DeserializationError,
    DestinationNotEmptyError,
    ForkpointError,
    ForkVerificationError,
    GraphChangedError,
    InvalidArgumentError,
    NewerDatabaseError,
    NoCheckpointError,
    NotAForkpointDatabaseError,
    NotFoundError,
    SerializationError,
    SessionDeletedError,
    SessionNotFoundError,
    StoreClosedError,
    UnknownNodeError,
)
from forkpoint.model import (
    Ancestors,
    ChannelChange,
    CheckpointRef,
    Comparison,
    Fork,
    Forkability,
    ForkOrigin,
    ForkPlan,
    InterruptRecord,
    MessageChange,
    PendingPolicy,
    PendingTask,
    PendingWrite,
    SnapshotConfig,
    SnapshotMetadata,
    StateSnapshot,
    TimelineEntry,
    Write,
)
from forkpoint.opening import Store
from forkpoint.opening import open_store as open
from forkpoint.saver import ForkOutcome, ForkpointSaver
from forkpoint.store.records import SessionSummary
from forkpoint.timetravel import TimeTravel

__version__ = "0.1.0"

__all__ = [
    "AmbiguousNodeError",
    "Ancestors",
    "CapabilityError",
    "ChannelChange",
    "CheckpointNotFoundError",
    "CheckpointRef",
    "Comparison",
    "ConflictError",
    "DatabaseBusyError",
    "DatabaseError",
    "DeltaHistoryError",
    "DeserializationError",
    "DestinationNotEmptyError",
    "Fork",
    "ForkOrigin",
    "ForkOutcome",
    "ForkPlan",
    "ForkVerificationError",
    "Forkability",
    "ForkpointError",
    "ForkpointSaver",
    "GraphChangedError",
    "InterruptRecord",
    "InvalidArgumentError",
    "MessageChange",
    "NewerDatabaseError",
    "NoCheckpointError",
    "NotAForkpointDatabaseError",
    "NotFoundError",
    "PendingPolicy",
    "PendingTask",
    "PendingWrite",
    "SerializationError",
    "SessionDeletedError",
    "SessionNotFoundError",
    "SessionSummary",
    "SnapshotConfig",
    "SnapshotMetadata",
    "StateSnapshot",
    "Store",
    "StoreClosedError",
    "TimeTravel",
    "TimelineEntry",
    "UnknownNodeError",
    "Write",
    "open",
]
