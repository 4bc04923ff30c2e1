"""The file that a session travels in: parts, each with its checksum, and one over the whole.

    preamble   16 bytes: 89 "FORKPOINT" 0D 0A 1A 0A, major version, minor version
    part       4 letters, length (4 bytes, big-endian), payload (msgpack), SHA-256 of all of these
    ...
    part DONE  [number of parts before it, SHA-256 of the file up to here]

Nothing follows `DONE`. What the parts hold is in `docs/archive.md`. A reader that meets a part of a
newer minor version skips it when its name begins with a small letter, and refuses the file
otherwise.

This module knows bytes only. A file is read twice: once to see that all of it is sound, and once to
use it; nothing that a length in it says is believed before there are as many bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import ormsgpack

from forkpoint.errors import ArchiveError, NewerArchiveError

MAGIC = b"\x89FORKPOINT\r\n\x1a\n"
MAJOR, MINOR = 1, 0
_PREAMBLE = len(MAGIC) + 2
_HEADER = 8
_DIGEST = 32
_DONE = b"DONE"
_PART_BYTES = 2**18
"""Bytes of records after which a part ends."""
_PART_RECORDS = 2_000

Part = tuple[str, Any]
"""Name and payload."""


class ArchiveWriter:
    """Writes parts to a file that is open for writing, from its beginning."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._running = hashlib.sha256()
        self._parts = 0
        #: Bytes written so far.
        self.size = 0
        self._write(MAGIC + bytes((MAJOR, MINOR)))

    def part(self, name: str, payload: Any) -> None:
        """Write one part."""
        self._part(name.encode("ascii"), ormsgpack.packb(payload))

    def records(self, name: str, records: Iterable[tuple[list[Any], int]]) -> None:
        """Write a list that may be long, each record with about the bytes it takes, as several
        parts of the name."""
        held: list[list[Any]] = []
        size = 0
        for record, length in records:
            held.append(record)
            size += length
            if size >= _PART_BYTES or len(held) >= _PART_RECORDS:
                self.part(name, held)
                held, size = [], 0
        if held:
            self.part(name, held)

    def done(self) -> str:
        """Write the last part; the checksum of all before it, in hexadecimal."""
        digest = self._running.digest()
        self._part(_DONE, ormsgpack.packb([self._parts, digest]))
        return digest.hex()

    def _part(self, name: bytes, payload: bytes) -> None:
        head = name + len(payload).to_bytes(4, "big")
        checksum = hashlib.sha256(head)
        checksum.update(payload)
        self._write(head)
        self._write(payload)
        self._write(checksum.digest())
        self._parts += 1

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._running.update(data)
        self.size += len(data)


class ArchiveReader:
    """Reads the parts of a file, from its beginning to its end."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        self._path = path
        self._size = os.fstat(file.fileno()).st_size
        #: Bytes read so far.
        self.position = 0
        #: The checksum of the whole, once it is read.
        self.digest = b""
        self._running = hashlib.sha256()

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._size

    def parts(self) -> Iterator[Part]:
        """Every part but the last. Raises `ArchiveError` at the first byte that is not as it was
        written."""
        self._read_preamble()
        count = 0
        while True:
            before = self._running.digest()
            name, payload = self._read_part()
            if name == "DONE":
                if payload != [count, before]:
                    raise self._damaged("its last part does not belong to the rest")
                if self.position != self._size:
                    raise self._damaged("something follows its last part")
                self.digest = before
                return
            count += 1
            yield name, payload

    def _read_preamble(self) -> None:
        preamble = self._take(min(_PREAMBLE, self._size))
        if not preamble.startswith(MAGIC) or len(preamble) < _PREAMBLE:
            raise ArchiveError(f"{self._path}: not a Forkpoint archive")
        major, minor = preamble[-2:]
        if major != MAJOR:
            raise NewerArchiveError(
                f"{self._path}: an archive of version {major}.{minor}; this Forkpoint reads "
                f"{MAJOR}.x. Upgrade Forkpoint to read it"
            )

    def _read_part(self) -> Part:
        if self._size - self.position < _HEADER + _DIGEST:
            raise self._damaged("it ends before its last part")
        head = self._take(_HEADER)
        name, length = head[:4], int.from_bytes(head[4:], "big")
        if length > self._size - self.position - _DIGEST:
            raise self._damaged("it ends within a part, or the length of a part was altered")
        payload = self._take(length)
        checksum = hashlib.sha256(head)
        checksum.update(payload)
        if self._take(_DIGEST) != checksum.digest():
            raise self._damaged("the checksum of a part does not fit it")
        try:
            return name.decode("ascii"), ormsgpack.unpackb(payload)
        except ValueError as error:
            raise self._damaged(f"a part cannot be read ({error})") from error

    def _take(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) != count:
            raise self._damaged("it became shorter while it was read")
        self.position += count
        self._running.update(data)
        return data

    def _damaged(self, problem: str) -> ArchiveError:
        return ArchiveError(
            f"{self._path}: damaged at byte {self.position}: {problem}. Nothing was imported; copy "
            "the file again, or export the session again"
        )


def must_be_known(name: str) -> bool:
    """Whether a part that this version does not know forbids reading the rest."""
    return not name[:1].islower()
