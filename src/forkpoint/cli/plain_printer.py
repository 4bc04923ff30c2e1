"""Output for pipes and files: whole ids, tab-separated columns, no colour, no width.

A line of `tree` is a session, indented by two spaces for each level; a line of `timeline` is a
checkpoint. An empty column is ``-``, so that the columns can be counted on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from forkpoint.cli.excerpt import is_message_list, message_text, one_line, speaker
from forkpoint.cli.forest import Branch, walk
from forkpoint.cli.reports import Report, report_lines
from forkpoint.cli.wording import (
    address,
    examined,
    marks,
    message_change_lines,
    plan_lines,
    question_text,
)
from forkpoint.model import (
    ChannelChange,
    Comparison,
    DeletionReport,
    Diagnosis,
    Fork,
    ForkPlan,
    Label,
    RepairReport,
    StateSnapshot,
    TimelineEntry,
)
from forkpoint.store import SessionSummary


@dataclass(frozen=True)
class PlainPrinter:
    """Prints to `out`."""

    out: TextIO

    def tree(self, forest: Sequence[Branch]) -> None:
        for depth, branch in walk(forest):
            session, origin = branch.session, branch.session.forked_from
            self._columns(
                "  " * depth + one_line(session.session_id),
                session.updated,
                address(origin.ref) if origin else None,
                origin.reason if origin else None,
            )

    def timeline(
        self,
        session: SessionSummary,
        entries: Sequence[TimelineEntry],
        labels: Sequence[Label] = (),
    ) -> None:
        for entry in entries:
            self._columns(
                entry.checkpoint_id,
                entry.step,
                entry.source,
                ",".join(entry.nodes),
                entry.timestamp,
                " ".join(marks(entry, session, labels)),
                entry.title,
            )

    def state(self, snapshot: StateSnapshot) -> None:
        metadata = snapshot.metadata
        self._field("session", snapshot.config.session_id)
        self._field("checkpoint", snapshot.config.checkpoint_id)
        self._field("step", metadata.step)
        self._field("source", metadata.source)
        self._field("written by", metadata.written_by)
        self._field("time", metadata.timestamp)
        if metadata.forked_from:
            self._field("forked from", address(metadata.forked_from))
        if snapshot.next:
            self._field("next", ", ".join(snapshot.next))
        for question in snapshot.interrupts:
            self._field("question", question_text(question))
        for write in snapshot.pending_writes:
            self._field("pending", f"{write.channel} = {one_line(write.value)}")
        for channel, value in snapshot.values.items():
            self._value(channel, value)

    def comparison(self, comparison: Comparison) -> None:
        ancestor = comparison.common_ancestor
        self._line(f"--- {address(comparison.before)}")
        self._line(f"+++ {address(comparison.after)}")
        self._field("common ancestor", address(ancestor) if ancestor else None)
        for change in comparison.changes:
            self._change(change)

    def plan(self, plan: ForkPlan) -> None:
        for name, value in plan_lines(plan):
            self._field(name, value)

    def fork(self, fork: Fork) -> None:
        self._columns(
            fork.session_id, fork.checkpoint_id, address(fork.forked_from.ref), fork.created
        )

    def labels(self, session_id: str, labels: Sequence[Label]) -> None:
        for label in labels:
            self._columns(
                label.checkpoint_id,
                label.created,
                "inherited" if label.inherited else None,
                label.name,
            )

    def report(self, report: Report) -> None:
        for line in report_lines(report):
            self._columns(*line)

    def deletion(self, report: DeletionReport) -> None:
        for session_id in report.deleted:
            self._columns("deleted", session_id)
        for session_id in report.kept:
            self._columns("kept", session_id)

    def diagnosis(self, diagnosis: Diagnosis, report: RepairReport | None) -> None:
        self._field("examined", examined(diagnosis))
        for finding in report.repaired if report else ():
            self._columns("repaired", finding.kind, finding.where, finding.text)
        for finding in diagnosis.findings:
            self._columns(finding.severity, finding.kind, finding.where, finding.text)
        self._field("sound", "yes" if diagnosis.sound else "no")

    def _change(self, change: ChannelChange) -> None:
        if change.messages:
            self._line(f"{one_line(change.channel)}:")
            for message in change.messages:
                for line in message_change_lines(message):
                    self._line(line)
            return
        self._line(f"{one_line(change.channel)}: {change.kind}")
        if change.kind != "added":
            self._line(f"- {one_line(change.before)}")
        if change.kind != "removed":
            self._line(f"+ {one_line(change.after)}")

    def _value(self, channel: str, value: Any) -> None:
        if not is_message_list(value):
            self._field(f"value {one_line(channel)}", value)
            return
        self._line(f"value {one_line(channel)}: {len(value)} messages")
        for message in value:
            first, *rest = message_text(message).split("\n")
            self._line(f"  {speaker(message)}: {first}")
            for line in rest:
                self._line(f"    {line}")

    def _columns(self, *values: Any) -> None:
        self._line("\t".join(_cell(value) for value in values))

    def _field(self, name: str, value: Any) -> None:
        self._line(f"{name}: {'-' if value in (None, '') else one_line(value)}")

    def _line(self, text: str) -> None:
        print(text, file=self.out)


def _cell(value: Any) -> str:
    """A value on one line, with the indent of a tree kept; ``-`` for nothing."""
    if value is None or value == "":
        return "-"
    text = value if isinstance(value, str) else one_line(value)
    content = text.lstrip(" ")
    return " " * (len(text) - len(content)) + one_line(content)
