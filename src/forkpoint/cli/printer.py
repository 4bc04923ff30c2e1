"""What the commands print, in one of three ways, chosen once.

On a terminal: `TerminalPrinter`, with colour and drawing. Into a pipe or a file: `PlainPrinter`,
lines that stay the same whatever the width. With `--json`: `JsonPrinter`, one document.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Protocol

from rich.console import Console

from forkpoint.cli.forest import Branch
from forkpoint.cli.json_printer import JsonPrinter
from forkpoint.cli.plain_printer import PlainPrinter
from forkpoint.cli.reports import Report
from forkpoint.cli.terminal_printer import TerminalPrinter
from forkpoint.model import (
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


class Printer(Protocol):
    """One method for each thing that a command shows."""

    def tree(self, forest: Sequence[Branch]) -> None: ...

    def timeline(
        self,
        session: SessionSummary,
        entries: Sequence[TimelineEntry],
        labels: Sequence[Label] = (),
    ) -> None: ...

    def state(self, snapshot: StateSnapshot) -> None: ...

    def comparison(self, comparison: Comparison) -> None: ...

    def plan(self, plan: ForkPlan) -> None: ...

    def fork(self, fork: Fork) -> None: ...

    def labels(self, session_id: str, labels: Sequence[Label]) -> None: ...

    def deletion(self, report: DeletionReport) -> None: ...

    def diagnosis(self, diagnosis: Diagnosis, report: RepairReport | None) -> None: ...

    def report(self, report: Report) -> None: ...


def printer_for(*, as_json: bool) -> Printer:
    """The printer that suits where the output goes."""
    if as_json:
        return JsonPrinter(sys.stdout)
    if sys.stdout.isatty():
        return TerminalPrinter(Console())
    return PlainPrinter(sys.stdout)
