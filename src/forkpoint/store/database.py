"""A Forkpoint store: one database, its readers and its writers.

    store = forkpoint.open("sqlite:///agent.db")

Many threads and many processes can use one database at a time. A `Store` is cheap to make, but its
memory of what it has read and written makes it faster the longer it lives: keep one for a process.
"""

from __future__ import annotations

import os
from asyncio import to_thread
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Literal, Self

from forkpoint.errors import DatabaseError, InvalidArgumentError, SessionNotFoundError
from forkpoint.model import (
    CollectionReport,
    DeletionReport,
    DetachReport,
    Diagnosis,
    ErasureReport,
    Label,
    RepairReport,
)
from forkpoint.store.bulk import Bulk
from forkpoint.store.checks import (
    LONGEST_SCHEMA,
    check_bool,
    check_checkpoint_id,
    check_choice,
    check_limit,
    check_owner,
    check_seconds,
    check_session_id,
    check_text,
)
from forkpoint.store.collecting import Collector
from forkpoint.store.deleting import POLICIES, Deleter, ForksPolicy
from forkpoint.store.detaching import Detacher
from forkpoint.store.driver import Connection, Driver
from forkpoint.store.erasing import Eraser
from forkpoint.store.examining import Examiner, Progress
from forkpoint.store.expiring import Expiry
from forkpoint.store.exporting import Exporter
from forkpoint.store.forking import Forker
from forkpoint.store.importing import Importer
from forkpoint.store.labelling import Labeller
from forkpoint.store.labels import check_label
from forkpoint.store.lineage import Lineage
from forkpoint.store.reading import Reader
from forkpoint.store.records import SessionSummary
from forkpoint.store.removing import Remover
from forkpoint.store.repairing import Repairer
from forkpoint.store.retention import Retention, RetentionPolicy, check_policy
from forkpoint.store.sessions import Sessions
from forkpoint.store.sqlite import SqliteDriver
from forkpoint.store.sweeping import Sweeper
from forkpoint.store.terms import Terms
from forkpoint.store.values import Values
from forkpoint.store.whole import Wholes
from forkpoint.store.writing import Writer


class Store:
    """Sessions, checkpoints and values in one database.

    Use `forkpoint.open` to make one, and `saver()` for LangGraph's checkpointer over it.
    """

    def __init__(
        self,
        driver: Driver,
        *,
        compress: bool = False,
        replayed: Callable[[object], Any] = lambda extra: (),
        root_id: Callable[[object], str | None] = lambda extra: None,
        stored_time: Callable[[object], int | None] = lambda extra: None,
    ) -> None:
        self._driver = driver
        self._compress = compress
        terms = Terms()
        lineage = Lineage()
        values = Values(terms, compress=compress)
        #: Plumbing for the saver: reads, writes, forks and removals.
        self.reader = Reader(driver, terms, values, lineage)
        sessions = Sessions(driver)
        self.writer = Writer(driver, sessions, terms, values, lineage)
        self.forker = Forker(driver, sessions, terms, lineage)
        self.remover = Remover(driver, sessions, terms, lineage, replayed)
        self.deleter = Deleter(driver, self.remover)
        self.wholes = Wholes(lineage, terms, replayed, root_id)
        self.detacher = Detacher(driver, sessions, terms, self.wholes, self.remover)
        self.exporter = Exporter(driver, self.wholes)
        self.importer = Importer(driver, sessions, terms, self.remover)
        self.labeller = Labeller(driver, sessions, lineage)
        self.examiner = Examiner(driver, replayed)
        self.repairer = Repairer(driver, sessions)
        sweeper = Sweeper(driver)
        expiry = Expiry(lineage, stored_time)
        self.collector = Collector(driver, terms, lineage, self.remover, sweeper, expiry, replayed)
        self.eraser = Eraser(driver, self.remover, sweeper, self.collector)
        #: How long checkpoints are kept: policies that `collect` applies.
        self.retention = Retention(driver)

    @property
    def url(self) -> str:
        """Where the database is, as `forkpoint.open` takes it."""
        return self._driver.url

    @property
    def path(self) -> str | None:
        """The database's file; None for one in memory or on a server."""
        path = self.url.removeprefix("sqlite:///")
        return None if path == self.url or path == ":memory:" else path

    # -- sessions -----------------------------------------------------------------------------

    def sessions(
        self,
        limit: int = 50,
        before: str | None = None,
        *,
        workspace: str | None = None,
        agent: str | None = None,
    ) -> list[SessionSummary]:
        """Sessions that have checkpoints, last written first; of one workspace or agent, if given.

        `before` is the session id that the last page ended with. Raises `SessionNotFoundError`
        when it is unknown.
        """
        check_limit("limit", limit)
        if before is not None:
            check_session_id("before", before)
        check_owner("workspace", workspace)
        check_owner("agent", agent)
        return self.reader.sessions(limit, before, workspace, agent)

    def session(self, session_id: str) -> SessionSummary:
        """One session. Raises `SessionNotFoundError`."""
        check_session_id("session_id", session_id)
        return self.reader.session(session_id)

    def forks_of(self, session_id: str) -> list[SessionSummary]:
        """The sessions forked from this one directly, oldest first."""
        check_session_id("session_id", session_id)
        return self.reader.forks(session_id)

    def assign(
        self, session_id: str, *, workspace: str | None = None, agent: str | None = None
    ) -> None:
        """Say which workspace a session belongs to, and which agent: `sessions` and retention ask.

        None leaves it as it is, an empty text takes it away. Forks that are taken later belong
        where their source does. Raises `SessionNotFoundError`.
        """
        check_session_id("session_id", session_id)
        check_owner("workspace", workspace)
        check_owner("agent", agent)

        def work(db: Connection) -> None:
            db.one("hold_live_session", name=session_id)
            row = db.one("belongs_to", name=session_id)
            if row is None:
                raise SessionNotFoundError(f"there is no session {session_id!r}")
            session, *owners = row
            for position, given in enumerate((workspace, agent)):
                if given is not None:
                    owners[position] = given or None
            db.run("assign", id=session, workspace=owners[0], agent=owners[1])

        self._driver.write(work)

    async def aassign(
        self, session_id: str, *, workspace: str | None = None, agent: str | None = None
    ) -> None:
        """`assign`, without blocking the event loop."""
        await to_thread(self.assign, session_id, workspace=workspace, agent=agent)

    def delete(self, session_id: str, forks: ForksPolicy = "keep") -> DeletionReport:
        """Delete a session. What becomes of the sessions forked from it, `forks` says:

        - ``keep``: they keep everything that they read through it;
        - ``refuse``: if there are any nothing is deleted, and `SessionHasForksError` names them;
        - ``cascade``: they are deleted too, and theirs, the deepest first. A fork that is taken
          meanwhile is deleted like the others.

        Runs that still write to a deleted session get `SessionDeletedError`. Raises
        `SessionNotFoundError`, and `ConflictError` when new forks overtook a cascade.
        """
        check_session_id("session_id", session_id)
        check_choice("forks", forks, POLICIES)
        return self.deleter.delete(session_id, forks)

    async def adelete(self, session_id: str, forks: ForksPolicy = "keep") -> DeletionReport:
        """`delete`, without blocking the event loop."""
        return await to_thread(self.delete, session_id, forks)

    # -- labels -------------------------------------------------------------------------------

    def label(self, session_id: str, checkpoint_id: str, name: str, replace: bool = False) -> Label:
        """Give a checkpoint of a session's root namespace a name, usable wherever its id is.

        A name is unique within its session; `replace` takes it off the checkpoint that has it.
        Forks see the labels that their source had when they were taken. Raises `ConflictError` when
        the name is taken, `SessionNotFoundError`, `CheckpointNotFoundError`, and
        `InvalidArgumentError` for a name that could be taken for something else.
        """
        check_session_id("session_id", session_id)
        check_checkpoint_id("checkpoint_id", checkpoint_id)
        check_label("name", name)
        check_bool("replace", replace)
        return self.labeller.label(session_id, checkpoint_id, name, replace=replace)

    async def alabel(
        self, session_id: str, checkpoint_id: str, name: str, replace: bool = False
    ) -> Label:
        """`label`, without blocking the event loop."""
        return await to_thread(self.label, session_id, checkpoint_id, name, replace)

    def unlabel(self, session_id: str, name: str) -> None:
        """Take a name off. Forks that were taken while it was there still see it.

        Raises `SessionNotFoundError`, and `LabelNotFoundError` when the session has not given the
        name itself.
        """
        check_session_id("session_id", session_id)
        check_label("name", name)
        self.labeller.unlabel(session_id, name)

    async def aunlabel(self, session_id: str, name: str) -> None:
        """`unlabel`, without blocking the event loop."""
        await to_thread(self.unlabel, session_id, name)

    def labels(self, session_id: str) -> tuple[Label, ...]:
        """The labels that a session sees, its own and inherited ones, oldest first. Of one name
        there is one, the session's own before any other. Raises `SessionNotFoundError`."""
        return self.labeller.labels(check_session_id("session_id", session_id))

    async def alabels(self, session_id: str) -> tuple[Label, ...]:
        """`labels`, without blocking the event loop."""
        return await to_thread(self.labels, session_id)

    def resolve(self, session_id: str, text: str) -> str:
        """The id of the root checkpoint that an id or a label names; an id comes first.

        Raises `SessionNotFoundError`, `CheckpointNotFoundError`.
        """
        check_session_id("session_id", session_id)
        return self.labeller.resolve(session_id, check_checkpoint_id("text", text))

    async def aresolve(self, session_id: str, text: str) -> str:
        """`resolve`, without blocking the event loop."""
        return await to_thread(self.resolve, session_id, text)

    # -- soundness ----------------------------------------------------------------------------

    def examine(self, progress: Progress | None = None) -> Diagnosis:
        """Check every invariant of the database, while others go on writing. Nothing is changed.

        `progress` is called with (done, total) sessions.
        """
        return self.examiner.examine(progress)

    async def aexamine(self, progress: Progress | None = None) -> Diagnosis:
        """`examine`, without blocking the event loop; `progress` is called in another thread."""
        return await to_thread(self.examine, progress)

    def repair(self, diagnosis: Diagnosis) -> RepairReport:
        """Mend what an examination found and what follows from the rest of the database.

        Each finding is looked at again before anything is changed. No stored value is touched.
        """
        return self.repairer.repair(diagnosis)

    async def arepair(self, diagnosis: Diagnosis) -> RepairReport:
        """`repair`, without blocking the event loop."""
        return await to_thread(self.repair, diagnosis)

    def detach(self, session_id: str) -> DetachReport:
        """Make a fork stand on its own: it no longer reads through the session it was taken from,
        which can then be deleted for good. It shows what it showed before, and still knows where it
        came from; sessions forked from it go on as they are. Values stay shared, so only rows are
        copied.

        A session that stands on its own already is left as it is, and the report says so. Raises
        `SessionNotFoundError`.
        """
        return self.detacher.detach(check_session_id("session_id", session_id))

    async def adetach(self, session_id: str) -> DetachReport:
        """`detach`, without blocking the event loop."""
        return await to_thread(self.detach, session_id)

    def bulk(self) -> Bulk:
        """Plumbing for whoever brings in a history: many writes in one transaction."""
        return Bulk(self._driver, compress=self._compress)

    # -- facts about the whole database -------------------------------------------------------

    def setting(self, name: str, make: Callable[[], bytes] | None = None) -> bytes | None:
        """A fact stored under a name. With `make` it is recorded first if it is not there."""
        with self._driver.read() as db:
            row = db.one("setting", name=name)
        if row is not None:
            return bytes(row[0])
        if make is None:
            return None
        value = make()

        def work(db: Connection) -> bytes:
            there = db.one("setting", name=name)
            if there is None:
                db.run("insert_setting", name=name, value=value)
                return value
            return bytes(there[0])

        return self._driver.write(work)

    # -- retention ----------------------------------------------------------------------------

    def collect(
        self,
        policy: RetentionPolicy | None = None,
        *,
        sessions: Sequence[str] | None = None,
        dry_run: bool = False,
        compact: bool = False,
        progress: Progress | None = None,
    ) -> CollectionReport:
        """Remove what no policy keeps, then everything that nobody needs any more, and give the
        room back to the file system.

        Without a `policy` the stored ones apply, each session's own; a session that has none loses
        nothing. `sessions` are those to look at, instead of all. Checkpoints leave their session's
        view some hundreds at a time, so others go on reading and writing; what forks, delta
        channels and open questions stand on stays underneath. A call that is cut off at any point,
        by a crash or by an error, has lost nothing and is taken up by the next.

        With `dry_run` nothing is written, and the report says what would go. `compact` writes the
        whole database anew, for which writers wait: it makes files smaller that were created
        by a Forkpoint that could not give room back. `progress` is called with (done, total) steps.

        Raises `SessionNotFoundError` before anything is done, and `InvalidArgumentError`.

        >>> from forkpoint.opening import open_store
        >>> with open_store("sqlite:///:memory:") as store:
        ...     store.collect(RetentionPolicy(keep_last=100)).checkpoints
        0
        """
        if policy is not None:
            check_policy(policy)
        if sessions is not None:
            if isinstance(sessions, str | bytes) or not isinstance(sessions, Sequence):
                raise InvalidArgumentError("sessions", "must be a list of session ids")
            sessions = [check_session_id("sessions", name) for name in sessions]
        check_bool("dry_run", dry_run)
        check_bool("compact", compact)
        if not dry_run:
            self.importer.give_up_idle()
        return self.collector.collect(
            policy, sessions, dry_run=dry_run, compact=compact, progress=progress
        )

    async def acollect(
        self,
        policy: RetentionPolicy | None = None,
        *,
        sessions: Sequence[str] | None = None,
        dry_run: bool = False,
        compact: bool = False,
        progress: Progress | None = None,
    ) -> CollectionReport:
        """`collect`, without blocking the event loop; `progress` is called in another thread."""
        return await to_thread(
            self.collect,
            policy,
            sessions=sessions,
            dry_run=dry_run,
            compact=compact,
            progress=progress,
        )

    def erase(self, session_id: str) -> ErasureReport:
        """Delete a session so that nothing of it is left that nobody else holds: its rows, values
        and metadata are gone from the database and, on SQLite, from its files.

        What it shares with forks, and with the sessions that it came from, is theirs too and stays;
        so do, unseen, the checkpoints that forks read through it. The report names both: erase
        those sessions as well, or detach and erase them, for nothing to stay. A session that was
        deleted before can still be erased.

        The session's name stays, as a tombstone that keeps runs which were still writing from
        bringing it back, and forks go on knowing the name of what they came from. So an id should
        tell nothing about a person. Texts that say how values are built (the names of channels,
        nodes, and keys of dictionaries that a graph was called with) are shared by all sessions and
        stay too. On PostgreSQL the bytes are gone for every query; the server's files hold them
        until it reuses the room, or until `collect` with ``compact=True``.

        Raises `SessionNotFoundError`.
        """
        return self.eraser.erase(check_session_id("session_id", session_id))

    async def aerase(self, session_id: str) -> ErasureReport:
        """`erase`, without blocking the event loop."""
        return await to_thread(self.erase, session_id)

    # -- life ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Finish what is queued and let go of the database; later calls raise `StoreClosedError`.

        Idempotent.
        """
        self._driver.close()

    async def aclose(self) -> None:
        """`close`, for `async` code."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def driver_for(
    url: str | os.PathLike[str],
    *,
    schema: str | None = None,
    durability: Literal["full", "normal"] = "full",
    busy_timeout: float = 30.0,
    create: bool = True,
) -> Driver:
    """The driver for a URL or a path. Raises `InvalidArgumentError` for one that is neither."""
    check_choice("durability", durability, ("full", "normal"))
    check_seconds("busy_timeout", busy_timeout)
    check_bool("create", create)
    if schema is not None:
        check_text("schema", schema, LONGEST_SCHEMA)
    if isinstance(url, os.PathLike):
        url = os.fspath(url)
    if not isinstance(url, str):
        raise InvalidArgumentError("url", f"must be text or a path, not {type(url).__name__}")
    scheme, separator, rest = url.partition("://")
    if separator and scheme in ("postgresql", "postgres"):
        return _postgres(
            url, schema=schema, durability=durability, busy_timeout=busy_timeout, create=create
        )
    if not separator:
        path = url
    elif scheme == "sqlite":
        path = rest.removeprefix("/")
    else:
        raise InvalidArgumentError(
            "url",
            f"{scheme}:// is not a database this version opens; use sqlite:///FILE or "
            "postgresql://HOST/DATABASE",
        )
    if not path or "\0" in path:
        raise InvalidArgumentError("url", "names no file; use sqlite:///FILE or sqlite:///:memory:")
    return SqliteDriver(path, durability=durability, busy_timeout=busy_timeout, create=create)


def _postgres(url: str, **options: Any) -> Driver:
    try:
        from forkpoint.store.postgres import PostgresDriver
    except ImportError as error:
        raise DatabaseError(
            f"PostgreSQL needs psycopg, which is not installed ({error}); "
            "pip install 'forkpoint[postgres]'"
        ) from error
    return PostgresDriver(url, **options)


__all__ = ["Store", "driver_for"]
