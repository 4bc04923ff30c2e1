"""Reading single checkpoints and histories.

A history is read in pages. A page is complete before the first of its snapshots is handed out, so
an iteration that is paused, or never finished, holds nothing in the database.
"""

from __future__ import annotations

from langgraph.checkpoint.base import CheckpointTuple

from forkpoint.model import StateSnapshot
from forkpoint.timetravel.lineage import (
    ANCESTOR,
    ROLE,
    Lineage,
    find_lineage,
    parent_id,
    require,
)
from forkpoint.timetravel.requests import Emit, Native, Plan, listed, read, whole
from forkpoint.timetravel.setup import Address, Setup
from forkpoint.timetravel.snapshots import lineage_for, matches_source, snapshot

#: Checkpoints held in memory at a time. A page of a long chat can be tens of megabytes.
PAGE = 20


def get_state(setup: Setup, address: Address, checkpoint_id: str | None) -> Plan[StateSnapshot]:
    """One checkpoint: live when it is the head asked for as such, a record when named by id."""
    saved = yield from require(setup, address, checkpoint_id)
    lineage = yield from lineage_for(setup, address, saved)
    return (yield from snapshot(setup, address, saved, lineage, live=checkpoint_id is None))


def get_history(
    setup: Setup,
    address: Address,
    limit: int,
    before: str | None,
    source: str | None,
    across_forks: bool,
) -> Plan[None]:
    """Emit a session's snapshots, newest first."""
    if limit == 0:
        return
    yield from require(setup, address, None)
    lineage = yield from find_lineage(setup, address.thread_id)
    left = limit
    is_own = before is None
    if before is not None:
        edge = yield from read(address.thread_id, before)
        if edge is not None:
            # Whatever named it, an id or a label: its id is compared with others from here on.
            is_own, before = True, edge.checkpoint["id"]
    if is_own:
        left = yield from _own(setup, address, lineage, limit, before, source)
    if across_forks and left and lineage is not None:
        found = yield from _ancestors(setup, address, lineage, left, before, source)
        is_own = is_own or found
    if not is_own:
        yield from require(setup, address, before)


def _own(
    setup: Setup,
    address: Address,
    lineage: Lineage | None,
    limit: int,
    before: str | None,
    source: str | None,
) -> Plan[int]:
    inherited = yield from _inherited_ids(setup, address, lineage)
    if before is not None and before in inherited:
        return limit
    left = limit
    cursor = before
    while left:
        size = PAGE if source is not None else min(PAGE, left)
        page = yield from listed(address.thread_id, whole, before=cursor, limit=size)
        by_id = {saved.checkpoint["id"]: saved for saved in page}
        for saved in page:
            if saved.checkpoint["id"] in inherited or saved.metadata.get(ROLE) == ANCESTOR:
                continue
            parent = by_id.get(parent_id(saved) or "")
            if (yield from _emit(setup, address, saved, lineage, parent, source)):
                left -= 1
            if not left:
                break
        if len(page) < size:
            break
        cursor = page[-1].checkpoint["id"]
    return left


def _inherited_ids(setup: Setup, address: Address, lineage: Lineage | None) -> Plan[frozenset[str]]:
    if not setup.native or lineage is None:
        return frozenset()
    entries = yield Native("timeline", (address.thread_id,), {"limit": 1_000_000_000})
    return frozenset(
        entry.checkpoint_id
        for entry in entries
        if entry.inherited and entry.checkpoint_id != lineage.fork_point
    )


def _ancestors(
    setup: Setup,
    address: Address,
    lineage: Lineage,
    left: int,
    before: str | None,
    source: str | None,
) -> Plan[bool]:
    """Emit what lies before the fork point; whether `before` was met on the way."""
    started = before is None or (yield from _is_before_ancestors(address, lineage, before))
    here: Lineage | None = lineage
    own = address
    while here is not None and left:
        address, point = here.source, here.origin.checkpoint_id
        saved = yield from read(address.thread_id, point)
        if saved is None:
            # The source is gone; what the fork can still reach of it is read through the fork.
            address = own
            saved = yield from read(own.thread_id, here.fork_point)
        here = yield from find_lineage(setup, address.thread_id) if address != own else _none()
        while saved is not None and left:
            at_fork_point = here is not None and saved.checkpoint["id"] == here.fork_point
            before_id = parent_id(saved)
            if at_fork_point or before_id is None:
                break
            saved = yield from read(address.thread_id, before_id)
            if saved is None:
                break
            if started and (yield from _emit(setup, address, saved, here, None, source)):
                left -= 1
            started = started or before_id == before
    return started


def _is_before_ancestors(address: Address, lineage: Lineage, before: str) -> Plan[bool]:
    """Whether `before` is one of the session's own checkpoints, so that all ancestors follow."""
    if before == lineage.fork_point:
        return True
    saved = yield from read(address.thread_id, before)
    point = yield from read(address.thread_id, lineage.fork_point)
    while saved is not None and point is not None:
        if saved.checkpoint["id"] == lineage.fork_point:
            return True
        parent = parent_id(saved)
        saved = (yield from read(address.thread_id, parent)) if parent is not None else None
    return False


def _none() -> Plan[None]:
    return None
    yield


def _emit(
    setup: Setup,
    address: Address,
    saved: CheckpointTuple,
    lineage: Lineage | None,
    parent: CheckpointTuple | None,
    source: str | None,
) -> Plan[bool]:
    stored = dict(saved.metadata)
    shown = yield from snapshot(setup, address, saved, lineage, live=False, parent=parent)
    if not matches_source(shown.metadata, stored, source):
        return False
    yield Emit(shown)
    return True
