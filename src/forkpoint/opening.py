"""The way in: open a database, get a saver."""

from __future__ import annotations

import os
from asyncio import to_thread
from functools import partial
from typing import Literal

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from forkpoint.checkpoints import replayed_channels, root_id, stored_time
from forkpoint.decoding import keyed_vault
from forkpoint.model import ExportReport, ImportReport, StockImport
from forkpoint.saver import ForkpointSaver
from forkpoint.stock import Bringer, leaving_alone, open_source
from forkpoint.store.checks import check_bool, check_choice, check_path, check_session_id
from forkpoint.store.database import Store as Plumbing
from forkpoint.store.database import driver_for
from forkpoint.store.examining import Progress


def _nobody_asks(done: int, total: int) -> None:
    """Progress that nobody wants to hear of."""


class Store(Plumbing):
    """An open database. Made by `forkpoint.open`; close it, or use it in a `with` block.

    >>> with open_store("sqlite:///:memory:") as store:
    ...     store.sessions()
    []
    """

    def saver(
        self, serde: SerializerProtocol | None = None, *, share_values: bool = False
    ) -> ForkpointSaver:
        """A LangGraph checkpoint saver over this database.

        `serde` is any LangGraph serializer, `EncryptedSerializer` included; the default is
        LangGraph's own. `share_values=True` hands the same decoded messages to every reader: much
        faster for long conversations, right only if no node changes a message in place.
        """
        return ForkpointSaver(self, serde=serde, share_values=share_values)

    def export(
        self, session_id: str, path: str | os.PathLike[str], progress: Progress | None = None
    ) -> ExportReport:
        """Write a session into a file: one moment of it, with its values and its lineage, on its
        own even if it is a fork. The file must not be there yet, and appears when it is whole.

        `progress` is called with what is done and what there is to do. Raises
        `SessionNotFoundError`, `InvalidArgumentError` for a path that cannot be written.
        """
        check_session_id("session_id", session_id)
        return self.exporter.export(session_id, check_path("path", path), progress or _nobody_asks)

    async def aexport(
        self, session_id: str, path: str | os.PathLike[str], progress: Progress | None = None
    ) -> ExportReport:
        """`export`, without blocking the event loop."""
        return await to_thread(self.export, session_id, path, progress)

    def import_session(
        self,
        path: str | os.PathLike[str],
        session_id: str | None = None,
        *,
        serde: SerializerProtocol | None = None,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Read a session out of a file that `export` has written, here or elsewhere.

        Its id is the one that it had, if none is given. The file is read through before anything
        is written, and the session is there when all of it is. `serde` is needed only when values
        are encrypted and this database has encrypted values of its own: the
        `EncryptedSerializer` that opens both. `progress` is called with what is done and what there
        is to do.

        Raises `ArchiveError` (truncated, altered, or no archive), `NewerArchiveError`,
        `DestinationNotEmptyError`, `ConflictError`, `InvalidArgumentError`; nothing is imported
        then.
        """
        if session_id is not None:
            check_session_id("session_id", session_id)
        open_vault = partial(keyed_vault, serde) if isinstance(serde, EncryptedSerializer) else None
        return self.importer.import_session(
            check_path("path", path), session_id, open_vault, progress or _nobody_asks
        )

    async def aimport_session(
        self,
        path: str | os.PathLike[str],
        session_id: str | None = None,
        *,
        serde: SerializerProtocol | None = None,
        progress: Progress | None = None,
    ) -> ImportReport:
        """`import_session`, without blocking the event loop."""
        return await to_thread(
            self.import_session, path, session_id, serde=serde, progress=progress
        )

    def import_from_langgraph(
        self,
        kind: Literal["sqlite", "postgres"],
        url: str,
        *,
        serde: SerializerProtocol | None = None,
        progress: Progress | None = None,
    ) -> StockImport:
        """Bring in every thread of a database that LangGraph's own saver has written:
        checkpoints of all namespaces, pending writes, metadata.

        The source is read only, and may be in use. Every snapshot is compared on both sides
        afterwards. Called again, it adds what is new. A thread that is here already with other
        content is left alone, like any that cannot be read: `refused` of the report says why.

        `kind` is ``"sqlite"`` (`url` is a path) or ``"postgres"``. `serde` is the saver's
        serializer, needed only if it is not LangGraph's default; types of the application need not
        be importable. `progress` is called with the checkpoints that are done and those there are.

        Raises `InvalidArgumentError`, `DatabaseError`, or `CapabilityError` when LangGraph's
        package for the source is not installed.
        """
        check_choice("kind", kind, ("sqlite", "postgres"))
        left_alone = leaving_alone(serde)
        source = open_source(kind, check_path("url", url), left_alone)
        try:
            return Bringer(self, source, left_alone).bring(progress or _nobody_asks)
        finally:
            source.close()

    async def aimport_from_langgraph(
        self,
        kind: Literal["sqlite", "postgres"],
        url: str,
        *,
        serde: SerializerProtocol | None = None,
        progress: Progress | None = None,
    ) -> StockImport:
        """`import_from_langgraph`, without blocking the event loop."""
        return await to_thread(
            self.import_from_langgraph, kind, url, serde=serde, progress=progress
        )


def open_store(
    url: str | os.PathLike[str],
    *,
    schema: str | None = None,
    durability: Literal["full", "normal"] = "full",
    busy_timeout: float = 30.0,
    compress: bool = False,
    create: bool = True,
) -> Store:
    """Open a database, and create it if it is not there. Public as `forkpoint.open`.

    `url` is ``sqlite:///FILE``, a plain path, ``sqlite:///:memory:``, or
    ``postgresql://USER:PASSWORD@HOST/DATABASE`` (any libpq URL; needs ``forkpoint[postgres]``). On
    PostgreSQL the tables go into a `schema` of their own, named ``forkpoint`` unless this or a
    ``?schema=`` in the URL says otherwise.

    With ``durability="full"`` what was acknowledged survives a power cut; ``"normal"`` is faster,
    survives a crash of the process, and may lose the last moments at a power cut. `busy_timeout` is
    how many seconds a write waits for another process's, and anything waits for a server that is
    starting. With `compress` what is written from now on is stored with zstd: about half the disk,
    a little more time to read what is not in memory. With ``create=False`` a database that is not
    there is an error.

    Raises `InvalidArgumentError`, `NotAForkpointDatabaseError`, `NewerDatabaseError` or
    `DatabaseError`; a file that Forkpoint did not write is never changed.

    >>> store = open_store("sqlite:///:memory:")
    >>> store.close()
    """
    check_bool("compress", compress)
    driver = driver_for(
        url, schema=schema, durability=durability, busy_timeout=busy_timeout, create=create
    )
    return Store(
        driver,
        compress=compress,
        replayed=replayed_channels,
        root_id=root_id,
        stored_time=stored_time,
    )
