"""Output for programs: one JSON document a command, with everything the plain forms leave out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from forkpoint.cli.forest import Branch, walk
from forkpoint.cli.jsonable import jsonable
from forkpoint.cli.reports import Report
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


@dataclass(frozen=True)
class JsonPrinter:
    """Prints to `out`; non-ASCII text is escaped, so any state can be printed anywhere."""

    out: TextIO

    def tree(self, forest: Sequence[Branch]) -> None:
        self.document([branch.session for _, branch in walk(forest)])

    def timeline(
        self,
        session: SessionSummary,
        entries: Sequence[TimelineEntry],
        labels: Sequence[Label] = (),
    ) -> None:
        self.document({"session": session, "checkpoints": entries, "labels": labels})

    def state(self, snapshot: StateSnapshot) -> None:
        self.document(snapshot)

    def comparison(self, comparison: Comparison) -> None:
        self.document({**jsonable(comparison), "same": comparison.same})

    def plan(self, plan: ForkPlan) -> None:
        self.document(plan)

    def fork(self, fork: Fork) -> None:
        self.document(fork)

    def labels(self, session_id: str, labels: Sequence[Label]) -> None:
        self.document(labels)

    def report(self, report: Report) -> None:
        self.document(report)

    def deletion(self, report: DeletionReport) -> None:
        self.document(report)

    def diagnosis(self, diagnosis: Diagnosis, report: RepairReport | None) -> None:
        self.document({**jsonable(diagnosis), "sound": diagnosis.sound, "repair": report})

    def document(self, value: Any) -> None:
        """Print any value as a document of its own."""
        print(json.dumps(jsonable(value), indent=2), file=self.out)
