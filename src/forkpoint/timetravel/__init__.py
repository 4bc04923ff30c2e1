"""Time travel over any LangGraph checkpointer: snapshots, history, fork, update, compare, find.

`TimeTravel` is the whole public face; `format_comparison` gives a `Comparison` as text.
"""

from forkpoint.timetravel.api import TimeTravel
from forkpoint.timetravel.comparing import format_comparison

__all__ = ["TimeTravel", "format_comparison"]
