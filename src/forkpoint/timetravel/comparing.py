"""What lies between two checkpoints, of one session or of two.

Channels are compared by value; lists of messages are aligned by message id, so that an edit in the
middle is one edit and not two different lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forkpoint.model import (
    ChannelChange,
    CheckpointRef,
    Comparison,
    MessageChange,
    StateSnapshot,
)
from forkpoint.timetravel.equality import same
from forkpoint.timetravel.history import get_state
from forkpoint.timetravel.lineage import find_lineage, path_from
from forkpoint.timetravel.messages import (
    are_messages,
    is_message,
    message_id,
    shortened,
    text_of,
)
from forkpoint.timetravel.requests import Plan
from forkpoint.timetravel.setup import Setup

_MARKS = {"added": "+", "removed": "-", "edited": "~", "changed": "~"}


def compare(setup: Setup, before: CheckpointRef, after: CheckpointRef) -> Plan[Comparison]:
    """Compare two checkpoints and find the last one they have in common."""
    left = yield from _record(setup, before)
    right = yield from _record(setup, after)
    # From here on by their ids: a checkpoint may have been named by a label.
    before, after = left.config.ref, right.config.ref
    ancestor = yield from _common_ancestor(setup, before, after)
    return Comparison(before, after, ancestor, _changes(left.values, right.values))


def _record(setup: Setup, ref: CheckpointRef) -> Plan[StateSnapshot]:
    return (yield from get_state(setup, setup.address(ref.session_id), ref.checkpoint_id))


def _common_ancestor(
    setup: Setup, before: CheckpointRef, after: CheckpointRef
) -> Plan[CheckpointRef | None]:
    left = yield from path_from(setup, setup.address(before.session_id), before.checkpoint_id)
    right = yield from path_from(setup, setup.address(after.session_id), after.checkpoint_id)
    # A fork's first checkpoint keeps its id, so equal ids on two paths are one checkpoint.
    known = {step.checkpoint_id for step in left}
    for step in right:
        if step.checkpoint_id in known:
            return (yield from _owned(setup, step.ref))
    return None


def _owned(setup: Setup, ref: CheckpointRef) -> Plan[CheckpointRef]:
    """`ref` as the session in which the checkpoint was first written names it."""
    while True:
        address = setup.address(ref.session_id)
        lineage = yield from find_lineage(setup, address.thread_id)
        if lineage is None:
            return ref
        path = yield from path_from(setup, address, lineage.fork_point)
        if all(step.checkpoint_id != ref.checkpoint_id for step in path):
            return ref
        ref = CheckpointRef(lineage.source.session_id, ref.checkpoint_id)


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[ChannelChange, ...]:
    changes = []
    for channel in dict.fromkeys((*before, *after)):
        if channel not in after:
            changes.append(ChannelChange(channel, "removed", before=before[channel]))
        elif channel not in before:
            added = ChannelChange(
                channel, "added", after=after[channel], messages=_messages([], after[channel])
            )
            changes.append(added)
        elif not same(before[channel], after[channel]):
            old, new = before[channel], after[channel]
            changes.append(ChannelChange(channel, "changed", old, new, _messages(old, new)))
    return tuple(changes)


def _messages(before: Any, after: Any) -> tuple[MessageChange, ...]:
    if not are_messages(before) or not are_messages(after):
        return ()
    old = {message_id(each): each for each in before}
    new = {message_id(each): each for each in after}
    changes = []
    for identifier, message in old.items():
        if identifier is None:
            continue
        if identifier not in new:
            changes.append(MessageChange(identifier, "removed", before=message))
        elif not same(message, new[identifier]):
            changes.append(MessageChange(identifier, "edited", message, new[identifier]))
    for identifier, message in new.items():
        if identifier is not None and identifier not in old:
            changes.append(MessageChange(identifier, "added", after=message))
    return tuple(changes)


def format_comparison(comparison: Comparison) -> str:
    """A comparison as text, in the manner of a diff.

    ``+`` is only in the second checkpoint, ``-`` only in the first, ``~`` in both and different.

    >>> from forkpoint.model import ChannelChange, CheckpointRef, Comparison
    >>> change = ChannelChange("count", "changed", before=1, after=2)
    >>> a, b = CheckpointRef("s", "c1"), CheckpointRef("s", "c2")
    >>> print(format_comparison(Comparison(a, b, a, (change,))))
    --- s c1
    +++ s c2
    common ancestor: s c1
    ~ count
        - 1
        + 2
    """
    common = comparison.common_ancestor
    lines = [
        f"--- {_named(comparison.before)}",
        f"+++ {_named(comparison.after)}",
        f"common ancestor: {_named(common) if common else 'none'}",
    ]
    if comparison.same:
        lines.append("no channel differs")
    for change in comparison.changes:
        lines.append(f"{_MARKS[change.kind]} {change.channel}")
        lines += _formatted_messages(change.messages) or _formatted_values(change)
    return "\n".join(lines)


def _named(ref: CheckpointRef) -> str:
    return f"{ref.session_id} {ref.checkpoint_id}"


def _formatted_messages(messages: Sequence[MessageChange]) -> list[str]:
    lines = []
    for each in messages:
        lines.append(f"    {_MARKS[each.kind]} message {each.id}")
        if each.before is not None:
            lines.append(f"        - {_speaker(each.before)}: {text_of(each.before)}")
        if each.after is not None:
            lines.append(f"        + {_speaker(each.after)}: {text_of(each.after)}")
    return lines


def _speaker(message: Any) -> str:
    if isinstance(message, Mapping):
        return str(message.get("role") or message.get("type") or "message")
    return str(message.type)


def _formatted_values(change: ChannelChange) -> list[str]:
    lines = []
    if change.kind != "added":
        lines.append(f"    - {_shown(change.before)}")
    if change.kind != "removed":
        lines.append(f"    + {_shown(change.after)}")
    return lines


def _shown(value: object) -> str:
    return text_of(value) if is_message(value) else shortened(repr(value))
