"""One tree of errors: everything Forkpoint raises on purpose is a `ForkpointError`.

A message says what was asked, what was found, and what to do next. Errors that stand for
a wrong argument are also `ValueError`s, errors for something missing are also `LookupError`s,
so code that catches the builtin classes keeps working.
"""

from __future__ import annotations

from collections.abc import Sequence


class ForkpointError(Exception):
    """Base of every error that Forkpoint raises on purpose."""


class InvalidArgumentError(ForkpointError, ValueError):
    """An argument has the wrong type or a value outside its range; `argument` is its name."""

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(f"{argument}: {problem}")
        self.argument = argument


class NotFoundError(ForkpointError, LookupError):
    """Something that was asked for by name does not exist."""


class SessionNotFoundError(NotFoundError):
    """No session of this id."""


class NoCheckpointError(NotFoundError):
    """The session has no checkpoint at all, and the operation needs one."""


class CheckpointNotFoundError(NotFoundError):
    """The session exists but has no checkpoint of this id (unknown, pruned, or another
    session's)."""


class LabelNotFoundError(NotFoundError):
    """The session itself has no label of this name."""


class ConflictError(ForkpointError):
    """Somebody else changed what this operation was about to change; nothing was written."""


class SessionHasForksError(ConflictError):
    """The session was to be deleted only if nothing was forked from it. `forks` are the sessions
    that were; nothing was deleted."""

    def __init__(self, message: str, forks: Sequence[str]) -> None:
        super().__init__(message)
        self.forks = tuple(forks)


class DestinationNotEmptyError(ConflictError):
    """A fork's destination already has checkpoints; it was left as it is."""


class SessionDeletedError(ConflictError):
    """The session was deleted while this writer was still at work; its late write was refused."""


class AmbiguousNodeError(InvalidArgumentError):
    """A patch must say which node it counts as, because the graph has several candidates."""


class UnknownNodeError(InvalidArgumentError):
    """A patch names a node that the graph does not have."""


class GraphChangedError(ForkpointError):
    """A checkpoint holds pending work for nodes or channels that today's graph does not have."""


class DeltaHistoryError(ForkpointError):
    """A delta channel cannot be rebuilt: its chain of writes does not reach a stored value."""


class DeserializationError(ForkpointError):
    """A stored value cannot be rebuilt as the type it had. The stored bytes are unchanged.

    `channel`, `checkpoint_id` and `type_name` (``module.Class``) say which value; each is
    ``None`` where it does not apply.
    """

    def __init__(
        self,
        problem: str,
        *,
        channel: str | None = None,
        checkpoint_id: str | None = None,
        type_name: str | None = None,
    ) -> None:
        where = ", ".join(
            f"{label} {value!r}"
            for label, value in (
                ("channel", channel),
                ("checkpoint", checkpoint_id),
                ("type", type_name),
            )
            if value is not None
        )
        super().__init__(f"{where}: {problem}" if where else problem)
        self.problem = problem
        self.channel = channel
        self.checkpoint_id = checkpoint_id
        self.type_name = type_name


class SerializationError(ForkpointError):
    """A value cannot be stored; nothing was written."""


class ForkVerificationError(ForkpointError):
    """A fork was written, read back, and differs from its plan. The source is untouched."""


class CapabilityError(ForkpointError):
    """The checkpointer or graph at hand cannot do what was asked; the message says which part
    lacks."""


class DatabaseError(ForkpointError):
    """The database cannot be used as a Forkpoint store."""


class NotAForkpointDatabaseError(DatabaseError):
    """The file or schema holds something that Forkpoint did not write."""


class NewerDatabaseError(DatabaseError):
    """The database was written by a newer Forkpoint than this one."""


class DatabaseBusyError(DatabaseError):
    """Another process held the write lock for longer than the store was told to wait."""


class ConnectionLostError(DatabaseError):
    """The database server cannot be reached, or went away in the middle of a read. What writes
    had been acknowledged is there; a write that raises this was not made."""


class StoreClosedError(DatabaseError):
    """The store was closed."""


class ArchiveError(ForkpointError):
    """A file is no archive of a session, or not the one that was written. Nothing was imported."""


class NewerArchiveError(ArchiveError):
    """The archive was written by a newer Forkpoint, and holds what this one does not know."""
