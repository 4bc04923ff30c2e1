"""Drafts: the writes of a transaction, written down to be sent to PostgreSQL as one statement.

A put in the steady state reads nothing: what it must know is remembered, and the ticks that it
takes guard that memory (`standing`). So its statements can be collected, those of many puts
together, and sent at once: one statement, one round trip, one commit, and no state in the database
session, as a pooler in transaction mode wants it. If one guard fails nothing is written.

Each INSERT of the shared `.sql` files has a form for many rows that is derived from it here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from struct import pack
from typing import Any, NamedTuple

from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

from forkpoint.store.driver import Parameters
from forkpoint.store.statements import Dialect, column_types, named, statements

GUARD = "take_tick_at"
_INSERT = re.compile(
    r"INSERT INTO (?P<target>\S+) \((?P<columns>[^)]*)\)"
    r"\s+VALUES \((?P<values>(?:[^()]|\(\w+\))*)\)"
    r"(?P<rest>.*?)(?:\s+RETURNING id)?$",
    re.DOTALL,
)
_NAMED = re.compile(r"%\((\w+)\)s")
_ORDER = (
    GUARD,
    "insert_thread",
    "insert_metadata",
    "insert_metadata_item",
    "note_metadata_thread",
    "insert_blob",
    "insert_list",
    "insert_item",
    "insert_checkpoint",
    "insert_pending",
    "insert_early",
    "move_head",
)
_AS = {"claim_slot": "insert_item"}
"""A slot that turns out to be taken undoes the draft."""


class UnknownError(Exception):
    """The work must read."""


class Integers(list[Any]):
    """A column of numbers, as PostgreSQL's ``bigint[]``."""


class Bytes(list[Any]):
    """A column of byte strings, as PostgreSQL's ``bytea[]``."""


class Texts(list[Any]):
    """A column of texts, as PostgreSQL's ``text[]``."""


_COLUMNS: dict[str, type[list[Any]]] = {"BIGINT": Integers, "{bytes}": Bytes, "TEXT": Texts}
_CASTS: dict[type[list[Any]], str] = {Integers: "bigint", Bytes: "bytea", Texts: "text"}


class _ArrayDumper(Dumper):
    """One-dimensional arrays in PostgreSQL's binary form, which psycopg builds item by item."""

    format = Format.BINARY
    element: int

    def dump(self, obj: list[Any]) -> Buffer:
        if not obj:
            return pack(">iII", 0, 0, self.element)
        head = pack(">iIIii", 1, int(None in obj), self.element, len(obj), 1)
        return head + b"".join(self.items(obj))

    def items(self, obj: list[Any]) -> Iterable[bytes]:
        raise NotImplementedError


class IntegersDumper(_ArrayDumper):
    oid, element = 1016, 20

    def items(self, obj: list[Any]) -> Iterable[bytes]:
        return [_NULL if item is None else pack(">iq", 8, item) for item in obj]


class BytesDumper(_ArrayDumper):
    oid, element = 1001, 17

    def items(self, obj: list[Any]) -> Iterable[bytes]:
        return [_NULL if item is None else pack(">i", len(item)) + item for item in obj]


class TextsDumper(_ArrayDumper):
    oid, element = 1009, 25

    def items(self, obj: list[Any]) -> Iterable[bytes]:
        encoded = [None if item is None else item.encode() for item in obj]
        return [_NULL if item is None else pack(">i", len(item)) + item for item in encoded]


_NULL = pack(">i", -1)
DUMPERS = ((Integers, IntegersDumper), (Bytes, BytesDumper), (Texts, TextsDumper))


class _Form(NamedTuple):
    """A statement of a batch, with ``{guard}`` where its rows are let through."""

    rows: str
    """For many rows: the parameters are columns."""
    row: str
    """For one row, which is what most batches have: the parameters are values. It needs no array,
    and the server sees that any plan is as good as another and plans once."""
    columns: tuple[tuple[str, str, type[list[Any]]], ...]
    """Parameter of the single statement, parameter here, and type."""


class Batches:
    """The statements of one dialect as a batch has them; `settings` hold in its transaction."""

    def __init__(self, dialect: Dialect, settings: Mapping[str, str]) -> None:
        own = named(dialect, "postgres")
        single = statements(dialect)
        local = ", ".join(f"set_config('{n}', '{value}', true)" for n, value in settings.items())
        guard = own["take_ticks_at"].replace("{settings}", local)
        updates = {GUARD: guard, "move_head": own["move_heads"] + " AND {guard}"}
        self.forms = {
            name: _update(updates[name], name) if name in updates else _insert(single[name], name)
            for name in _ORDER
        }
        self._composed: dict[tuple[tuple[str, bool], ...], str] = {}

    def compose(self, parts: tuple[tuple[str, bool], ...]) -> str:
        """One statement of some, each of one row or of many, which writes all or, when a guard
        fails, nothing but ticks."""
        sql = self._composed.get(parts)
        if sql is None:
            guard = f"(SELECT count(*) FROM {GUARD}) = %(guards)s"
            text = ",\n".join(
                f"{name} AS ({self.forms[name].row if one else self.forms[name].rows})"
                for name, one in parts
            )
            sql = f"WITH {text.replace('{guard}', guard)}\nSELECT count(*) FROM {GUARD}"
            self._composed[parts] = sql
        return sql


def _update(sql: str, name: str) -> _Form:
    """From an UPDATE of the rows of ``unnest(...)``."""
    columns = tuple((column, f"{name}_{column}", Integers) for column in _NAMED.findall(sql))
    values = ", ".join(f"%({own})s::bigint" for _, own, _ in columns)
    return _Form(
        _NAMED.sub(lambda m: f"%({name}_{m[1]})s::bigint[]", sql),
        re.sub(r"unnest\((?:[^()]|\(\w+\))*\)", f"(SELECT {values})", sql),
        columns,
    )


def _insert(sql: str, name: str) -> _Form:
    """From an INSERT of one row of VALUES."""
    match = _INSERT.match(sql)
    assert match is not None, name
    table = match["target"].rsplit(".", 1)[-1]
    columns = [column.strip() for column in match["columns"].split(",")]
    values = [value.strip() for value in match["values"].split(",")]
    if "RETURNING id" in sql:
        columns, values = ["id", *columns], ["id", *values]
    types = column_types()
    parts = []
    for column, value in zip(columns, values, strict=True):
        parameter = _NAMED.fullmatch(value)
        kind = "BIGINT" if column == "id" else types[table, column]
        parts.append((parameter[1] if parameter else column, f"{name}_{column}", _COLUMNS[kind]))
    begin = f"INSERT INTO {match['target']} ({', '.join(columns)}) SELECT "
    end = f" WHERE {{guard}} {match['rest'].strip()}"
    arrays = ", ".join(f"%({own})s::{_CASTS[kind]}[]" for _, own, kind in parts)
    scalars = ", ".join(f"%({own})s::{_CASTS[kind]}" for _, own, kind in parts)
    return _Form(f"{begin}* FROM unnest({arrays}){end}", f"{begin}{scalars}{end}", tuple(parts))


class Draft:
    """A connection that only writes down. See `driver.Connection`."""

    drafting = True
    trusts = True

    def __init__(
        self,
        batches: Batches,
        number: Callable[[str], int],
        reserve: Callable[[int, int], Any],
    ) -> None:
        self._batches = batches
        self._number = number
        self._reserve = reserve
        self._entries: list[tuple[str, Parameters]] = []
        self.placed: list[Any] = []
        self.known: dict[str, Any] = {}

    def one(self, statement: str, /, **parameters: Any) -> Any:
        if statement == "reserve_numbers":
            return self._reserve(parameters["family"], parameters["count"])
        raise UnknownError

    def all(self, statement: str, /, **parameters: Any) -> list[Any]:
        raise UnknownError

    def run(self, statement: str, /, **parameters: Any) -> int:
        statement = _AS.get(statement, statement)
        if statement not in self._batches.forms:
            raise UnknownError
        self._entries.append((statement, parameters))
        return 1

    def insert(self, statement: str, /, **parameters: Any) -> int:
        if statement not in self._batches.forms:
            raise UnknownError
        number = self._number(statement)
        self._entries.append((statement, {"id": number, **parameters}))
        return number

    def many(self, statement: str, parameters: Iterable[Parameters], /) -> None:
        if statement not in self._batches.forms:
            raise UnknownError
        self._entries += [(statement, row) for row in parameters]

    def members(self, values: Iterable[int]) -> Any:
        raise UnknownError

    def mark(self) -> int:
        """How much is written down."""
        return len(self._entries)

    def since(self, mark: int) -> tuple[tuple[str, Parameters], ...]:
        """What was written down since."""
        return tuple(self._entries[mark:])

    def back_to(self, mark: int) -> None:
        """Strike out what was written down since."""
        del self._entries[mark:]

    def statement(self) -> tuple[str, dict[str, Any], int]:
        """What to send: a statement, its parameters, and the count that it answers with when all
        was written."""
        rows: dict[str, list[Parameters]] = {}
        guards: dict[int, dict[str, Any]] = {}
        heads: dict[int, Parameters] = {}
        threads: dict[int, dict[str, Any]] = {}
        for name, row in self._entries:
            if name == GUARD:
                first = guards.setdefault(row["id"], dict(row))
                first["next"], first["touched"] = row["next"], row["touched"]
            elif name == "insert_thread":
                threads[row["id"]] = dict(row)
            elif name == "move_head" and row["thread"] in threads:
                threads[row["thread"]]["head"] = row["n"]
            elif name == "move_head":
                heads[row["thread"]] = row
            else:
                rows.setdefault(name, []).append(row)
        rows[GUARD] = list(guards.values())
        rows["insert_thread"] = list(threads.values())
        rows["move_head"] = list(heads.values())
        parts = tuple((name, len(rows[name]) == 1) for name in _ORDER if rows.get(name))
        parameters: dict[str, Any] = {"guards": len(guards)}
        for name, one in parts:
            entries = rows[name]
            for source, own, kind in self._batches.forms[name].columns:
                if one:
                    parameters[own] = entries[0].get(source)
                else:
                    parameters[own] = kind([row.get(source) for row in entries])
        return self._batches.compose(parts), parameters, len(guards)
