"""Finding a checkpoint by what was said, by turn, or by a condition on the state.

All three look along the path from the head to the session's beginning, across forks: what an
abandoned branch holds is not found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from forkpoint.errors import CheckpointNotFoundError
from forkpoint.model import CheckpointRef, StateSnapshot
from forkpoint.timetravel.graphs import is_bookkeeping
from forkpoint.timetravel.history import get_state
from forkpoint.timetravel.lineage import Step, path_from, require
from forkpoint.timetravel.messages import contains, contains_directly
from forkpoint.timetravel.requests import Call, Plan
from forkpoint.timetravel.setup import Address, Setup

Side = Literal["after", "before"]


def find_message(
    setup: Setup, address: Address, message_id: str, side: Side
) -> Plan[CheckpointRef]:
    """The first checkpoint that holds a message, or the last one before it was said.

    "Before" is before the user's input that brought the message, if it came by one: a fork from
    there can say something else. A first message has nothing before it but its own input; then that
    input checkpoint, whose state is still empty, is the answer.
    """
    head = yield from require(setup, address, None)
    probe = _MessageProbe(message_id)
    path = yield from path_from(setup, address, head.checkpoint["id"], probe=probe)
    path.reverse()
    for index, step in enumerate(path):
        holds: bool = step.found.holds
        if not holds and index and path[index - 1].found.writes:
            holds = yield from _holds(setup, step, message_id)
        if holds:
            return step.ref if side == "after" else _before(path, index, message_id)
    raise CheckpointNotFoundError(
        f"no checkpoint on the path to the head of session {address.session_id!r} holds a message "
        f"with the id {message_id!r}"
    )


def find_turn(setup: Setup, address: Address, turn: int, side: Side) -> Plan[CheckpointRef]:
    """The end of a turn, or the checkpoint before it began. Turns begin with an input."""
    head = yield from require(setup, address, None)

    def stored_source(saved: CheckpointTuple) -> object:
        return saved.metadata.get("source")

    # A fork point's entry in a timeline says "fork"; its own metadata says whether it is an input.
    probe = stored_source if setup.native else None
    path = yield from path_from(setup, address, head.checkpoint["id"], probe=probe)
    path.reverse()
    inputs = [i for i, step in enumerate(path) if "input" in (step.source, step.found)]
    if turn > len(inputs):
        raise CheckpointNotFoundError(
            f"session {address.session_id!r} has {len(inputs)} turns; turn {turn} was asked for"
        )
    start = inputs[turn - 1]
    if side == "before":
        return path[max(start - 1, 0)].ref
    end = inputs[turn] if turn < len(inputs) else len(path)
    return path[end - 1].ref


def bisect(
    setup: Setup, address: Address, predicate: Callable[[StateSnapshot], Any]
) -> Plan[StateSnapshot | None]:
    """The first checkpoint at which `predicate` holds, if it holds at the head."""
    head = yield from require(setup, address, None)
    path = yield from path_from(setup, address, head.checkpoint["id"])
    path.reverse()
    low, high = 0, len(path) - 1
    found: StateSnapshot | None = None
    shown = yield from _shown(setup, path[high])
    if (yield Call(predicate, (shown,))):
        found = shown
    while found is not None and low < high:
        middle = (low + high) // 2
        shown = yield from _shown(setup, path[middle])
        if (yield Call(predicate, (shown,))):
            found, high = shown, middle
        else:
            low = middle + 1
    return found


def _shown(setup: Setup, step: Step) -> Plan[StateSnapshot]:
    return (yield from get_state(setup, step.address, step.checkpoint_id))


def _holds(setup: Setup, step: Step, message_id: str) -> Plan[bool]:
    shown = yield from _shown(setup, step)
    return contains(shown.values, message_id)


def _before(path: list[Step], index: int, message_id: str) -> CheckpointRef:
    """The checkpoint before the one at `index`, which is the first to hold the message."""
    start = index - 1 if index and path[index - 1].source == "input" else index
    if start:
        return path[start - 1].ref
    if start < index:
        return path[start].ref
    raise CheckpointNotFoundError(
        f"message {message_id!r} is in the first checkpoint of its session: nothing is before it"
    )


class _Found:
    """Where a checkpoint mentions a message: in its state, or in writes recorded on it."""

    __slots__ = ("holds", "writes")

    def __init__(self, holds: bool, writes: bool) -> None:
        self.holds = holds
        self.writes = writes


class _MessageProbe:
    """Looks for a message in a stored checkpoint without rebuilding its channels."""

    def __init__(self, message_id: str) -> None:
        self._message_id = message_id

    def __call__(self, saved: CheckpointTuple) -> _Found:
        values = saved.checkpoint["channel_values"]
        return _Found(
            holds=any(
                self._is_in(value) for name, value in values.items() if not is_bookkeeping(name)
            ),
            writes=any(
                self._is_in(value)
                for _, channel, value in saved.pending_writes or ()
                if not is_bookkeeping(channel)
            ),
        )

    def _is_in(self, value: Any) -> bool:
        inner = value.value if isinstance(value, _DeltaSnapshot) else value
        return contains_directly(inner, self._message_id)
