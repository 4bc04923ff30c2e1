"""What goes into the store and what comes out of it, as plain records."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from forkpoint.model import ForkOrigin
from forkpoint.store.cells import Encoded, Reference
from forkpoint.store.values import Cells

Version = int | float | str | None


class NewWrite(NamedTuple):
    """One write of a task. `position` orders the writes of a task; one at a negative index replaces
    an earlier one there, one at any other keeps the first."""

    position: int
    channel: str
    value: Encoded


@dataclass(frozen=True, slots=True)
class NewCheckpoint:
    """A checkpoint to store."""

    id: str
    parent: str | None
    step: int | None
    versions: Mapping[str, Version]
    values: Mapping[str, Any]
    """Not encoded yet: `encode` is called for those that the parent does not hold already."""
    changed: frozenset[str]
    """Channels whose value is new even if their version is the parent's."""
    encode: Callable[[str, Any], Encoded]
    """From a channel and its value."""
    seen: Mapping[str, Mapping[str, Version]]
    metadata: dict[str, Any]
    """The part of the metadata that stays the same from step to step: JSON values only."""
    extra: Any
    """Anything else that msgpack can hold; given back as it is."""
    begins_turn: bool = False
    """Whether a turn of the conversation begins here."""
    root: str | None = None
    """In a sub-namespace: the root namespace's checkpoint that this one belongs to."""


class Row(NamedTuple):
    """A row of the checkpoint table."""

    thread: int
    n: int
    cid: bytes
    lane: int
    parent: int | None
    parent_thread: int | None
    root: int | None
    hidden: int
    step: int | None
    turn: int | None
    metadata: int
    size: int
    body: bytes


class StoredWrite(NamedTuple):
    """A write as stored."""

    task_id: str
    task_path: str
    position: int
    channel: str
    value: Reference


@dataclass(slots=True)
class StoredCheckpoint:
    """A checkpoint as read, its values still references into `cells` (None when not loaded)."""

    session: str
    namespace: str
    id: str
    parent: str | None
    step: int | None
    versions: dict[str, Version]
    references: dict[str, Reference]
    seen: dict[str, dict[str, Version]]
    metadata: dict[str, Any]
    extra: Any
    size: int
    inherited: bool
    place: tuple[int, int]
    """Thread and row number."""
    parent_n: int | None
    """Row number of the parent, wherever it is."""
    lane: int
    turn: int | None
    """Row number of the row of the same thread that began the turn."""
    writes: list[StoredWrite] = field(default_factory=list)
    cells: Cells | None = None


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session as a list of sessions shows it."""

    session_id: str
    head: str
    """Checkpoint id of the root namespace's head."""
    root: str
    """The session at the bottom of the lineage; itself when it is not a fork."""
    depth: int
    """Forks between the root and this session."""
    forked_from: ForkOrigin | None
    created: str
    """ISO-8601, UTC."""
    updated: str
    """When the session was last written, ISO-8601, UTC."""
    forks: int
    """Live sessions forked from this one directly."""
    workspace: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class StoredFork:
    """A fork as the store made it, or found it made."""

    origin: ForkOrigin
    created: bool
    superseded: bool


class Carry(NamedTuple):
    """Which writes of a fork point go along: those on `channels`, or, if `others`, all but
    those."""

    channels: frozenset[str] = frozenset()
    others: bool = True

    def takes(self, channel: str) -> bool:
        return (channel in self.channels) != self.others


WAITING_FOR_ROOT = b"root"
"""Task of an `early` row that is no write: a sub-namespace checkpoint waits for its root."""
ALL_WRITES = Carry()
NO_WRITES = Carry(others=False)


_CANONICAL_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@lru_cache(4096)
def cid_bytes(checkpoint_id: str) -> bytes:
    """A checkpoint or task id as stored: 17 bytes for a canonical UUID, else its text."""
    if _CANONICAL_UUID.fullmatch(checkpoint_id):
        return b"\x01" + bytes.fromhex(checkpoint_id.replace("-", ""))
    return b"\x00" + checkpoint_id.encode()


def cid_text(stored: bytes) -> str:
    """The inverse of `cid_bytes`."""
    if stored[0] == 1:
        digits = stored[1:].hex()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
    return stored[1:].decode()


PendingRows = Sequence[tuple[int, bytes, bytes]]
"""Tick, task, body."""
