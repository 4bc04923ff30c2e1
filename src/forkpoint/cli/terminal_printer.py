"""Output for a person at a terminal: colour, trees and tables, fitted to the window.

Nothing that an agent stored is read as markup: every text from the database goes in as
`rich.text.Text`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from forkpoint.cli.excerpt import is_message_list, message_text, one_line, speaker
from forkpoint.cli.forest import Branch
from forkpoint.cli.reports import Report, report_lines
from forkpoint.cli.wording import (
    address,
    examined,
    marks,
    message_change_lines,
    plan_lines,
    question_text,
    shortened,
)
from forkpoint.model import (
    ChannelChange,
    Comparison,
    DeletionReport,
    Diagnosis,
    Finding,
    Fork,
    ForkPlan,
    Label,
    RepairReport,
    StateSnapshot,
    TimelineEntry,
)
from forkpoint.store import SessionSummary

INTERRUPT = "__interrupt__"
SPEAKER_STYLES = {"human": "bold cyan", "ai": "bold green", "system": "bold magenta"}
FINDING_STYLES = {"error": "bold red", "warning": "yellow", "info": "dim", "repaired": "green"}
MARK_STYLES = {"head": "bold green", "inherited": "dim", "fork-point": "yellow"}


@dataclass(frozen=True)
class TerminalPrinter:
    """Prints to `console`."""

    console: Console

    def tree(self, forest: Sequence[Branch]) -> None:
        for root in forest:
            drawing = Tree(_session_label(root), guide_style="dim")
            waiting = [(drawing, root)]
            while waiting:
                node, branch = waiting.pop()
                waiting += [(node.add(_session_label(fork)), fork) for fork in branch.forks]
            self.console.print(drawing)
        if not forest:
            self._note("No sessions yet.")

    def timeline(
        self,
        session: SessionSummary,
        entries: Sequence[TimelineEntry],
        labels: Sequence[Label] = (),
    ) -> None:
        if not entries:
            self._note("No checkpoints match.")
            return
        table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("checkpoint", no_wrap=True)
        table.add_column("step", justify="right", no_wrap=True)
        table.add_column("by", no_wrap=True)
        table.add_column("turn", ratio=1, no_wrap=True, overflow="ellipsis")
        table.add_column("", no_wrap=True)
        turn = None
        for entry in entries:
            style = "dim" if entry.inherited else ""
            title = entry.title if entry.title != turn else None
            turn = entry.title
            table.add_row(
                Text(shortened(entry.checkpoint_id), style="yellow"),
                Text(str(entry.step)),
                Text(one_line(", ".join(entry.nodes) or entry.source)),
                Text(one_line(title or ""), style="cyan"),
                _marks_text(entry, session, labels),
                style=style,
            )
        self.console.print(table)

    def state(self, snapshot: StateSnapshot) -> None:
        metadata = snapshot.metadata
        facts = Table.grid(padding=(0, 2))
        facts.add_column(style="dim")
        facts.add_column()
        facts.add_row("session", Text(one_line(snapshot.config.session_id), style="bold"))
        facts.add_row("checkpoint", Text(snapshot.config.checkpoint_id, style="yellow"))
        facts.add_row("step", Text(f"{metadata.step} ({metadata.source})"))
        if metadata.written_by:
            facts.add_row("written by", Text(one_line(metadata.written_by)))
        facts.add_row("time", Text(metadata.timestamp))
        if metadata.forked_from:
            facts.add_row("forked from", Text(address(metadata.forked_from), style="yellow"))
        if snapshot.next:
            facts.add_row("next", Text(one_line(", ".join(snapshot.next))))
        self.console.print(facts)
        for question in snapshot.interrupts:
            self._open_question(question_text(question))
        for write in snapshot.pending_writes:
            if write.channel == INTERRUPT:  # shown above, as the question it is
                continue
            self.console.print(
                Text.assemble(
                    ("pending ", "dim"), one_line(write.channel), " = ", one_line(write.value, 200)
                )
            )
        for channel, value in snapshot.values.items():
            self.console.print()
            self._value(channel, value)

    def comparison(self, comparison: Comparison) -> None:
        self.console.print(Text(f"--- {address(comparison.before)}", style="red"))
        self.console.print(Text(f"+++ {address(comparison.after)}", style="green"))
        if comparison.common_ancestor:
            shared = f"in common up to {address(comparison.common_ancestor)}"
            self.console.print(Text(shared, style="dim"))
        for change in comparison.changes:
            self.console.print()
            self._change(change)
        if comparison.same:
            self._note("No channel differs.")

    def plan(self, plan: ForkPlan) -> None:
        facts = Table.grid(padding=(0, 2))
        facts.add_column(style="dim")
        facts.add_column()
        for name, value in plan_lines(plan):
            facts.add_row(name, Text("-" if value in (None, "") else one_line(value)))
        self.console.print(facts)

    def fork(self, fork: Fork) -> None:
        verb = "Forked into" if fork.created else "Forked before into"
        self.console.print(
            Text.assemble(
                f"{verb} ",
                (one_line(fork.session_id), "bold"),
                " from ",
                (address(fork.forked_from.ref), "yellow"),
            )
        )
        for question in fork.snapshot.interrupts:
            self._open_question(question_text(question))

    def labels(self, session_id: str, labels: Sequence[Label]) -> None:
        if not labels:
            self._note(f"No labels in {one_line(session_id)}.")
            return
        rows = Table.grid(padding=(0, 2))
        for label in labels:
            rows.add_row(
                Text(one_line(label.name), style="bold"),
                Text(label.checkpoint_id, style="yellow"),
                Text(label.created[:16].replace("T", " "), style="dim"),
                Text("inherited" if label.inherited else "", style="dim"),
            )
        self.console.print(rows)

    def report(self, report: Report) -> None:
        for about, subject, *figures in report_lines(report):
            rest = ", ".join(map(one_line, figures))
            self.console.print(
                Text.assemble(
                    (f"{about}  ", "dim"), (one_line(subject), "bold"), (f"  {rest}", "dim")
                )
            )

    def deletion(self, report: DeletionReport) -> None:
        for session_id in report.deleted:
            self.console.print(Text.assemble("Deleted ", (one_line(session_id), "bold")))
        for session_id in report.kept:
            self._note(f"{one_line(session_id)} was forked from it and keeps what it reads.")

    def diagnosis(self, diagnosis: Diagnosis, report: RepairReport | None) -> None:
        for finding in report.repaired if report else ():
            self._finding("repaired", finding)
        for finding in diagnosis.findings:
            self._finding(finding.severity, finding)
        verdict = ("Sound", "bold green") if diagnosis.sound else ("Not sound", "bold red")
        self.console.print(Text.assemble(verdict, (f"  {examined(diagnosis)}", "dim")))
        if any(finding.repairable for finding in diagnosis.findings):
            self._note("forkpoint doctor --repair mends what can be mended.")

    def _finding(self, word: str, finding: Finding) -> None:
        self.console.print(
            Text.assemble(
                (f"{word} ", FINDING_STYLES[word]),
                (f"{finding.kind} ", "bold"),
                (f"{one_line(finding.where)}: ", "dim"),
                one_line(finding.text),
            )
        )

    def _open_question(self, text: str) -> None:
        self.console.print(Text.assemble(("open question ", "bold yellow"), text))

    def _change(self, change: ChannelChange) -> None:
        self.console.print(Text.assemble((one_line(change.channel), "bold"), f" {change.kind}"))
        if change.messages:
            lines = [line for message in change.messages for line in message_change_lines(message)]
        else:
            before = [f"- {one_line(change.before)}"] if change.kind != "added" else []
            after = [f"+ {one_line(change.after)}"] if change.kind != "removed" else []
            lines = before + after
        for line in lines:
            style = "red" if line.startswith("-") else "green"
            self.console.print(Padding(Text(line, style=style), (0, 0, 0, 2)))

    def _value(self, channel: str, value: Any) -> None:
        name = (one_line(channel), "bold")
        if not is_message_list(value):
            self.console.print(Text.assemble(name, " ", one_line(value)))
            return
        self.console.print(Text.assemble(name, (f" {len(value)} messages", "dim")))
        messages = Table.grid(padding=(0, 2))
        messages.add_column(no_wrap=True)
        messages.add_column()
        for message in value:
            style = SPEAKER_STYLES.get(message.type, "dim")
            messages.add_row(
                Text(f"  {speaker(message)}", style=style), Text(message_text(message))
            )
        self.console.print(messages)

    def _note(self, text: str) -> None:
        self.console.print(Text(text, style="dim"))


def _session_label(branch: Branch) -> Text:
    session, origin = branch.session, branch.session.forked_from
    label = Text.assemble(
        (one_line(session.session_id), "bold"),
        (f"  {session.updated[:16].replace('T', ' ')}", "dim"),
    )
    if origin is not None:
        label.append("  at ", style="dim").append(shortened(origin.checkpoint_id), style="yellow")
        if origin.reason:
            label.append(f"  {one_line(origin.reason)}", style="italic")
    return label


def _marks_text(entry: TimelineEntry, session: SessionSummary, labels: Sequence[Label]) -> Text:
    text = Text()
    for mark in marks(entry, session, labels):
        text.append(f"{mark} ", style=MARK_STYLES.get(mark, "magenta"))
    return text
