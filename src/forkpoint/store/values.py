"""Values in the database: cells stored once, growing lists stored by what was added.

Writing happens in two steps. `plan` compares a value with what the parent checkpoint holds in the
same channel, outside the write lock; `place` carries the plan out inside the transaction and
returns the reference for the row. A list's slot is written once, ever: when the slot that a plan
wants is taken (a fork, another branch or another process appended there first), a new list is made
on top of the common prefix. So no list that somebody refers to ever changes.

Reading goes through `Cells`: what a page of rows refers to is fetched together, then looked up.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import zstandard

from forkpoint.errors import DatabaseError
from forkpoint.store.cells import (
    COMPRESSED,
    INLINE_LIMIT,
    LIST_WRITTEN_OUT,
    MAPPING,
    SEALED,
    Encoded,
    Fields,
    Reference,
    Seq,
    Vault,
)
from forkpoint.store.driver import Connection
from forkpoint.store.standing import Pool
from forkpoint.store.terms import Fresh, Remembered, Terms

V = TypeVar("V")

_BLOCK = 32
"""Numbers taken from a family at a time: most supersteps then touch no counter."""
_COMPRESS_FROM = 200
_LEVEL = 1
_CACHE_BYTES = 96 * 2**20
_WINDOW = 100_000
_NUMBER = 0xFFFFFFFF
"""The part of a row number that is the number within the family."""

_SEALED = bytes((SEALED,))
_COMPRESSED = bytes((COMPRESSED,))


class _Codecs(threading.local):
    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(
            level=_LEVEL, write_checksum=False, write_content_size=True
        ).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_codecs = _Codecs()


class SizedCache:
    """Facts that never change, bounded by their total size; what was put first goes first."""

    def __init__(self, most_bytes: int = _CACHE_BYTES) -> None:
        self._items: OrderedDict[Any, Any] = OrderedDict()
        self._sizes: dict[Any, int] = {}
        self._most = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Any) -> Any:
        return self._items.get(key)

    def put(self, key: Any, value: Any, size: int) -> None:
        with self._lock:
            old = self._sizes.pop(key, 0)
            self._bytes += size - old
            self._items[key] = value
            self._items.move_to_end(key)
            self._sizes[key] = size
            while self._bytes > self._most and len(self._items) > 1:
                gone, _ = self._items.popitem(last=False)
                self._bytes -= self._sizes.pop(gone)


@dataclass(frozen=True, slots=True)
class Tip:
    """The first items of a persistent list, as cells and as they stand in its slots."""

    cells: list[bytes]


@dataclass(frozen=True, slots=True)
class ListPlan:
    """Keep `prefix` items of list `number`, then add cells."""

    number: int | None
    prefix: int
    added: Sequence[bytes]
    whole: Sequence[bytes]
    mark: int


Plan = bytes | Seq | Fields | ListPlan


class Placing:
    """What one transaction has placed: remembered by `Values.committed` after the commit."""

    __slots__ = ("bases", "blobs", "fresh", "numbers", "size", "tips")

    def __init__(self, fresh: Fresh) -> None:
        self.fresh = fresh
        self.blobs: dict[tuple[Pool, bytes], tuple[int, bytes]] = {}
        self.bases: dict[int, tuple[int | None, int]] = {}
        self.tips: list[tuple[int, Sequence[bytes]]] = []
        #: What is left of the block that this transaction took itself, for each family.
        self.numbers: dict[Pool, tuple[int, int]] = {}
        self.size = 0


class Values:
    """The shared values of one database, and what this process remembers of them."""

    def __init__(self, terms: Terms, *, compress: bool) -> None:
        self._terms = terms
        self._compress = compress
        self._window: Remembered[tuple[Pool, bytes], int] = Remembered(_WINDOW)
        self._cells = SizedCache()
        self._tips = SizedCache()
        self._blocks: Remembered[Pool, tuple[int, int]] = Remembered(5_000)
        self._bases: Remembered[int, tuple[int | None, int]] = Remembered()

    # -- planning -----------------------------------------------------------------------------

    def plan(
        self, db: Connection | None, pool: Pool, value: Encoded, before: Reference, vault: Vault
    ) -> Plan | None:
        """How to store a channel's value whose parent holds `before` in the same channel.

        None when the parent's list is not remembered and must be read: call again with `db`.
        """
        if not isinstance(value, Seq):
            return value
        if isinstance(before, list) and before[0] >= 0:
            number, length = before[0], before[1]
            known = self._tip(db, pool, number, length, vault)
            if known is None:
                return None
            prefix = _common(known, length, value.items)
            if prefix:
                return ListPlan(number, prefix, value.items[prefix:], value.items, value.mark)
        return ListPlan(None, 0, value.items, value.items, value.mark)

    def _tip(
        self, db: Connection | None, pool: Pool, number: int, length: int, vault: Vault
    ) -> list[bytes] | None:
        tip: Tip | None = self._tips.get((pool, number, vault.sealed))
        if tip is not None and len(tip.cells) >= length:
            return tip.cells
        if db is None:
            return None
        cells = self._read_list(db, pool.family, number, length, vault)
        self._remember_tip(pool, number, cells, vault)
        return cells

    def _remember_tip(self, pool: Pool, number: int, cells: list[bytes], vault: Vault) -> None:
        # Items are shared with the cells that callers hold; only the list itself is counted twice.
        self._tips.put((pool, number, vault.sealed), Tip(cells), sum(map(len, cells)))

    # -- placing ------------------------------------------------------------------------------

    def place(
        self, db: Connection, pool: Pool, plan: Plan, vault: Vault, placing: Placing
    ) -> Reference:
        """Carry a plan out; the reference to put into the row."""
        if isinstance(plan, bytes):
            return self._place_cell(db, pool, plan, vault, placing)
        if isinstance(plan, ListPlan):
            return self._place_list(db, pool, plan, vault, placing)
        if isinstance(plan, Seq):
            return self._write_out(db, pool, plan, vault, placing)
        keys = self._terms.number(db, placing.fresh, list(plan.keys))
        return [
            MAPPING,
            keys,
            *(
                self._write_out(db, pool, value, vault, placing)
                if isinstance(value, Seq)
                else self._place_cell(db, pool, value, vault, placing)
                for value in plan.values
            ),
        ]

    def _write_out(
        self, db: Connection, pool: Pool, seq: Seq, vault: Vault, placing: Placing
    ) -> Reference:
        return [
            LIST_WRITTEN_OUT,
            seq.mark,
            *(self._place_cell(db, pool, cell, vault, placing) for cell in seq.items),
        ]

    def _place_cell(
        self, db: Connection, pool: Pool, cell: bytes, vault: Vault, placing: Placing
    ) -> bytes | int:
        if len(cell) <= INLINE_LIMIT:
            return _SEALED + vault.seal(cell) if vault.sealed else cell
        key = (pool, vault.digest(cell))
        number = self._window.get(key)
        if number is None:
            for placed in (placing, *db.placed):
                if key in placed.blobs:
                    return cast(int, placed.blobs[key][0])
            number = self._take_number(db, pool, placing)
            data = self._packed(cell, vault)
            db.run("insert_blob", id=pool.family << 32 | number, digest=key[1], data=data)
            placing.blobs[key] = (number, cell)
            placing.size += len(data)
        return number

    def _packed(self, cell: bytes, vault: Vault) -> bytes:
        data = cell
        if self._compress and len(cell) >= _COMPRESS_FROM:
            compressed = _COMPRESSED + _codecs.compress(cell)
            if len(compressed) < len(cell):
                data = compressed
        return _SEALED + vault.seal(data) if vault.sealed else data

    def _take_number(self, db: Connection, pool: Pool, placing: Placing, above: int = 0) -> int:
        # A block that was taken and committed earlier is used up at once: a number lost to a
        # rollback is only a gap. A block taken in this transaction may be undone with it, so what
        # is left of it is kept for others only after the commit.
        own = placing.numbers.get(pool)
        if own is not None and above < own[0] < own[1]:
            placing.numbers[pool] = (own[0] + 1, own[1])
            return own[0]
        shared = self._blocks.get(pool)
        if shared is not None and above < shared[0] < shared[1]:
            self._blocks[pool] = (shared[0] + 1, shared[1])
            return shared[0]
        row = db.one("reserve_numbers", family=pool.family, count=_BLOCK)
        if row is None:
            raise DatabaseError(f"family {pool.family} has no counter: the database is damaged")
        number: int = row[0]
        placing.numbers[pool] = (number + 1, number + _BLOCK)
        return number

    def _place_list(
        self, db: Connection, pool: Pool, plan: ListPlan, vault: Vault, placing: Placing
    ) -> Reference:
        number, prefix, added = plan.number, plan.prefix, plan.added
        if number is not None and not added:
            return _list_reference(number, prefix, plan.mark)
        slots: list[dict[str, Any]] = []
        for i, cell in enumerate(added, prefix):
            placed = self._place_cell(db, pool, cell, vault, placing)
            is_blob = isinstance(placed, int)
            slots.append(
                {
                    "i": i,
                    "blob": pool.family << 32 | placed if isinstance(placed, int) else None,
                    "cell": None if is_blob else placed,
                }
            )
            placing.size += 0 if isinstance(placed, int) else len(placed)
        rest = slots
        if number is not None and self._base(db, pool.family << 32 | number)[1] <= prefix:
            # Whoever writes the next slot of a list first has it; anybody else branches off.
            if db.run("claim_slot", list=pool.family << 32 | number, **slots[0]):
                rest = slots[1:]
            else:
                number = self._new_list(db, pool, number, prefix, placing)
        else:
            number = self._new_list(db, pool, number, prefix, placing)
        gid = pool.family << 32 | number
        if rest:
            db.many("insert_item", [{"list": gid, **slot} for slot in rest])
        placing.tips.append((number, plan.whole))
        return _list_reference(number, prefix + len(added), plan.mark)

    def _base(self, db: Connection, gid: int) -> tuple[int | None, int]:
        """What a list stands on, and how much of that: it never changes."""
        known = self._bases.get(gid)
        if known is None:
            row = db.one("list_row", id=gid)
            if row is None:
                raise DatabaseError(
                    f"list {gid & _NUMBER} of family {gid >> 32} is gone: the database is damaged"
                )
            known = (row[0], row[1])
            self._bases.remember(gid, known)
        return known

    def _new_list(
        self, db: Connection, pool: Pool, base: int | None, length: int, placing: Placing
    ) -> int:
        base_gid = None
        if base is not None:
            base_gid = pool.family << 32 | base
            while True:
                # Stand on the list that holds the last shared item, so that chains stay short.
                below, below_length = self._base(db, base_gid)
                if below is None or length > below_length:
                    break
                base_gid = below
        # A list has a greater number than the one it stands on, which another process may have made
        # with a number of a later block.
        above = 0 if base_gid is None else base_gid & _NUMBER
        number = self._take_number(db, pool, placing, above)
        gid = pool.family << 32 | number
        db.run("insert_list", id=gid, base=base_gid, base_length=length)
        placing.bases[gid] = (base_gid, length)
        return number

    def committed(self, pool: Pool, placing: Placing, vault: Vault) -> None:
        """Remember what a transaction placed; call it after the commit."""
        for key, (number, cell) in placing.blobs.items():
            self._window.remember(key, number)
            self._cells.put((pool.family, number, vault.sealed), cell, len(cell))
        for number, whole in placing.tips:
            self._remember_tip(pool, number, list(whole), vault)
        for gid, base in placing.bases.items():
            self._bases.remember(gid, base)
        for owner, block in placing.numbers.items():
            shared = self._blocks.get(owner, (0, 0))
            if block[1] - block[0] > shared[1] - shared[0]:
                self._blocks.remember(owner, block)

    # -- reading ------------------------------------------------------------------------------

    def fetch(
        self, db: Connection, pool: Pool, references: Iterable[Reference], vault: Vault
    ) -> Cells:
        """Everything that some references need, in a few queries."""
        family = pool.family
        cells = Cells(pool, vault)
        wanted: set[int] = set()
        lists: dict[int, int] = {}
        for reference in references:
            _collect(reference, wanted, lists)
        sealed = vault.sealed
        missing = []
        for number in wanted:
            cell = self._cells.get((family, number, sealed))
            if cell is None:
                missing.append(number)
            else:
                cells.blobs[number] = cell
        if missing:
            for gid, data in db.all("blobs", ids=db.members(family << 32 | n for n in missing)):
                number = gid & 0xFFFFFFFF
                cell = unpacked(data, vault)
                cells.blobs[number] = cell
                self._cells.put((family, number, sealed), cell, len(cell))
            if len(cells.blobs) < len(wanted):
                lost = min(wanted - cells.blobs.keys())
                raise DatabaseError(
                    f"value {lost} of family {family} is gone: the database is damaged"
                )
        for number, length in lists.items():
            tip: Tip | None = self._tips.get((pool, number, sealed))
            if tip is not None and len(tip.cells) >= length:
                cells.lists[number] = tip.cells
            else:
                read = self._read_list(db, family, number, length, vault)
                cells.lists[number] = read
                self._remember_tip(pool, number, read, vault)
        for keys in {ref[1] for ref in _mappings(references)}:
            cells.keys[keys] = self._terms.body(db, keys)
        return cells

    def _read_list(
        self, db: Connection, family: int, number: int, length: int, vault: Vault
    ) -> list[bytes]:
        parts: list[list[Any]] = []
        gid, stop = family << 32 | number, length
        while stop > 0:
            base, base_length = db.one("list_row", id=gid)
            if stop > base_length:
                parts.append(db.all("items", list=gid, start=base_length, stop=stop))
            if base is None:
                break
            gid, stop = base, min(stop, base_length)
        cells: list[bytes] = []
        known, sealed = self._cells.get, vault.sealed
        for rows in reversed(parts):
            for _, blob, cell, data in rows:
                if blob is None:
                    cells.append(unpacked(cell, vault))
                else:
                    own = known((family, blob & 0xFFFFFFFF, sealed))
                    cells.append(unpacked(data, vault) if own is None else own)
        if len(cells) != length:
            raise DatabaseError(
                f"list {number} of family {family} has {len(cells)} of {length} items: the "
                "database is damaged"
            )
        return cells


class Cells:
    """What a page of references needs, at hand."""

    __slots__ = ("_pool", "_vault", "blobs", "keys", "lists")

    def __init__(self, pool: Pool, vault: Vault) -> None:
        self._pool = pool
        self.blobs: dict[int, bytes] = {}
        self.lists: dict[int, list[bytes]] = {}
        self.keys: dict[int, list[str]] = {}
        self._vault = vault

    def resolve(self, reference: Reference) -> Encoded | None:
        """What a reference stands for."""
        if reference is None:
            return None
        if isinstance(reference, list):
            first = reference[0]
            if first >= 0:
                mark = reference[2] if len(reference) > 2 else 0
                return Seq(self.lists[first][: reference[1]], mark, (self._pool, first))
            if first == LIST_WRITTEN_OUT:
                return Seq([self._cell(part) for part in reference[2:]], reference[1])
            keys = tuple(self.keys[reference[1]])
            values: list[bytes | Seq] = []
            for part in reference[2:]:
                value = self.resolve(part)
                assert isinstance(value, bytes | Seq)
                values.append(value)
            return Fields(keys, values)
        return self._cell(reference)

    def _cell(self, reference: bytes | int) -> bytes:
        if isinstance(reference, int):
            return self.blobs[reference]
        return unpacked(reference, self._vault)


def _list_reference(number: int, length: int, mark: int) -> list[int]:
    return [number, length, mark] if mark else [number, length]


def _common(known: list[bytes], length: int, items: Sequence[bytes]) -> int:
    """How many items two lists begin with in common, looking at `length` items of the first."""
    most = min(length, len(items))
    if known[:most] == items[:most]:
        return most
    low, high = 0, most
    while low + 1 < high:
        middle = (low + high) // 2
        if known[low:middle] == items[low:middle]:
            low = middle
        else:
            high = middle
    return low if known[low] != items[low] else low + 1


def unpacked(data: bytes, vault: Vault) -> bytes:
    """The cell that some stored bytes are."""
    first = data[0]
    if first == SEALED:
        if not vault.sealed:
            raise DatabaseError(
                "the value is encrypted: open the saver with the EncryptedSerializer it was "
                "written with"
            )
        data = vault.unseal(data[1:])
        first = data[0]
    if first == COMPRESSED:
        return _codecs.decompress(data[1:])
    return data


def _collect(reference: Reference, blobs: set[int], lists: dict[int, int]) -> None:
    if isinstance(reference, int):
        blobs.add(reference)
    elif isinstance(reference, list):
        if reference[0] >= 0:
            number, length = reference[0], reference[1]
            if lists.get(number, 0) < length:
                lists[number] = length
        else:
            for part in reference[2:]:
                _collect(part, blobs, lists)


def _mappings(references: Iterable[Reference]) -> list[list[Any]]:
    return [ref for ref in references if isinstance(ref, list) and ref[0] == MAPPING]
