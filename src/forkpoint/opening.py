"""The way in: open a database, get a saver."""

from __future__ import annotations

import os
from typing import Literal

from langgraph.checkpoint.serde.base import SerializerProtocol

from forkpoint.checkpoints import replayed_channels
from forkpoint.saver import ForkpointSaver
from forkpoint.store.checks import check_bool
from forkpoint.store.database import Store as Plumbing
from forkpoint.store.database import driver_for


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


def open_store(
    url: str | os.PathLike[str],
    *,
    durability: Literal["full", "normal"] = "full",
    busy_timeout: float = 30.0,
    compress: bool = False,
) -> Store:
    """Open a database, and create it if it is not there. Public as `forkpoint.open`.

    `url` is ``sqlite:///FILE``, a plain path, or ``sqlite:///:memory:``. With ``durability="full"``
    what was acknowledged survives a power cut; ``"normal"`` is faster, survives a crash of the
    process, and may lose the last moments at a power cut. `busy_timeout` is how many seconds a
    write waits for another process's. With `compress` what is written from now on is stored with
    zstd: about half the disk, a little more time to read what is not in memory.

    Raises `InvalidArgumentError`, `NotAForkpointDatabaseError`, `NewerDatabaseError` or
    `DatabaseError`; a file that Forkpoint did not write is never changed.

    >>> store = open_store("sqlite:///:memory:")
    >>> store.close()
    """
    check_bool("compress", compress)
    driver = driver_for(url, durability=durability, busy_timeout=busy_timeout)
    return Store(driver, compress=compress, replayed=replayed_channels)
