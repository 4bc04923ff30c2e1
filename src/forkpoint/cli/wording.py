"""The words that the plain and the terminal output share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from forkpoint.cli.excerpt import one_line
from forkpoint.model import (
    CheckpointRef,
    Diagnosis,
    ForkPlan,
    InterruptRecord,
    Label,
    MessageChange,
    TimelineEntry,
)
from forkpoint.store import SessionSummary


def address(ref: CheckpointRef) -> str:
    """A checkpoint's address as the commands take it: ``SESSION@CHECKPOINT``."""
    return f"{one_line(ref.session_id)}@{ref.checkpoint_id}"


def shortened(checkpoint_id: str) -> str:
    """The beginning of an id that two checkpoints share only if made within 100 ns.

    >>> shortened("1ef4f797-8335-6428-8001-8a1503f9b875")
    '1ef4f797-8335-6428'
    """
    return checkpoint_id[:18] if len(checkpoint_id) == 36 else one_line(checkpoint_id)


def marks(entry: TimelineEntry, session: SessionSummary, labels: Sequence[Label] = ()) -> list[str]:
    """What is remarkable about a checkpoint of a session's timeline.

    ``head``; ``fork-point``, where the session begins; ``forks:N``, where others do; ``inherited``,
    from before the session began; ``label:NAME``, in JSON's quotes if there are spaces in it.
    """
    found = []
    if entry.checkpoint_id == session.head:
        found.append("head")
    if session.forked_from and entry.checkpoint_id == session.forked_from.checkpoint_id:
        found.append("fork-point")
    if entry.forks:
        found.append(f"forks:{entry.forks}")
    if entry.inherited:
        found.append("inherited")
    for label in labels:
        if label.checkpoint_id == entry.checkpoint_id:
            quoted = len(label.name.split()) != 1
            found.append(f"label:{json.dumps(label.name) if quoted else one_line(label.name)}")
    return found


def examined(diagnosis: Diagnosis) -> str:
    """How much an examination looked at."""
    return (
        f"{diagnosis.sessions} sessions, {diagnosis.checkpoints} checkpoints, "
        f"{diagnosis.values} values"
    )


def question_text(question: InterruptRecord) -> str:
    """An open question on one line: its text where there is one, else the whole value."""
    value = question.value
    asked = value.get("question") if isinstance(value, dict) else None
    return one_line(asked if isinstance(asked, str) else value)


def message_change_lines(change: MessageChange) -> list[str]:
    """A changed message as lines of a diff: ``-`` before, ``+`` after."""
    lines = []
    if change.before is not None:
        lines.append(f"- {one_line(change.before)}")
    if change.after is not None:
        lines.append(f"+ {one_line(change.after)}")
    return lines


def plan_lines(plan: ForkPlan) -> list[tuple[str, Any]]:
    """A plan as names and values, in the order one would ask.

    What runs again is left out when nothing is known of it: without a graph it never is.
    """
    questions = [question_text(question) for question in plan.interrupts]
    runs_again = [("runs again", ", ".join(plan.rerun))] if plan.rerun else []
    return [
        ("source", address(plan.source)),
        ("destination", plan.destination),
        ("pending", plan.pending),
        ("source has gone on", "yes" if plan.superseded else "no"),
        ("checkpoints to write", plan.checkpoints),
        ("writes to carry", plan.writes),
        ("bytes to write", plan.bytes),
        ("open questions", "; ".join(questions)),
        *runs_again,
    ]
