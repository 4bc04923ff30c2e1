"""What LangGraph stores with a checkpoint besides values, in parts for the store.

Metadata falls into three parts: what stays the same from step to step (interned by the store, and
what filters look up), what changes with every step, and what JSON cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.types import TASKS
from langgraph.types import Send

from forkpoint.errors import SerializationError
from forkpoint.model import TimelineEntry
from forkpoint.store.cells import Encoded
from forkpoint.store.reading import TimelineRow
from forkpoint.store.records import NewCheckpoint, StoredCheckpoint
from forkpoint.store.terms import canonical_json

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_KNOWN_KEYS = frozenset(
    {
        "v",
        "ts",
        "id",
        "channel_values",
        "channel_versions",
        "versions_seen",
        "updated_channels",
    }
)
_TITLE_LENGTH = 80

ToCell = Callable[[Any], bytes]


@dataclass(slots=True)
class Extra:
    """The part of a checkpoint row's body that is LangGraph's business and not the store's."""

    v: int
    ts: Any
    updated_names: list[int] | list[str] | None
    """Positions in the checkpoint's channel versions; names where one is not among them."""
    changing: dict[str, Any] = field(default_factory=dict)
    opaque: dict[str, bytes] = field(default_factory=dict)
    more: dict[str, bytes] = field(default_factory=dict)
    """Entries of the checkpoint that this version has no place for, as cells."""
    title: str | None = None
    sends: list[str] = field(default_factory=list)
    """Nodes that LangGraph `Send`s queued here will run: they leave no other trace."""

    CHANGING: ClassVar[frozenset[str]] = frozenset({"parents", "counters_since_delta_snapshot"})
    """Metadata entries that change with every step."""

    @classmethod
    def of(
        cls,
        checkpoint: Mapping[str, Any],
        changing: dict[str, Any],
        opaque: dict[str, bytes],
        to_cell: ToCell,
    ) -> Extra:
        """Taken from a checkpoint that is about to be stored."""
        versions = {name: i for i, name in enumerate(checkpoint["channel_versions"])}
        updated = checkpoint.get("updated_channels")
        if updated is not None and all(name in versions for name in updated):
            updated = [versions[name] for name in updated]
        start = checkpoint["channel_values"].get("__start__")
        return cls(
            v=checkpoint["v"],
            ts=checkpoint["ts"],
            updated_names=updated,
            changing=changing,
            opaque=opaque,
            more={
                key: to_cell(value)
                for key, value in checkpoint.items()
                if key not in _KNOWN_KEYS and not (key == "pending_sends" and value == [])
            },
            title=None if start is None else turn_title(start),
            sends=_queued(checkpoint["channel_values"].get(TASKS)),
        )

    def packed(self) -> list[Any]:
        """As msgpack stores it: short where there is little to say."""
        parts: list[Any] = [
            self.v,
            _packed_time(self.ts),
            self.updated_names,
            self.title,
            self.changing or None,
            self.opaque or None,
            self.more or None,
            self.sends or None,
        ]
        while parts[-1] is None and len(parts) > 3:
            parts.pop()
        return parts

    @classmethod
    def unpacked(cls, stored: Sequence[Any]) -> Extra:
        """The inverse of `packed`."""
        v, ts, updated, *rest = stored
        rest = [*rest, None, None, None, None, None]
        return cls(
            v,
            _unpacked_time(ts),
            updated,
            title=rest[0],
            changing=rest[1] or {},
            opaque=rest[2] or {},
            more=rest[3] or {},
            sends=rest[4] or [],
        )

    def updated(self, versions: Mapping[str, Any]) -> list[str] | None:
        """The updated channels by name."""
        if self.updated_names is None:
            return None
        names = list(versions)
        return [names[item] if isinstance(item, int) else item for item in self.updated_names]


def metadata_parts(
    entries: Mapping[str, Any], to_cell: ToCell
) -> tuple[dict[str, Any], int | None, dict[str, Any], dict[str, bytes]]:
    """Metadata as (constant, step, changing, opaque)."""
    constant: dict[str, Any] = {}
    changing: dict[str, Any] = {}
    opaque: dict[str, bytes] = {}
    step: int | None = None
    for key, value in entries.items():
        if key == "step" and type(value) is int and abs(value) < 2**62:
            step = value
            continue
        if type(value) is str or value == {}:
            constant[key] = value
            continue
        try:
            canonical_json(value)
        except (TypeError, ValueError):
            try:
                opaque[key] = to_cell(value)
            except SerializationError as error:
                raise SerializationError(f"metadata {key!r}: {error}") from error
            continue
        if key in Extra.CHANGING and value:
            changing[key] = value
        else:
            constant[key] = value
    return constant, step, changing, opaque


def new_checkpoint(
    checkpoint: Mapping[str, Any],
    entries: Mapping[str, Any],
    *,
    parent: str | None,
    changed: frozenset[str],
    to_cell: ToCell,
    encode: Callable[[str, Any], Encoded],
) -> NewCheckpoint:
    """A checkpoint and its metadata as the store takes them. `changed` are channels whose value
    may differ from the parent's although the version is the same."""
    constant, step, changing, opaque = metadata_parts(entries, to_cell)
    extra = Extra.of(checkpoint, changing, opaque, to_cell)
    parents = entries.get("parents")
    return NewCheckpoint(
        id=checkpoint["id"],
        parent=parent,
        step=step,
        versions=checkpoint["channel_versions"],
        values=checkpoint["channel_values"],
        changed=changed,
        encode=encode,
        seen=checkpoint["versions_seen"],
        metadata=constant,
        extra=extra.packed(),
        begins_turn=extra.title is not None,
        root=parents.get("") if isinstance(parents, dict) else None,
    )


def stored_metadata(
    record: StoredCheckpoint, extra: Extra, opaque: Mapping[str, Any]
) -> dict[str, Any]:
    """The inverse of `metadata_parts`."""
    entries = {**record.metadata, **extra.changing, **opaque}
    if record.step is not None:
        entries["step"] = record.step
    return entries


def replayed_channels(stored: Any) -> Sequence[str]:
    """Delta channels that a checkpoint has no value of: LangGraph counts steps since their last.
    None of a row that was emptied."""
    if stored is None:
        return ()
    return list(Extra.unpacked(stored).changing.get("counters_since_delta_snapshot") or ())


def stored_time(stored: Any) -> int | None:
    """When a checkpoint says that it was made, in microseconds since 1970; None if it does not."""
    if stored is None:
        return None
    moment = stored[_TIME]
    if isinstance(moment, str):
        try:
            parsed = datetime.fromisoformat(moment)
        except ValueError:
            return None
        if parsed.tzinfo is None:
            parsed = parsed.replace(tzinfo=UTC)
        moment = (parsed - _EPOCH) // _MICROSECOND
    return moment if isinstance(moment, int) else None


def root_id(stored: Any) -> str | None:
    """The root checkpoint that a subgraph's checkpoint belongs to, as it says itself."""
    if stored is None:
        return None
    parents = Extra.unpacked(stored).changing.get("parents")
    root = parents.get("") if isinstance(parents, Mapping) else None
    return root if isinstance(root, str) else None


def turn_title(start: Any) -> str | None:
    """A line that tells a person which turn this was: the text of its input's last message."""
    text = _text_of(start)
    if text is None:
        return None
    line = " ".join(text.split())
    line = line.encode(errors="replace").decode()
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1] + "…"


def _queued(tasks: Any) -> list[str]:
    if not isinstance(tasks, list):
        return []
    return list(dict.fromkeys(task.node for task in tasks if isinstance(task, Send)))


def _text_of(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, BaseMessage):
        return str(value.text)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str):
        return value[1]
    if isinstance(value, list):
        return _text_of(value[-1]) if value else None
    if isinstance(value, Mapping):
        for key in ("messages", "content", "input", "question"):
            if key in value:
                return _text_of(value[key])
        for item in value.values():
            if isinstance(item, str):
                return item
    return None


def timeline_entry(row: TimelineRow) -> TimelineEntry:
    """A timeline's entry from the store's row."""
    record = row.checkpoint
    source = str(record.metadata.get("source", ""))
    return TimelineEntry(
        session_id=record.session,
        checkpoint_id=record.id,
        parent_id=record.parent,
        step=-2 if record.step is None else record.step,
        source="fork" if row.is_fork_point else source,
        timestamp=str(_unpacked_time(record.extra[_TIME])),
        nodes=_nodes(row) if source == "loop" else (),
        title=None if row.turn is None else _part(row.turn, _TITLE),
        size=max(record.size, 0),
        children=row.children,
        forks=row.forks,
        inherited=record.inherited,
    )


_TIME, _TITLE, _SENDS = 1, 3, 7
"""Where `Extra.packed` puts what a timeline shows: a page of it must not unpack the rest."""


def _part(stored: Sequence[Any], place: int) -> Any:
    return stored[place] if len(stored) > place else None


def _nodes(row: TimelineRow) -> tuple[str, ...]:
    if row.parent is None:
        return nodes_that_ran(row.checkpoint.seen, {})
    ran = nodes_that_ran(row.checkpoint.seen, row.parent.seen)
    sent = _part(row.parent.extra, _SENDS)
    return tuple(dict.fromkeys((*ran, *sent))) if sent else ran


def nodes_that_ran(
    seen: Mapping[str, Mapping[str, Any]], seen_before: Mapping[str, Mapping[str, Any]]
) -> tuple[str, ...]:
    """The nodes whose superstep lies between two checkpoints: what they had seen has changed."""
    return tuple(
        node
        for node, versions in seen.items()
        if not node.startswith("__") and versions != seen_before.get(node)
    )


def _packed_time(ts: Any) -> Any:
    if isinstance(ts, str) and ts.endswith("+00:00"):
        try:
            moment = datetime.fromisoformat(ts)
        except ValueError:
            return ts
        if moment.isoformat() == ts:
            return (moment - _EPOCH) // _MICROSECOND
    return ts


def _unpacked_time(stored: Any) -> Any:
    if isinstance(stored, int):
        return (_EPOCH + stored * _MICROSECOND).isoformat()
    return stored
