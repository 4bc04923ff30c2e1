"""Writing a session into an archive: one moment of it, whole, values included.

Rows go first, as they are read, and say which values they need; then the lists, their items, and
the values. Values, lists and texts keep the numbers that they have in the database, so nothing has
to be decoded: an encrypted value travels encrypted. What is held in memory is where the rows are
and which values they need, never what they hold.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import ormsgpack

from forkpoint.errors import DatabaseError, InvalidArgumentError, SessionNotFoundError
from forkpoint.model import ExportReport
from forkpoint.store.archive import ArchiveWriter
from forkpoint.store.clock import now
from forkpoint.store.contents import Early, chunks, contents, early_in, writes
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.labels import seen_labels
from forkpoint.store.lineage import BESIDE
from forkpoint.store.marking import Reach
from forkpoint.store.origins import origins
from forkpoint.store.records import WAITING_FOR_ROOT
from forkpoint.store.referring import terms_of
from forkpoint.store.whole import Whole, Wholes

DIGEST_KEY = "value_digest_key"
"""Setting under which a saver that encrypts keeps the key of its digests, itself encrypted."""
OUT_OF_VIEW = 1
"""How an archive tells a row that is not in view. 0 is one that is."""
OUT_OF_VIEW_BESIDE = 2
"""The same of one that others name as their parent."""
NOTHING = 0
"""Number of the empty text in an archive; no text of a database has it."""
_EMPTY_BODY = ormsgpack.packb([NOTHING, [], [], NOTHING, [], None])
_NUMBER = 0xFFFFFFFF
_VALUES = 32
_SEEN = {0: 0, BESIDE: OUT_OF_VIEW_BESIDE}

Report = Callable[[int, int], Any]
"""Given how much is done, and how much there is to do as far as is known."""


class _Session(NamedTuple):
    created: int
    touched: int
    tick: int
    depth: int
    root: str
    workspace: str | None
    agent: str | None
    pending: str | None


@dataclass(slots=True)
class _Written:
    """What an export has written so far, and what it still must."""

    file: ArchiveWriter
    reach: Reach
    report: Report
    total: int
    done: int = 0
    terms: set[int] = field(default_factory=set)
    metadata: set[int] = field(default_factory=set)
    writes: int = 0

    def advance(self, count: int) -> None:
        self.done += count
        self.report(self.done, self.total)


class Exporter:
    """Writes sessions of one database into files."""

    def __init__(self, driver: Driver, wholes: Wholes) -> None:
        self._driver = driver
        self._wholes = wholes

    def export(self, name: str, path: str, report: Report) -> ExportReport:
        """Write a session into a file that is not there yet.

        The file appears when it is whole. Raises `SessionNotFoundError`, `InvalidArgumentError`
        for a path that cannot be written.
        """
        if os.path.lexists(path):
            raise InvalidArgumentError("path", f"{path!r} is there already and was left as it is")
        unfinished = f"{path}.{os.getpid()}.part"
        try:
            # Exclusively, and for nobody else to read: a conversation may be private.
            handle = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise InvalidArgumentError("path", f"{path!r} cannot be written ({error})") from error
        try:
            with os.fdopen(handle, "wb") as file, self._driver.read() as db:
                made = self._write(db, name, path, ArchiveWriter(file), report)
                file.flush()
                os.fsync(file.fileno())
            os.rename(unfinished, path)
            _make_durable(os.path.dirname(os.path.abspath(path)))
        except BaseException:
            with suppress(OSError):
                os.unlink(unfinished)
            raise
        return made

    def _write(
        self, db: Connection, name: str, path: str, file: ArchiveWriter, report: Report
    ) -> ExportReport:
        found = db.one("live_session", name=name)
        if found is None:
            raise SessionNotFoundError(f"there is no session {name!r} to export")
        session, family = found[0], found[1]
        whole = self._wholes.plan(db, session)
        written = _Written(file, Reach(family), report, len(whole.rows))
        namespaces = sorted(whole.heads)
        self._write_head(db, name, session, family, whole, namespaces, file)
        file.part("TERM", [[NOTHING, ormsgpack.packb([])]])
        self._write_rows(db, session, whole, namespaces, written)
        self._write_labels(db, whole, file)
        values = self._write_values(db, family, written)
        digest = file.done()
        return ExportReport(
            session_id=name,
            path=path,
            checkpoints=sum(not row.bare for row in whole.rows),
            writes=written.writes,
            values=values,
            bytes=file.size,
            sha256=digest,
        )

    def _write_head(
        self,
        db: Connection,
        name: str,
        session: int,
        family: int,
        whole: Whole,
        namespaces: list[str],
        file: ArchiveWriter,
    ) -> None:
        facts = _Session(*db.one("session_to_move", id=session))
        file.part(
            "HEAD",
            {
                "exported": now(),
                "session": {"name": name, **facts._asdict()},
                "origins": [list(origin) for origin in origins(db, session)],
                "threads": [[namespace, whole.heads[namespace]] for namespace in namespaces],
                "next": db.one("family_row", family=family)[0],
            },
        )
        key = db.one("setting", name=DIGEST_KEY)
        if key is not None:
            file.part("SEAL", bytes(key[0]))

    # -- rows ---------------------------------------------------------------------------------

    def _write_rows(
        self,
        db: Connection,
        session: int,
        whole: Whole,
        namespaces: list[str],
        written: _Written,
    ) -> None:
        places = {namespace: place for place, namespace in enumerate(namespaces)}
        own = {name: thread for thread, name, _ in db.all("threads", session=session)}
        early = {name: early_in(db, thread) for name, thread in own.items()}
        for chunk in chunks(whole.rows[::-1]):
            held = contents(db, chunk)
            records: list[list[Any]] = []
            for row in chunk:
                content = held[row.thread, row.n]
                body = _EMPTY_BODY if row.bare else bytes(content.body)
                records.append(
                    [
                        places[row.namespace],
                        row.number,
                        bytes(row.cid),
                        row.lane,
                        row.parent,
                        row.root,
                        _SEEN.get(row.hidden, OUT_OF_VIEW),
                        content.step,
                        row.turn,
                        content.metadata,
                        max(content.size, 0),
                        body,
                    ]
                )
            self._write_texts(db, written, records)
            written.file.records("CKPT", ((record, len(record[-1]) + 80) for record in records))
            full = [row for row in chunk if not row.bare]
            placed = [
                [places[row.namespace], row.number, write.w, write.task, write.body]
                for row, there in writes(db, whole, early, full)
                for write in there
            ]
            self._write_bodies(db, written, "WRIT", placed)
            written.advance(len(chunk))
        spots = {own[name]: places[name] for name in own}
        left = [
            (places[name], write)
            for name, there in early.items()
            for some in there.values()
            for write in some
        ]
        waiting = [
            [place, write.cid, write.w, write.task, told]
            for place, write in left
            if (told := _waiting_body(write, spots, whole)) is not None
        ]
        self._write_bodies(db, written, "WAIT", waiting)

    def _write_bodies(
        self, db: Connection, written: _Written, name: str, records: list[list[Any]]
    ) -> None:
        """Rows of writes; the body comes last in each."""
        needed: set[int] = set()
        for record in records:
            if record[-2] != WAITING_FOR_ROOT:
                shape, references = ormsgpack.unpackb(record[-1])
                needed |= {shape, *terms_of(references)}
                written.reach.refer(references)
                written.writes += 1
        self._write_terms(db, written, needed)
        written.file.records(name, ((record, len(record[-1]) + 60) for record in records))

    def _write_texts(
        self, db: Connection, written: _Written, records: Sequence[Sequence[Any]]
    ) -> None:
        """The texts and the metadata that some checkpoints name, as far as they are not there."""
        needed: set[int] = set()
        for record in records:
            names, _, references, nodes, _, _ = ormsgpack.unpackb(record[-1])
            needed |= {names, nodes, *terms_of(references)}
            written.reach.refer(references)
        self._write_terms(db, written, needed)
        described = {record[9] for record in records} - written.metadata
        written.metadata |= described
        written.file.records(
            "META",
            (
                ([number, body], len(body))
                for number in sorted(described)
                for (body,) in (db.one("metadata_body", id=number),)
            ),
        )

    def _write_terms(self, db: Connection, written: _Written, needed: set[int]) -> None:
        new = needed - written.terms - {NOTHING}
        written.terms |= new
        written.file.records(
            "TERM",
            (
                ([number, bytes(body)], len(body))
                for number in sorted(new)
                for (body,) in (db.one("term_body", id=number),)
            ),
        )

    def _write_labels(self, db: Connection, whole: Whole, file: ArchiveWriter) -> None:
        there = {bytes(row.cid) for row in whole.rows if not row.namespace and not row.hidden}
        labels = [
            [label.name, label.cid, label.created]
            for label in seen_labels(db, whole.view, there.__contains__).values()
        ]
        file.records("LABL", ((label, 100) for label in labels))

    # -- values -------------------------------------------------------------------------------

    def _write_values(self, db: Connection, family: int, written: _Written) -> int:
        reach = written.reach
        reach.follow(db)
        numbers = sorted(reach.lists)
        bases = {number: db.one("list_row", id=family << 32 | number) for number in numbers}
        lost = [number for number, row in bases.items() if row is None]
        if lost:
            raise _damaged(f"list {lost[0]} of family {family} is gone")
        written.file.records(
            "LIST",
            (
                ([number, None if base is None else base & _NUMBER, length], 20)
                for number, (base, length) in bases.items()
            ),
        )
        written.file.records("SLOT", self._slots(db, family, reach, bases))
        wanted = sorted(reach.blobs)
        written.total += len(wanted)
        written.file.records("VALU", self._values(db, family, wanted, written))
        return len(wanted)

    def _slots(
        self, db: Connection, family: int, reach: Reach, bases: dict[int, Any]
    ) -> Iterator[tuple[list[Any], int]]:
        for number, (_, start) in bases.items():
            stop = reach.lists[number]
            gid = family << 32 | number
            found = 0
            for i, blob, cell in db.all("slots_between", list=gid, start=start, stop=stop):
                found += 1
                if blob is not None:
                    reach.blobs.add(blob & _NUMBER)
                local = None if blob is None else blob & _NUMBER
                held = None if cell is None else bytes(cell)
                yield [number, i, local, held], 20 + len(held or b"")
            if found < stop - start:
                raise _damaged(f"list {number} of family {family} lacks items")

    def _values(
        self, db: Connection, family: int, wanted: list[int], written: _Written
    ) -> Iterator[tuple[list[Any], int]]:
        for start in range(0, len(wanted), _VALUES):
            numbers = wanted[start : start + _VALUES]
            ids = db.members(family << 32 | number for number in numbers)
            rows = {gid & _NUMBER: rest for gid, *rest in db.all("values_to_move", ids=ids)}
            for number in numbers:
                if number not in rows:
                    raise _damaged(f"value {number} of family {family} is gone")
                digest, data = map(bytes, rows[number])
                yield [number, digest, data], len(data) + 30
            written.advance(len(numbers))


def _waiting_body(write: Early, spots: dict[int, int], whole: Whole) -> bytes | None:
    """What waits, as an archive has it; None for a row that waits for its root and stays behind."""
    if write.task != WAITING_FOR_ROOT:
        return write.body
    thread, n = ormsgpack.unpackb(write.body)
    return ormsgpack.packb([spots[thread], n]) if (thread, n) in whole.numbers else None


def _damaged(what: str) -> DatabaseError:
    return DatabaseError(
        f"{what}: the database is damaged, and the session cannot be exported whole. `forkpoint "
        "doctor` says what else is"
    )


def _make_durable(directory: str) -> None:
    """A renamed file survives a power cut when its directory is written too."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
