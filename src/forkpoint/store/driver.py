"""What the store asks of a database: named statements inside transactions.

`Connection` runs statements of the `.sql` files by name. `Driver` hands connections out: for
reading, and for writing, where the work of several threads may share one transaction. Nothing
above this knows which database it is.

Work is a function of a connection, and may be run more than once: when a database asks for it to be
tried again, or as a **draft** first. A draft only writes statements down, to send them all at once;
it cannot read. Work that meets a read in a draft is run again for real, so work keeps no state of
its own between runs and leaves what it learned in its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

from forkpoint.errors import ConnectionLostError

P = ParamSpec("P")
T = TypeVar("T")
_READ_AGAIN = 2
Parameters = Mapping[str, Any]
Row = Sequence[Any]


def repeatable(read: Callable[P, T]) -> Callable[P, T]:
    """A function that only reads: it is run again when the connection is lost under it."""

    @wraps(read)
    def again(*arguments: P.args, **keywords: P.kwargs) -> T:
        for _ in range(_READ_AGAIN):
            try:
                return read(*arguments, **keywords)
            except ConnectionLostError:
                continue
        return read(*arguments, **keywords)

    return again


class StaleError(Exception):
    """What the work took for granted is not so any more: it is run again, trusting nothing."""


class Space(NamedTuple):
    """What became of the room that deletion freed."""

    given_back: int
    """Bytes by which the database became smaller."""
    free: int | None
    """Bytes that are still free inside; None where that is not known."""
    settled: bool
    """Whether what was deleted is gone from every file."""


class Connection(Protocol):
    """A connection inside a transaction."""

    placed: list[Any]
    """What pieces of work of the running transaction have left for those that follow in it."""
    known: dict[str, Any]
    """The same for what they know of sessions, by name."""
    drafting: bool
    """True when nothing can be read: statements are written down and sent together later. A row
    count is then what the work hopes for; if it is wrong, all of it is undone and run again."""
    trusts: bool
    """False when the work is run again because something that was remembered was wrong."""

    def one(self, statement: str, /, **parameters: Any) -> Any:
        """The first row of a named statement, or None."""

    def all(self, statement: str, /, **parameters: Any) -> list[Any]:
        """Every row of a named statement."""

    def run(self, statement: str, /, **parameters: Any) -> int:
        """Run a named statement; the number of rows it touched."""

    def insert(self, statement: str, /, **parameters: Any) -> int:
        """Run an INSERT whose row gets a number from the database; that number."""

    def many(self, statement: str, parameters: Iterable[Parameters], /) -> None:
        """Run a named statement once for each set of parameters."""

    def members(self, values: Iterable[int]) -> Any:
        """A list as a parameter of ``{in:...}``."""


class Driver(Protocol):
    """One database."""

    url: str

    def read(self) -> AbstractContextManager[Connection]:
        """A connection that sees one moment of the database and never waits for a writer."""

    def write(
        self,
        work: Callable[[Connection], T],
        after: Callable[[T], None] | None = None,
        *,
        quick: bool = False,
    ) -> T:
        """Run `work` in a write transaction and return its result when that is durable, and
        `after` has been given it.

        Work of several threads may share one transaction; each piece stands or falls alone. `quick`
        says that the work is short, that it can mostly do without reading, and that it may be
        repeated when it is not known whether it was committed.
        """

    def write_with_next(
        self,
        work: Callable[[Connection], T],
        after: Callable[[T], None],
        done: Callable[[BaseException | None], None],
    ) -> None:
        """Queue quick work for the next write transaction of this process, which begins within a
        millisecond or so, and return at once. When the work is durable, or has failed, `done` is
        called from the thread that committed; it must not block, and must not raise."""

    def check_file(self) -> list[str]:
        """What the database itself finds wrong with how it is stored, and what of the layout is
        missing."""

    def free_space(self) -> int | None:
        """Bytes that are free inside the database; None where that is not known."""

    def give_back(self) -> Space:
        """Return to the file system what deletion freed, in small steps while others write."""

    def compact(self) -> Space:
        """Write the whole database anew, without what is free in it; writers wait."""

    def close(self) -> None:
        """Finish what is queued, and give the database back. Idempotent."""
