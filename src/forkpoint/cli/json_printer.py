"""Output for programs: one JSON document a command, with everything the plain forms leave out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from forkpoint.cli.forest import Branch, walk
from forkpoint.cli.jsonable import jsonable
from forkpoint.model import Comparison, Fork, ForkPlan, StateSnapshot, TimelineEntry
from forkpoint.store import SessionSummary


@dataclass(frozen=True)
class JsonPrinter:
    """Prints to `out`; non-ASCII text is escaped, so any state can be printed anywhere."""

    out: TextIO

    def tree(self, forest: Sequence[Branch]) -> None:
        self.document([branch.session for _, branch in walk(forest)])

    def timeline(self, session: SessionSummary, entries: Sequence[TimelineEntry]) -> None:
        self.document({"session": session, "checkpoints": entries})

    def state(self, snapshot: StateSnapshot) -> None:
        self.document(snapshot)

    def comparison(self, comparison: Comparison) -> None:
        self.document({**jsonable(comparison), "same": comparison.same})

    def plan(self, plan: ForkPlan) -> None:
        self.document(plan)

    def fork(self, fork: Fork) -> None:
        self.document(fork)

    def document(self, value: Any) -> None:
        """Print any value as a document of its own."""
        print(json.dumps(jsonable(value), indent=2), file=self.out)
