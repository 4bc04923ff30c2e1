"""The store's SQL: named statements in `.sql` files, shared by every database.

A statement begins with ``-- name: x`` and a line that says what it is for. What differs between
dialects stands in braces and is filled in by the driver's `Dialect`: the four words of the schema,
``{in:x}``, "is one of the values of parameter x", and how a transaction holds what it decides on.

The layout of a database is built by ``layout_1.sql``, ``layout_2.sql`` and so on, in order. A file
that was released never changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_WORDS = (
    "key",
    "given_key",
    "clustered",
    "bytes",
    "hold_family",
    "share_family",
    "hold_row",
)
_FILES = (
    "session",
    "checkpoint",
    "value",
    "label",
    "doctor",
    "moving",
    "needing",
    "removing",
    "sweeping",
    "retention",
)
_NAMED = re.compile(r"^-- name: (\w+)\n((?:--.*\n)*)", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")
_MEMBERSHIP = re.compile(r"\{in:(\w+)\}")

LAYOUT = 2
"""The newest layout: how many ``layout_N.sql`` there are."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one database writes differently."""

    key: str
    """Type of a row number that the database gives out, and never twice."""
    given_key: str
    """Type of a row number that the program gives out."""
    clustered: str
    """Table option: keep the rows in the order of the primary key."""
    bytes: str
    """Type of a byte string."""
    parameter: str
    """A named parameter, with ``{}`` for the name."""
    membership: str
    """Membership in a list parameter, with ``{}`` for the parameter."""
    hold_family: str
    """An expression that keeps others from changing who stands on whom in a family."""
    share_family: str
    """An expression that keeps `hold_family` away, and others that share not."""
    hold_row: str
    """End of a SELECT that keeps others from writing its rows."""
    schema: str = ""
    """Where the tables are, as SQL writes it; empty where there is one place only."""

    def fill(self, sql: str) -> str:
        """Portable SQL as this database wants it."""
        sql = _MEMBERSHIP.sub(lambda m: self.membership.format(f":{m[1]}"), sql)
        for word in _WORDS:
            sql = sql.replace("{" + word + "}", getattr(self, word))
        if self.schema:
            sql = _tables().sub(lambda m: f"{m[1]} {self.schema}.{m[2]}", sql)
        return _PARAMETER.sub(lambda m: self.parameter.format(m[1]), sql)


@cache
def statements(dialect: Dialect, *more: str) -> dict[str, str]:
    """Every named statement, filled in for a database; with those of `more` files of its own."""
    found: dict[str, str] = {}
    for name in (*_FILES, *more):
        found |= named(dialect, name)
    return found


def named(dialect: Dialect, file: str) -> dict[str, str]:
    """The named statements of one file, filled in for a database."""
    parts = _NAMED.split(_read(file))
    return {
        statement: dialect.fill(sql.strip().removesuffix(";"))
        for statement, _purpose, sql in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    }


def table_names() -> list[str]:
    """Our tables."""
    return sorted({table for table, _ in column_types()})


@cache
def column_types() -> dict[tuple[str, str], str]:
    """The type of each column as the layouts have it, by table and column."""
    found: dict[tuple[str, str], str] = {}
    for number in range(1, LAYOUT + 1):
        text = re.sub(r"--.*\n", "\n", _read(f"layout_{number}"))
        for table, columns in re.findall(r"CREATE TABLE (\w+) \((.*?)\n\)", text, re.DOTALL):
            for column, kind in re.findall(r"^    (\w+) (\{?\w+\}?)", columns, re.MULTILINE):
                found[table, column] = kind
        for table, column, kind in re.findall(
            r"ALTER TABLE (\w+) ADD COLUMN (\w+) (\{?\w+\}?)", text
        ):
            found[table, column] = kind
    return found


@cache
def layout(dialect: Dialect, number: int) -> tuple[str, ...]:
    """The statements that take an empty database (1), or one of the layout before, to a layout."""
    return dialect_script(dialect, f"layout_{number}")


def dialect_script(dialect: Dialect, name: str) -> tuple[str, ...]:
    """The statements of a file that gives no names, in order."""
    sql = re.sub(r"^--.*\n", "", _read(name), flags=re.MULTILINE)
    return tuple(dialect.fill(part.strip()) for part in sql.split(";") if part.strip())


@cache
def layout_names() -> tuple[str, ...]:
    """The tables and indexes that every layout up to the newest makes."""
    layouts = "".join(_read(f"layout_{number}") for number in range(1, LAYOUT + 1))
    return tuple(re.findall(r"CREATE (?:TABLE|INDEX|UNIQUE INDEX) (\w+)", layouts))


@cache
def _tables() -> re.Pattern[str]:
    """Every place where a statement names a table of ours."""
    layouts = "".join(_read(f"layout_{number}") for number in range(1, LAYOUT + 1))
    names = "|".join(re.findall(r"CREATE TABLE (\w+)", layouts))
    return re.compile(rf"\b(FROM|JOIN|INTO|UPDATE|TABLE|ON|REFERENCES) ({names})\b(?![.(])")


def _read(name: str) -> str:
    return (files("forkpoint.store") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
