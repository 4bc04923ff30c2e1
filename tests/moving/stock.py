"""Databases of LangGraph's own savers, to be brought in."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol

Saver = BaseCheckpointSaver[Any]


@dataclass(frozen=True)
class Stock:
    """One such database."""

    kind: Literal["sqlite", "postgres"]
    url: str

    @contextmanager
    def saver(self, serde: SerializerProtocol | None = None) -> Iterator[Saver]:
        """LangGraph's saver over it, its tables made."""
        if self.kind == "sqlite":
            from langgraph.checkpoint.sqlite import SqliteSaver

            connection = sqlite3.connect(self.url, check_same_thread=False)
            try:
                saver = SqliteSaver(connection, serde=serde)
                saver.setup()
                yield saver
            finally:
                connection.close()
        else:
            from langgraph.checkpoint.postgres import PostgresSaver

            with PostgresSaver.from_conn_string(self.url) as saver:
                if serde is not None:
                    saver.serde = serde
                saver.setup()
                yield saver


def sqlite_stock(directory: Path) -> Stock:
    """A file of `SqliteSaver`."""
    return Stock("sqlite", str(directory / "stock.sqlite"))


def postgres_stock(new_database: Callable[[], str]) -> Stock:
    """A database of `PostgresSaver`."""
    return Stock("postgres", new_database())
