"""Texts and metadata that rows refer to by number instead of repeating them.

A row number is remembered only after the transaction that gave it out has committed, so a
rollback leaves nothing wrong behind. Entries are never changed, so what is remembered stays true.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, TypeVar

import ormsgpack

from forkpoint.store.driver import Connection, StaleError

K = TypeVar("K")
V = TypeVar("V")

_REMEMBERED = 20_000


class Remembered(dict[K, V]):
    """A bounded memo of facts that never change: when it is full, the oldest half goes."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        super().__init__()
        self._most = most

    def remember(self, key: K, value: V) -> None:
        if len(self) >= self._most:
            for old in list(self)[: self._most // 2]:
                self.pop(old, None)
        self[key] = value


class Fresh:
    """What one transaction has learned, to be remembered when it has committed."""

    __slots__ = ("metadata", "terms")

    def __init__(self) -> None:
        self.terms: dict[bytes, int] = {}
        self.metadata: dict[bytes, int] = {}


class Terms:
    """Interned texts (tuples of strings, in truth) and constant metadata of one database."""

    def __init__(self) -> None:
        self._numbers: Remembered[bytes, int] = Remembered()
        self._bodies: Remembered[int, Any] = Remembered()
        self._metadata_numbers: Remembered[bytes, int] = Remembered()
        self._metadata_bodies: Remembered[int, bytes] = Remembered()

    def number(self, db: Connection, fresh: Fresh, value: Any) -> int:
        """The number of a msgpack-able value, giving it one if it has none."""
        body = ormsgpack.packb(value)
        known = self._numbers.get(body) or fresh.terms.get(body)
        if known is None:
            row = db.one("find_term", body=body)
            known = db.insert("insert_term", body=body) if row is None else row[0]
            fresh.terms[body] = known
        return known

    def body(self, db: Connection, number: int) -> Any:
        """The value behind a number: what msgpack makes of it (lists for tuples)."""
        value = self._bodies.get(number)
        if value is None:
            value = ormsgpack.unpackb(db.one("term_body", id=number)[0])
            self._bodies.remember(number, value)
        return value

    def metadata_number(self, db: Connection, fresh: Fresh, metadata: dict[str, Any]) -> int:
        """The number of constant metadata, giving it one if it has none."""
        packed = _packed(metadata)
        known = fresh.metadata.get(packed)
        if known is None and db.trusts:
            known = self._metadata_numbers.get(packed)
        if known is not None:
            return known
        body = _json(_plain(metadata, exact=True))
        digest = sha256(body.encode()).digest()[:16]
        # A draft cannot look; mostly such metadata is new, since it names the run.
        row = None if db.drafting else db.one("find_metadata", digest=digest)
        if row is None:
            known = db.insert("insert_metadata", digest=digest, body=body)
            db.many(
                "insert_metadata_item",
                [
                    {"name": item_key(name), "value": item_value(value), "metadata": known}
                    for name, value in metadata.items()
                ],
            )
        else:
            known = row[0]
        fresh.metadata[packed] = known
        return known

    def note_thread(self, db: Connection, metadata: int, thread: int) -> None:
        """Note that some metadata is used in a thread: filters look for threads first.

        Raises `StaleError` when the metadata was collected since its number was learned.
        """
        noted = db.run("note_metadata_thread", metadata=metadata, thread=thread)
        if noted and not db.drafting and db.one("metadata_body", id=metadata) is None:
            raise StaleError

    def metadata(self, db: Connection, number: int) -> dict[str, Any]:
        """Constant metadata by number, a new dict at each call."""
        packed = self._metadata_bodies.get(number)
        if packed is None:
            packed = _packed(json.loads(db.one("metadata_body", id=number)[0]))
            self._metadata_bodies.remember(number, packed)
        result: dict[str, Any] = marshal.loads(packed)
        return result

    def committed(self, fresh: Fresh) -> None:
        """Remember what a transaction learned; call it after the commit."""
        for body, number in fresh.terms.items():
            self._numbers.remember(body, number)
        for packed, number in fresh.metadata.items():
            self._metadata_numbers.remember(packed, number)


def _packed(metadata: dict[str, Any]) -> bytes:
    # Only ever in memory: exact in every type, any text, quick both ways.
    return marshal.dumps(metadata, 2)


def canonical_json(value: Any) -> str:
    """JSON text that is equal for equal values: keys sorted, no spaces, whole floats as integers.

    Raises `TypeError` or `ValueError` for what JSON cannot hold.
    """
    return _json(_plain(value, exact=False))


def _json(plain: Any) -> str:
    # ASCII only, so that NUL and lone surrogates pass through every database.
    return json.dumps(
        plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def _plain(value: Any, *, exact: bool) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        if exact or not value.is_integer() or abs(value) >= 2**53:
            return value
        return int(value)
    if kind is dict:
        if not all(type(key) is str for key in value):
            raise TypeError("keys must be text")
        return {key: _plain(item, exact=exact) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_plain(item, exact=exact) for item in value]
    raise TypeError(f"{kind.__module__}.{kind.__qualname__} is not JSON")


_LONG = 200


def item_key(name: str) -> str:
    """A metadata key as the filter index holds it."""
    return _bounded(json.dumps(name, ensure_ascii=True))


def item_value(value: Any) -> str:
    """A metadata value as the filter index holds it: its canonical JSON, or a digest of a long
    one."""
    return _bounded(canonical_json(value))


def _bounded(text: str) -> str:
    return text if len(text) <= _LONG else "#" + sha256(text.encode()).hexdigest()


def numbers_holding(db: Connection, wanted: Iterable[tuple[str, Any]]) -> set[int]:
    """Numbers of the constant metadata that hold every wanted entry."""
    found: set[int] | None = None
    for name, value in wanted:
        rows = db.all("matching_metadata", name=item_key(name), value=item_value(value))
        numbers = {row[0] for row in rows}
        found = numbers if found is None else found & numbers
    return found or set()
