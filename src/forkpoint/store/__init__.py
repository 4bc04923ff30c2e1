"""The plumbing: one schema, one set of SQL statements, shared values. Knows nothing of
LangGraph."""

from forkpoint.store.database import Store, driver_for
from forkpoint.store.records import SessionSummary

__all__ = ["SessionSummary", "Store", "driver_for"]
