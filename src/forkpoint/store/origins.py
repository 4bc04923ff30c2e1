"""Where a session came from, in words, and where its source came from, up to the root.

Words stay when the sessions have gone, and travel with a session into another database.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ormsgpack

from forkpoint.model import ForkOrigin
from forkpoint.store.clock import iso
from forkpoint.store.driver import Connection
from forkpoint.store.records import cid_text


class Origin(NamedTuple):
    """One fork on the way from the root to a session."""

    session: str
    checkpoint: bytes
    at: int
    by: str | None
    reason: str | None
    run: str | None

    def told(self) -> ForkOrigin:
        """As it is handed out."""
        return ForkOrigin(
            self.session, cid_text(self.checkpoint), iso(self.at), self.by, self.reason, self.run
        )


def origins(db: Connection, session: int) -> list[Origin]:
    """The forks that led to a session, the last one first."""
    found: list[Origin] = []
    at: int | None = session
    while at is not None:
        row = db.one("origin_words", id=at)
        if row is None or row[0] is None:
            break
        *words, at, ancestry = row
        found.append(_origin(words))
        if at is None and ancestry is not None:
            found += unpacked(ancestry)
    return found


def packed(there: list[Origin]) -> bytes | None:
    """Origins as the database holds those that it has no sessions of."""
    return ormsgpack.packb([list(origin) for origin in there]) if there else None


def unpacked(stored: bytes) -> list[Origin]:
    """The inverse of `packed`."""
    return [_origin(words) for words in ormsgpack.unpackb(stored)]


def _origin(words: Any) -> Origin:
    session, checkpoint, *rest = words
    return Origin(session, bytes(checkpoint), *rest)
