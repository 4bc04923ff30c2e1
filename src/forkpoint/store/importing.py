"""Reading a session out of an archive, into a database where nobody has its name.

The file is read through once before anything is written. Then its parts are written one after the
other, each in a transaction of its own, into a session that nobody sees: it has no name, and counts
as deleted. The last transaction gives it its name. An import that was killed leaves such a session
behind; the next import, or a collection, takes it away.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from typing import Any, BinaryIO

import ormsgpack

from forkpoint.errors import (
    ArchiveError,
    ConflictError,
    DestinationNotEmptyError,
    InvalidArgumentError,
)
from forkpoint.model import ImportReport
from forkpoint.store.archive import ArchiveReader
from forkpoint.store.cells import SEALED, Vault
from forkpoint.store.clock import now
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.exporting import DIGEST_KEY
from forkpoint.store.lineage import BESIDE, NEVER_SHOWN
from forkpoint.store.origins import packed
from forkpoint.store.records import WAITING_FOR_ROOT
from forkpoint.store.referring import renamed
from forkpoint.store.removing import Remover
from forkpoint.store.sessions import Sessions
from forkpoint.store.terms import Fresh, Terms
from forkpoint.store.values import unpacked
from forkpoint.store.verifying import Contents, Report, verify

logger = logging.getLogger(__name__)

_IDLE = 3_600_000_000
"""Microseconds after which an import that has not gone on is taken for dead."""

_HIDDEN = (0, NEVER_SHOWN, BESIDE)
"""By how an archive tells it."""

OpenVault = Callable[[bytes], Vault]
"""From the stored key of digests, itself encrypted, to the vault that it belongs to. Raises
`DatabaseError` when it was encrypted with another key."""


@dataclass(slots=True)
class _Import:
    """An import that is under way."""

    session: int
    word: str
    """Only this import knows it: whoever gives the import up takes it away."""
    threads: list[int]
    sealed_anew: tuple[Vault, Vault] | None
    """How values are opened, and how their digests are made here; None when digests stay."""
    terms: dict[int, int] = field(default_factory=dict)
    """By number in the archive."""
    metadata: dict[int, dict[str, Any]] = field(default_factory=dict)


class Importer:
    """Reads archives into one database."""

    def __init__(self, driver: Driver, sessions: Sessions, terms: Terms, remover: Remover) -> None:
        self._driver = driver
        self._sessions = sessions
        self._terms = terms
        self._remover = remover

    def import_session(
        self, path: str, name: str | None, open_vault: OpenVault | None, report: Report
    ) -> ImportReport:
        """Read a session out of a file; its name is the one that it had, if none is given.

        Raises `ArchiveError`, `DestinationNotEmptyError`, `ConflictError` when its values are
        encrypted and this database has a key of its own, `InvalidArgumentError` for a path that
        cannot be read.
        """
        try:
            file = open(path, "rb")  # noqa: SIM115
        except OSError as error:
            raise InvalidArgumentError("path", f"{path!r} cannot be read ({error})") from error
        with file:
            if name is not None:
                self._require_free(name)
            contents = verify(ArchiveReader(file, path), path, report)
            name = contents.head.name if name is None else name
            self._require_free(name)
            self.give_up_idle()
            begun = self._begin(name, contents, self._sealed_anew(contents, open_vault))
            try:
                self._write_parts(file, path, contents, begun, report)
                self._finish(name, contents, begun)
            except BaseException:
                self._give_up(begun.session)
                raise
            size = file.seek(0, 2)
        self._sessions.forget(name)
        origins = contents.head.origins
        return ImportReport(
            session_id=name,
            exported_as=contents.head.name,
            checkpoints=contents.checkpoints,
            writes=contents.writes,
            values=contents.values,
            bytes=size,
            sha256=contents.digest.hex(),
            forked_from=origins[0].told() if origins else None,
            skipped=tuple(dict.fromkeys(contents.skipped)),
        )

    def give_up_idle(self, idle: int = _IDLE) -> int:
        """Take away what imports have left that were killed: those that have not gone on for some
        microseconds. How many there were."""
        with self._driver.read() as db:
            found = db.all("imports_idle", before=now() - idle)
        for session, _ in found:
            self._give_up(session)
        return len(found)

    # -- before -------------------------------------------------------------------------------

    def _require_free(self, name: str) -> None:
        with self._driver.read() as db:
            if db.one("live_session", name=name) is not None:
                raise _taken(name)

    def _sealed_anew(
        self, contents: Contents, open_vault: OpenVault | None
    ) -> tuple[Vault, Vault] | None:
        """How encrypted values are to be recognised here: by digests under this database's key."""
        with self._driver.read() as db:
            row = db.one("setting", name=DIGEST_KEY)
        if not contents.sealed or row is None or bytes(row[0]) == contents.key:
            return None
        if open_vault is None:
            raise ConflictError(
                "the archive's values are encrypted, and this database has a key for encrypted "
                "values already, which may be another one. Give the import the EncryptedSerializer "
                "that opens both (import_session(..., serde=...)); nothing was imported"
            )
        assert contents.key is not None
        return open_vault(contents.key), open_vault(bytes(row[0]))

    # -- writing ------------------------------------------------------------------------------

    def _begin(
        self, name: str, contents: Contents, sealed_anew: tuple[Vault, Vault] | None
    ) -> _Import:
        head = contents.head
        word = token_hex(16)
        origin = head.origins[0] if head.origins else None

        def work(db: Connection) -> tuple[int, list[int]]:
            session = db.insert(
                "begin_import",
                now=now(),
                created=head.created,
                touched=head.touched,
                tick=head.tick,
                depth=head.depth,
                root=name if origin is None else head.root,
                workspace=head.workspace,
                agent=head.agent,
                ancestry=packed(head.origins[1:]),
                origin_session=origin and origin.session,
                origin_checkpoint=origin and origin.checkpoint,
                by=origin and origin.by,
                reason=origin and origin.reason,
                run=origin and origin.run,
                pending=head.pending,
                request=word,
            )
            db.run("own_family", id=session)
            db.run("insert_family", id=session)
            db.one("reserve_numbers", family=session, count=head.next - 1)
            threads = [
                self._sessions.new_thread(db, session, namespace) for namespace, _ in head.threads
            ]
            return session, threads

        session, threads = self._driver.write(work)
        return _Import(session, word, threads, sealed_anew)

    def _write_parts(
        self, file: BinaryIO, path: str, contents: Contents, begun: _Import, report: Report
    ) -> None:
        file.seek(0)
        reader = ArchiveReader(file, path)
        write: dict[str, Callable[[Connection, _Import, list[Any]], None]] = {
            "CKPT": self._write_checkpoints,
            "WRIT": self._write_writes,
            "WAIT": self._write_waiting,
            "LIST": self._write_lists,
            "SLOT": self._write_slots,
            "VALU": self._write_values,
        }
        for name, payload in reader.parts():
            if name == "TERM":
                self._write_terms(begun, payload)
            elif name == "META":
                begun.metadata |= {number: json.loads(body) for number, body in payload}
            elif name in write:
                self._driver.write(partial(self._go_on, begun, write[name], payload))
            report(reader.size + reader.position, 2 * reader.size)
        if reader.digest != contents.digest:
            raise ArchiveError(f"{path}: changed while it was imported; nothing was imported")

    def _go_on(
        self,
        begun: _Import,
        write: Callable[[Connection, _Import, list[Any]], None],
        records: list[Any],
        db: Connection,
    ) -> None:
        self._require_under_way(db, begun)
        write(db, begun, records)

    def _require_under_way(self, db: Connection, begun: _Import) -> None:
        if not db.run("go_on_importing", id=begun.session, request=begun.word, now=now()):
            raise ConflictError(
                "the import was taken for dead by somebody else, because it had not gone on for an "
                "hour; nothing was imported. Import the file again"
            )

    def _write_terms(self, begun: _Import, records: list[Any]) -> None:
        def work(db: Connection) -> tuple[dict[int, int], Fresh]:
            self._require_under_way(db, begun)
            fresh = Fresh()
            numbers = {
                number: self._terms.number(db, fresh, ormsgpack.unpackb(body))
                for number, body in records
            }
            return numbers, fresh

        made = self._driver.write(work, lambda made: self._terms.committed(made[1]))
        begun.terms |= made[0]

    def _write_checkpoints(self, db: Connection, begun: _Import, records: list[Any]) -> None:
        numbers: dict[int, int] = {}
        fresh = Fresh()
        used: set[tuple[int, int]] = set()
        rows: list[dict[str, Any]] = []
        for (
            thread,
            n,
            cid,
            lane,
            parent,
            root,
            hidden,
            step,
            turn,
            described,
            size,
            body,
        ) in records:
            if described not in numbers:
                entries = begun.metadata[described]
                numbers[described] = self._terms.metadata_number(db, fresh, entries)
            used.add((numbers[described], begun.threads[thread]))
            rows.append(
                {
                    "thread": begun.threads[thread],
                    "n": n,
                    "cid": cid,
                    "lane": lane,
                    "parent": parent,
                    "root": root,
                    "hidden": _HIDDEN[hidden],
                    "step": step,
                    "turn": turn,
                    "metadata": numbers[described],
                    "size": size,
                    "body": _body_here(body, begun.terms),
                }
            )
        for metadata, thread in sorted(used):
            self._terms.note_thread(db, metadata, thread)
        db.many("insert_moved", rows)

    def _write_writes(self, db: Connection, begun: _Import, records: list[Any]) -> None:
        db.many(
            "insert_pending",
            [
                {
                    "thread": begun.threads[thread],
                    "n": n,
                    "w": w,
                    "task": task,
                    "body": _write_here(body, begun.terms),
                }
                for thread, n, w, task, body in records
            ],
        )

    def _write_waiting(self, db: Connection, begun: _Import, records: list[Any]) -> None:
        rows: list[dict[str, Any]] = []
        for thread, cid, w, task, body in records:
            if task == WAITING_FOR_ROOT:
                of, n = ormsgpack.unpackb(body)
                body = ormsgpack.packb([begun.threads[of], n])
            else:
                body = _write_here(body, begun.terms)
            rows.append(
                {
                    "thread": begun.threads[thread],
                    "cid": cid,
                    "w": w,
                    "task": task,
                    "body": body,
                }
            )
        db.many("insert_early", rows)

    def _write_lists(self, db: Connection, begun: _Import, records: list[Any]) -> None:
        high = begun.session << 32
        db.many(
            "insert_list",
            [
                {
                    "id": high | number,
                    "base": None if base is None else high | base,
                    "base_length": length,
                }
                for number, base, length in records
            ],
        )

    def _write_slots(self, db: Connection, begun: _Import, records: list[Any]) -> None:
        high = begun.session << 32
        db.many(
            "insert_item",
            [
                {
                    "list": high | number,
                    "i": i,
                    "blob": None if blob is None else high | blob,
                    "cell": cell,
                }
                for number, i, blob, cell in records
            ],
        )

    def _write_values(self, db: Connection, begun: _Import, records: list[Any]) -> None:
        high = begun.session << 32
        db.many(
            "insert_blob",
            [
                {
                    "id": high | number,
                    "digest": _digest_here(digest, data, begun.sealed_anew),
                    "data": data,
                }
                for number, digest, data in records
            ],
        )

    # -- after --------------------------------------------------------------------------------

    def _finish(self, name: str, contents: Contents, begun: _Import) -> None:
        def work(db: Connection) -> None:
            self._require_under_way(db, begun)
            if db.one("live_session", name=name) is not None:
                raise _taken(name)
            if contents.sealed:
                row = db.one("setting", name=DIGEST_KEY)
                if row is None:
                    db.run("insert_setting", name=DIGEST_KEY, value=contents.key)
                elif bytes(row[0]) != contents.key and begun.sealed_anew is None:
                    raise ConflictError(
                        "this database got a key for encrypted values while a session with another "
                        "one was imported; nothing was imported. Import the file again"
                    )
            for thread, (_, head) in zip(begun.threads, contents.head.threads, strict=True):
                if head is not None:
                    db.run("move_head", thread=thread, n=head)
            db.many(
                "carry_label",
                [
                    {
                        "session": begun.session,
                        "name": label,
                        "cid": cid,
                        "tick": 0,
                        "gone": 0,
                        "created": created,
                    }
                    for label, cid, created in contents.labels
                ],
            )
            db.run("finish_import", id=begun.session, request=begun.word, name=name)

        self._driver.write(work)

    def _give_up(self, session: int) -> None:
        """Take away what an import has written."""

        def work(db: Connection) -> bool:
            row = db.one("session_row", id=session)
            if row is None or not db.run("give_up_import", id=session):
                return False
            db.run("soil_family", family=row[2], rows=1)
            return True

        try:
            if self._driver.write(work):
                self._remover.release(session)
        except Exception:
            # What is left is seen by nobody; a collection finds it.
            logger.warning("an unfinished import could not be taken away yet", exc_info=True)


def _taken(name: str) -> DestinationNotEmptyError:
    return DestinationNotEmptyError(
        f"session {name!r} already exists and was left as it is; import under another id"
    )


def _body_here(body: bytes, terms: dict[int, int]) -> bytes:
    """The body of a checkpoint, with the numbers that its texts have in this database."""
    names, versions, references, nodes, seen, extra = ormsgpack.unpackb(body)
    return ormsgpack.packb(
        [terms[names], versions, _renamed(references, terms), terms[nodes], seen, extra]
    )


def _write_here(body: bytes, terms: dict[int, int]) -> bytes:
    """The same for a row of writes."""
    shape, references = ormsgpack.unpackb(body)
    return ormsgpack.packb([terms[shape], _renamed(references, terms)])


def _renamed(references: Iterable[Any], terms: dict[int, int]) -> list[Any]:
    return [renamed(reference, terms) for reference in references]


def _digest_here(digest: bytes, data: bytes, sealed_anew: tuple[Vault, Vault] | None) -> bytes:
    if sealed_anew is None or data[0] != SEALED:
        return digest
    there, here = sealed_anew
    return here.digest(unpacked(data, there))
