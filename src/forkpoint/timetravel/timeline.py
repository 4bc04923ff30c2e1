"""A session's history without its values.

Forkpoint's own store keeps what a timeline shows beside the checkpoint, so a page costs what it
shows. Other checkpointers hand out a checkpoint only as a whole; its values are dropped as soon as
the little that is shown has been taken from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from forkpoint.model import TimelineEntry
from forkpoint.timetravel.graphs import sent_nodes
from forkpoint.timetravel.lineage import ANCESTOR, FORK_POINT, ROLE, parent_id, require
from forkpoint.timetravel.messages import text_of_input
from forkpoint.timetravel.requests import Native, Plan, listed, read
from forkpoint.timetravel.setup import Address, Setup
from forkpoint.timetravel.snapshots import consumed_sends, triggered_nodes

_PAGE = 100


@dataclass(frozen=True, slots=True)
class _Row:
    """What a timeline takes from a checkpoint."""

    id: str
    parent: str | None
    metadata: Mapping[str, Any]
    timestamp: str
    triggered: tuple[str, ...]
    sends: tuple[str, ...]
    after_sends: bool
    title: str | None

    @property
    def source(self) -> str:
        return str(self.metadata.get("source", "loop"))


def get_timeline(
    setup: Setup, address: Address, limit: int, before: str | None, source: str | None
) -> Plan[list[TimelineEntry]]:
    """Timeline entries, newest first; copied or inherited ancestors are marked as such."""
    if limit == 0:
        return []
    yield from require(setup, address, None)
    if before is not None:
        before = (yield from require(setup, address, before)).checkpoint["id"]
    if setup.native:
        return (yield from _native(address, limit, before, source))
    children: Counter[str] = Counter()
    entries: list[TimelineEntry] = []
    rows: dict[str, _Row] = {}
    titles: dict[str, str | None] = {}
    begun = before is None
    cursor: str | None = None
    while len(entries) < limit:
        page = yield from listed(address.thread_id, _row, before=cursor, limit=_PAGE)
        rows.update((row.id, row) for row in page)
        for row in page:
            if row.parent is not None:
                children[row.parent] += 1
        for row in page:
            if begun and len(entries) < limit:
                nodes = yield from _nodes(address, row, rows)
                if source is None or source in (_shown_source(row), row.source, *nodes):
                    title = yield from _title(address, row, rows, titles)
                    entries.append(_entry(address, row, nodes, title))
            begun = begun or row.id == before
        if len(page) < _PAGE:
            break
        cursor = page[-1].id
    return [replace(entry, children=children[entry.checkpoint_id]) for entry in entries]


def _native(
    address: Address, limit: int, before: str | None, source: str | None
) -> Plan[list[TimelineEntry]]:
    entries = yield Native(
        "timeline",
        (address.thread_id,),
        {"limit": limit, "before": before, "source": source},
    )
    return [replace(entry, session_id=address.session_id) for entry in entries]


def _row(saved: CheckpointTuple) -> _Row:
    return _Row(
        id=saved.checkpoint["id"],
        parent=parent_id(saved),
        metadata=dict(saved.metadata),
        timestamp=str(saved.checkpoint.get("ts", "")),
        triggered=triggered_nodes(saved.checkpoint),
        sends=sent_nodes(saved.checkpoint),
        after_sends=consumed_sends(saved.checkpoint),
        title=text_of_input(saved.checkpoint),
    )


def _entry(address: Address, row: _Row, nodes: tuple[str, ...], title: str | None) -> TimelineEntry:
    return TimelineEntry(
        session_id=address.session_id,
        checkpoint_id=row.id,
        parent_id=row.parent,
        step=int(row.metadata.get("step", -1)),
        source=_shown_source(row),
        timestamp=row.timestamp,
        nodes=nodes,
        title=title,
        inherited=row.metadata.get(ROLE) == ANCESTOR,
    )


def _nodes(address: Address, row: _Row, rows: dict[str, _Row]) -> Plan[tuple[str, ...]]:
    if row.source != "loop":
        return ()
    sent: tuple[str, ...] = ()
    if row.after_sends and row.parent is not None:
        parent = yield from _look_up(address, row.parent, rows)
        sent = parent.sends if parent is not None else ()
    ran = dict.fromkeys((*row.triggered, *sent))
    return tuple(node for node in ran if node != "__start__")


def _title(
    address: Address, row: _Row, rows: dict[str, _Row], titles: dict[str, str | None]
) -> Plan[str | None]:
    """The title of the turn a checkpoint is in: that of the nearest input on its path."""
    passed = []
    here: _Row | None = row
    title: str | None = None
    while here is not None:
        if here.id in titles:
            title = titles[here.id]
            break
        passed.append(here.id)
        if here.source == "input":
            title = here.title
            break
        here = (yield from _look_up(address, here.parent, rows)) if here.parent else None
    for identifier in passed:
        titles[identifier] = title
    return title


def _look_up(address: Address, identifier: str, rows: dict[str, _Row]) -> Plan[_Row | None]:
    if identifier not in rows:
        saved = yield from read(address.thread_id, identifier)
        if saved is None:
            return None
        rows[identifier] = _row(saved)
    return rows[identifier]


def _shown_source(row: _Row) -> str:
    return "fork" if row.metadata.get(ROLE) == FORK_POINT else row.source
