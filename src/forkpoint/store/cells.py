"""The shapes in which values reach the store, and the references that stand for them in rows.

The store never looks inside a value. A **cell** is the bytes of one value, made by the layer
above; equal cells are equal values. Two composites let parts be shared between checkpoints: a
`Seq` is a list whose items are cells of their own (a growing message list then costs what was
added), a `Fields` is a mapping whose values are (an input that holds the message that the next
checkpoint's list holds too).

In a row a value is a **reference**, one of

- ``None``: no value;
- ``bytes``: the cell itself (short cells are not worth a row);
- ``int``: the number of a blob within the session's family;
- ``[list, length, mark]``: the first `length` items of a persistent list;
- ``[-1, mark, ref, ...]``: a list written out;
- ``[-2, term, ref, ...]``: a mapping, its keys interned as `term`.

`mark` is one small number that the layer above may hang on a list (it uses it to tell a list
from a list wrapped as a snapshot).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from typing import Any, Protocol

INLINE_LIMIT = 64
"""Bytes up to which a cell is kept in the row that refers to it."""

LIST_WRITTEN_OUT = -1
MAPPING = -2
SEALED = 0xFF
"""First byte of sealed data; the layer above must not use it as the first byte of a cell."""
COMPRESSED = 0xFE
"""First byte of compressed data; likewise reserved."""


@dataclass(frozen=True, slots=True)
class Seq:
    """A list whose items are stored one by one."""

    items: Sequence[bytes]
    mark: int = 0
    source: tuple[Any, int] | None = field(default=None, compare=False)
    """On reading: pool and number of the persistent list that these are the first items of."""


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping with text keys whose values are stored one by one."""

    keys: tuple[str, ...]
    values: Sequence[bytes | Seq]


Encoded = bytes | Seq | Fields
Reference = Any
"""None, bytes, int or list, as the module says; what msgpack gives back."""


class Vault(Protocol):
    """How a saver's values are protected at rest."""

    @property
    def sealed(self) -> bool:
        """True when `seal` encrypts."""

    def seal(self, data: bytes) -> bytes:
        """Bytes to store; need not be deterministic."""

    def unseal(self, data: bytes) -> bytes:
        """The inverse of `seal`. Raises when the key is wrong or the bytes were altered."""

    def digest(self, cell: bytes) -> bytes:
        """16 bytes that are equal for equal cells, and tell nobody without the key anything
        more."""


class OpenVault:
    """No encryption: the digest is the first half of SHA-256."""

    sealed = False

    def seal(self, data: bytes) -> bytes:
        return data

    def unseal(self, data: bytes) -> bytes:
        return data

    def digest(self, cell: bytes) -> bytes:
        return sha256(cell).digest()[:16]


class KeyedVault:
    """Encryption by two functions; the digest is keyed, so that stored digests reveal nothing."""

    sealed = True

    def __init__(
        self, encrypt: Callable[[bytes], bytes], decrypt: Callable[[bytes], bytes], key: bytes
    ) -> None:
        self._encrypt = encrypt
        self._decrypt = decrypt
        self._key = key

    def seal(self, data: bytes) -> bytes:
        return self._encrypt(data)

    def unseal(self, data: bytes) -> bytes:
        return self._decrypt(data)

    def digest(self, cell: bytes) -> bytes:
        return blake2b(cell, digest_size=16, key=self._key).digest()
