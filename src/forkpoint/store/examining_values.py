"""From references to values: what the rows of one family refer to, and whether it is there.

References are collected while rows are read. Then the family's lists, slots and values are read
once each, in the order of their numbers: lists hand what is asked of them down to the lists they
stand on, slots say which values they hold, and every value is compared with its digest. What nobody
asked for is counted: it is what collection would free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import zstandard

from forkpoint.model import Finding
from forkpoint.store.cells import (
    COMPRESSED,
    INLINE_LIMIT,
    LIST_WRITTEN_OUT,
    MAPPING,
    SEALED,
    Reference,
)
from forkpoint.store.driver import Connection
from forkpoint.store.examining_family import Place

TellWhere = Callable[[Place], str]
"""From the row that a value was first met in to words for a person."""

_LISTS = 1_000
_ITEMS = 2_000
_BLOBS = 64
_DIGEST_BYTES = 16


class _Asked(NamedTuple):
    """How much of a list is referred to, and from where."""

    length: int
    place: Place


class Trace:
    """The references of one family."""

    def __init__(self, family: int, has_term: Callable[[int], bool]) -> None:
        self._family = family
        self._has_term = has_term
        self._low, self._high = family << 32, (family + 1) << 32
        self._blobs: dict[int, Place] = {}
        self._lists: dict[int, _Asked] = {}
        self._bases: dict[int, tuple[int | None, int]] = {}
        self._waste = dict.fromkeys(("values", "bytes", "lists", "slots"), 0)
        #: Values read so far.
        self.values = 0
        #: The highest number in use.
        self.highest = 0

    # -- references ---------------------------------------------------------------------------

    def refer(self, reference: Reference, place: Place) -> str | None:
        """Note what a reference needs; what is wrong with its form, if anything is."""
        match reference:
            case None:
                return None
            case bytes():
                return self._inline(reference)
            case bool():
                return "a reference is neither bytes, a number nor a list"
            case int():
                return self._number(reference, place)
            case [int() as number, int() as length, *mark] if number >= 0:
                return self._list(number, length, mark, place)
            case [first, second, *parts] if first == LIST_WRITTEN_OUT and isinstance(second, int):
                return self._parts(parts, place)
            case [first, second, *parts] if first == MAPPING and isinstance(second, int):
                if not self._has_term(second):
                    return f"the keys of a mapping are gone: there is no term {second}"
                return self._parts(parts, place)
        return "a reference is neither bytes, a number nor a list"

    def _inline(self, cell: bytes) -> str | None:
        if not cell:
            return "a value in the row is empty"
        if len(cell) > INLINE_LIMIT and cell[0] != SEALED:
            return f"a value in the row has {len(cell)} bytes, which is more than rows hold"
        return None

    def _number(self, number: int, place: Place) -> str | None:
        if not 0 < number < 2**32:
            return f"{number} is no number of a value"
        self._blobs.setdefault(number, place)
        return None

    def _list(self, number: int, length: int, mark: list[Any], place: Place) -> str | None:
        if number >= 2**32 or length < 0 or len(mark) > 1:
            return f"{[number, length, *mark]} is no reference to a list"
        asked = self._lists.get(number)
        if asked is None or asked.length < length:
            self._lists[number] = _Asked(length, place)
        return None

    def _parts(self, parts: list[Any], place: Place) -> str | None:
        for part in parts:
            problem = self.refer(part, place)
            if problem is not None:
                return problem
        return None

    # -- values -------------------------------------------------------------------------------

    def settle(self, db: Connection, where: TellWhere) -> Iterator[Finding]:
        """Read the family's values and say what is wrong with them."""
        self._read_lists(db)
        yield from self._hand_down(where)
        yield from self._read_items(db, where)
        yield from self._read_blobs(db, where)
        if any(self._waste.values()):
            yield self._unreachable()

    def _read_lists(self, db: Connection) -> None:
        after = self._low - 1
        while rows := db.all("lists_from", after=after, high=self._high, limit=_LISTS):
            for gid, base, base_length in rows:
                self._bases[gid] = (base, base_length)
            after = rows[-1][0]
        if self._bases:
            self.highest = max(self.highest, max(self._bases) - self._low)

    def _hand_down(self, where: TellWhere) -> Iterator[Finding]:
        """What is asked of a list is asked of the list below it, up to where they part."""
        for number in sorted(self._lists, reverse=True):
            if self._low | number not in self._bases:
                yield self._missing(number, "list", self._lists[number].place, where)
        # A list stands on an older one, so going down the numbers every list is asked in full
        # before it asks. Whatever breaks that order is damage, a circle of lists included.
        for gid in sorted(self._bases, reverse=True):
            number = gid - self._low
            asked = self._lists.get(number)
            if asked is None:
                continue
            base, base_length = self._bases[gid]
            if base is None:
                if base_length:
                    yield self._broken(number, "says how much it shares and not with what", where)
                continue
            below = base - self._low
            if not 0 < below < number:
                yield self._broken(number, f"stands on {base}, no older list of its family", where)
            elif base not in self._bases:
                yield self._broken(number, f"stands on list {below}, which is gone", where)
            else:
                needed = self._lists.get(below, _Asked(-1, asked.place))
                length = min(asked.length, base_length)
                if needed.length < length:
                    self._lists[below] = _Asked(length, needed.place)
        self._waste["lists"] = sum(gid - self._low not in self._lists for gid in self._bases)

    def _read_items(self, db: Connection, where: TellWhere) -> Iterator[Finding]:
        found: dict[int, int] = {}
        gid, i = self._low, -1
        while rows := db.all("items_from", list=gid, i=i, high=self._high, limit=_ITEMS):
            for gid, i, blob, cell_length in rows:
                number = gid - self._low
                self.highest = max(self.highest, number)
                asked = self._lists.get(number)
                start = self._bases.get(gid, (None, 0))[1]
                if asked is None or not start <= i < asked.length:
                    self._waste["slots"] += 1
                    continue
                found[number] = found.get(number, 0) + 1
                problem = self._slot(blob, cell_length, asked.place)
                if problem is not None:
                    yield self._broken(number, f"slot {i} {problem}", where)
        for number, asked in self._lists.items():
            start = self._bases.get(self._low | number, (None, 0))[1]
            needed = max(asked.length - start, 0)
            if self._low | number in self._bases and found.get(number, 0) < needed:
                lost = needed - found.get(number, 0)
                yield self._broken(number, f"lacks {lost} of {asked.length} items", where)

    def _slot(self, blob: int | None, cell_length: int | None, place: Place) -> str | None:
        if (blob is None) == (cell_length is None):
            return "holds neither a value nor the number of one, or both"
        if blob is not None:
            if not self._low < blob < self._high:
                return f"holds value {blob}, which is of another family"
            self._blobs.setdefault(blob - self._low, place)
        elif not cell_length:
            return "is empty"
        return None

    def _read_blobs(self, db: Connection, where: TellWhere) -> Iterator[Finding]:
        missing = dict(self._blobs)
        after = self._low - 1
        while rows := db.all("blobs_from", after=after, high=self._high, limit=_BLOBS):
            for gid, digest, data in rows:
                number = gid - self._low
                self.values += 1
                place = missing.pop(number, None)
                if place is None:
                    self._waste["values"] += 1
                    self._waste["bytes"] += len(data)
                    continue
                problem = problem_with(bytes(digest), bytes(data))
                if problem is not None:
                    yield Finding(
                        "value",
                        "error",
                        where(place),
                        f"value {number} of family {self._family} {problem}",
                        repairable=False,
                        details={"family": self._family, "blob": number},
                    )
            after = rows[-1][0]
            self.highest = max(self.highest, after - self._low)
        for number, place in missing.items():
            yield self._missing(number, "value", place, where)

    # -- findings -----------------------------------------------------------------------------

    def _missing(self, number: int, what: str, place: Place, where: TellWhere) -> Finding:
        return Finding(
            "reference",
            "error",
            where(place),
            f"{what} {number} of family {self._family} is gone",
            repairable=False,
            details={"family": self._family, what: number},
        )

    def _broken(self, number: int, problem: str, where: TellWhere) -> Finding:
        return Finding(
            "list",
            "error",
            where(self._lists[number].place),
            f"list {number} of family {self._family} {problem}",
            repairable=False,
            details={"family": self._family, "list": number},
        )

    def _unreachable(self) -> Finding:
        waste = self._waste
        return Finding(
            "unreachable",
            "info",
            f"family {self._family}",
            f"{waste['values']} values ({waste['bytes']} bytes), {waste['lists']} lists and "
            f"{waste['slots']} slots of lists that no checkpoint refers to; collection frees them",
            repairable=False,
            details={"family": self._family, **waste},
        )


def problem_with(digest: bytes, data: bytes) -> str | None:
    """What is wrong with a stored value, as far as its bytes tell; an encrypted one is only
    looked at from outside."""
    if len(digest) != _DIGEST_BYTES:
        return f"has a digest of {len(digest)} bytes"
    if not data:
        return "is empty"
    if data[0] == SEALED:
        return None if len(data) > 1 else "is encrypted and empty"
    if data[0] == COMPRESSED:
        try:
            data = zstandard.ZstdDecompressor().decompress(data[1:])
        except zstandard.ZstdError as error:
            return f"cannot be decompressed ({error})"
    if sha256(data).digest()[:_DIGEST_BYTES] != digest:
        return "is not what its digest says"
    return None
