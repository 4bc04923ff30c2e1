"""The seam to a database: connections that run named statements, and a way to write in turn.

Everything above this is written once for every database. A driver knows how to connect, what its
dialect is, how to take the database's one write turn, and how its errors are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Parameters = Mapping[str, Any]
Row = Sequence[Any]


class Connection(Protocol):
    """A connection inside a transaction."""

    placed: list[Any]
    """What pieces of work of the running transaction have left for those that follow in it."""

    def one(self, statement: str, /, **parameters: Any) -> Any:
        """The first row of a named statement, or None."""

    def all(self, statement: str, /, **parameters: Any) -> list[Any]:
        """Every row of a named statement."""

    def run(self, statement: str, /, **parameters: Any) -> int:
        """Run a named statement; the number of rows it touched."""

    def many(self, statement: str, parameters: Iterable[Parameters], /) -> None:
        """Run a named statement once for each set of parameters."""

    def members(self, values: Iterable[int]) -> Any:
        """A list as a parameter of ``{in:...}``."""


class Driver(Protocol):
    """One database."""

    url: str

    def read(self) -> AbstractContextManager[Connection]:
        """A connection that sees one moment of the database and never waits for a writer."""

    def write(self, work: Callable[[Connection], T], after: Callable[[], None] | None = None) -> T:
        """Run `work` in a write transaction and return its result when that is durable, and
        `after` has run.

        Work of several threads may share one transaction; each piece stands or falls alone.
        """

    def write_with_next(
        self,
        work: Callable[[Connection], Any],
        after: Callable[[], None],
        done: Callable[[BaseException | None], None],
    ) -> None:
        """Queue work for the next write transaction of this process, which begins within a
        millisecond or so, and return at once. When the work is durable, or has failed, `done` is
        called from the thread that committed; it must not block, and must not raise."""

    def close(self) -> None:
        """Finish what is queued, and give the database back. Idempotent."""
