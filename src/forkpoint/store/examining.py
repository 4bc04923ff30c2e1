"""The doctor: every invariant of a database, checked while others go on writing.

The database is looked at piece by piece, each in one moment of it: a family of sessions with its
rows and values, a page of constant metadata, a page of threads. Within a moment every transaction
has happened or has not, so whatever is found wrong is wrong. Memory holds one family at a time, and
of its values only their numbers.

Nothing is written. What can be mended is `repairing`'s business.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any

from forkpoint.errors import DatabaseBusyError, DatabaseError, StoreClosedError
from forkpoint.model import Diagnosis, Finding
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.examining_family import MALFORMED, Family, ReplayedChannels, TermReader, told
from forkpoint.store.examining_rows import RowExaminer
from forkpoint.store.examining_sessions import SessionExaminer
from forkpoint.store.examining_values import Trace
from forkpoint.store.terms import item_key, item_value

Progress = Callable[[int, int], Any]
"""Called with (done, total) sessions."""

_PAGE = 500
_LAST_FAMILY = 2**31 - 1
_OWNED_BY_THREADS = {
    "checkpoint_threads_from": "checkpoints",
    "pending_threads_from": "writes",
    "early_threads_from": "waiting writes",
    "noted_threads_from": "notes of metadata",
}
"""By statement, what it finds the threads of."""


class Examiner:
    """Examines one database.

    `replayed` tells, from what the layer above stored with a checkpoint, which of its channels are
    rebuilt from its ancestors.
    """

    def __init__(self, driver: Driver, replayed: ReplayedChannels) -> None:
        self._driver = driver
        self._replayed = replayed

    def examine(self, progress: Progress | None = None) -> Diagnosis:
        """Look at everything, and say what is wrong."""
        examined = _Examined()
        findings: list[Finding] = []
        for examine in (
            self._file,
            self._threads,
            self._owned,
            self._labels,
            self._metadata,
            self._items,
            partial(self._families, examined, progress),
        ):
            findings += _unless_unreadable(self._driver.url, examine)
        return Diagnosis(tuple(findings), examined.sessions, examined.checkpoints, examined.values)

    def _file(self) -> Iterator[Finding]:
        for text in self._driver.check_file():
            yield Finding("file", "error", self._driver.url, text, repairable=False)

    # -- families -----------------------------------------------------------------------------

    def _families(self, examined: _Examined, progress: Progress | None) -> Iterator[Finding]:
        with self._driver.read() as db:
            total: int = db.one("count_sessions")[0]
        terms = TermReader()
        family = 0
        while (found := self._following(family)) is not None:
            family, before = found, examined.sessions
            yield from _unless_unreadable(
                f"family {family}", partial(self._family, family, terms, examined)
            )
            if progress is not None and examined.sessions > before:
                progress(examined.sessions, max(examined.sessions, total))

    def _following(self, family: int) -> int | None:
        """The next family that there is anything of."""
        if family >= _LAST_FAMILY:
            return None
        with self._driver.read() as db:
            of_session, of_counter, *of_values = db.one(
                "next_family", after=family, low=(family + 1) << 32
            )
        numbers = [of_session, of_counter, *(n and n >> 32 for n in of_values)]
        return min((number for number in numbers if number is not None), default=None)

    def _family(self, number: int, terms: TermReader, examined: _Examined) -> Iterator[Finding]:
        with self._driver.read() as db:
            family = Family(db, number)
            examined.sessions += len(family.members)
            if family.being_imported:
                yield _import(number)
                return
            trace = Trace(number, lambda term: terms.has(db, term))
            rows = RowExaminer(family, trace, terms, self._replayed)
            sessions = SessionExaminer(family, rows.rows)
            yield from rows.findings()
            yield from sessions.findings()
            yield from trace.settle(db, family.where)
            yield from sessions.counter(trace.highest)
            examined.checkpoints += rows.checkpoints
            examined.values += trace.values

    # -- what belongs to nobody ---------------------------------------------------------------

    def _threads(self) -> Iterator[Finding]:
        after = 0
        while True:
            with self._driver.read() as db:
                rows = db.all("threads_from", after=after, limit=_PAGE)
            for thread, session, there in rows:
                if there is None:
                    yield _orphan(thread, f"its session, {session}, is gone")
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def _owned(self) -> Iterator[Finding]:
        for statement, what in _OWNED_BY_THREADS.items():
            after = -(2**63)
            while True:
                with self._driver.read() as db:
                    rows = db.all(statement, after=after, limit=_PAGE)
                for thread, there in rows:
                    if there is None:
                        yield _orphan(thread, f"it is gone, and {what} of it are left")
                if len(rows) < _PAGE:
                    break
                after = rows[-1][0]

    def _labels(self) -> Iterator[Finding]:
        after = -(2**63)
        while True:
            with self._driver.read() as db:
                rows = db.all("labelled_sessions_from", after=after, limit=_PAGE)
            for session, there in rows:
                if there is None:
                    yield Finding(
                        "label",
                        "warning",
                        f"session {session}",
                        "it is gone, and labels of it are left",
                        repairable=True,
                        details={"session": session},
                    )
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    # -- metadata -----------------------------------------------------------------------------

    def _metadata(self) -> Iterator[Finding]:
        after = 0
        while True:
            with self._driver.read() as db:
                rows = db.all("metadata_from", after=after, limit=_PAGE)
                yield from self._metadata_page(db, rows)
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def _metadata_page(self, db: Connection, rows: list[Any]) -> Iterator[Finding]:
        wanted: dict[tuple[str, str], list[int]] = {}
        for number, digest, body in rows:
            text = None
            if sha256(body.encode()).digest()[:16] != bytes(digest):
                text = "it is not what its digest says"
            try:
                for entry in index_entries(body):
                    wanted.setdefault(entry, []).append(number)
            except MALFORMED as error:
                text = f"it cannot be read ({told(error)})"
            if text is not None:
                details = {"number": number}
                yield Finding("metadata", "error", f"metadata {number}", text, False, details)
        lacking: set[int] = set()
        for (name, value), numbers in wanted.items():
            found = db.all("metadata_having", name=name, value=value, metadata=db.members(numbers))
            lacking.update(set(numbers) - {row[0] for row in found})
        for number in sorted(lacking):
            yield Finding(
                "metadata",
                "error",
                f"metadata {number}",
                "filters do not find it: entries of it are not in the index",
                repairable=True,
                details={"number": number},
            )

    def _items(self) -> Iterator[Finding]:
        name, value, number = "", "", -1
        while True:
            with self._driver.read() as db:
                rows = db.all(
                    "metadata_items_from", name=name, value=value, metadata=number, limit=_PAGE
                )
            for name, value, number, body in rows:
                if body is None or not _has_entry(body, name, value):
                    yield Finding(
                        "metadata",
                        "warning" if body is None else "error",
                        f"metadata {number}",
                        f"the index says that it has {name} = {value}, which it has not",
                        repairable=True,
                        details={"number": number, "name": name, "value": value},
                    )
            if len(rows) < _PAGE:
                return


class _Examined:
    """How much was looked at."""

    sessions = checkpoints = values = 0


@lru_cache(2_000)
def index_entries(body: str) -> frozenset[tuple[str, str]]:
    """The entries under which filters find some constant metadata. Raises one of `MALFORMED`."""
    return frozenset((item_key(key), item_value(value)) for key, value in json.loads(body).items())


def _has_entry(body: str, name: str, value: str) -> bool:
    try:
        return (name, value) in index_entries(body)
    except MALFORMED:
        return True


def _import(family: int) -> Finding:
    return Finding(
        "import",
        "info",
        f"family {family}",
        "a session is being imported, or its import was broken off and is cleared away later",
        repairable=False,
        details={"family": family},
    )


def _orphan(thread: int, text: str) -> Finding:
    where, details = f"thread {thread}", {"thread": thread}
    return Finding("orphan", "warning", where, text, repairable=True, details=details)


def _unless_unreadable(where: str, examine: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """What an examination finds, up to where the database cannot be read."""
    findings: list[Finding] = []
    try:
        findings.extend(examine())
    except (StoreClosedError, DatabaseBusyError):
        raise
    except DatabaseError as error:
        text = f"it cannot be read to its end: {error}"
        findings.append(Finding("file", "error", where, text, repairable=False))
    return findings
