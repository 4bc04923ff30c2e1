"""The store's SQL: named statements in `.sql` files, shared by every database.

A statement begins with ``-- name: x`` and a line that says what it is for. What differs between
dialects stands in braces and is filled in by the driver's `Dialect`: the four words of the schema,
and ``{in:x}``, "is one of the values of parameter x".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_FILES = ("session", "checkpoint", "value")
_NAMED = re.compile(r"^-- name: (\w+)\n((?:--.*\n)*)", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")
_MEMBERSHIP = re.compile(r"\{in:(\w+)\}")


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

    def fill(self, sql: str) -> str:
        """Portable SQL as this database wants it."""
        sql = _MEMBERSHIP.sub(lambda m: self.membership.format(f":{m[1]}"), sql)
        for word in ("key", "given_key", "clustered", "bytes"):
            sql = sql.replace("{" + word + "}", getattr(self, word))
        return _PARAMETER.sub(lambda m: self.parameter.format(m[1]), sql)


@cache
def statements(dialect: Dialect) -> dict[str, str]:
    """Every named statement, filled in for a database."""
    found: dict[str, str] = {}
    for name in _FILES:
        parts = _NAMED.split(_read(name))
        for statement, _purpose, sql in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            found[statement] = dialect.fill(sql.strip().removesuffix(";"))
    return found


@cache
def schema(dialect: Dialect) -> tuple[str, ...]:
    """The statements that create an empty database, in order."""
    sql = re.sub(r"^--.*\n", "", _read("schema"), flags=re.MULTILINE)
    return tuple(dialect.fill(part.strip()) for part in sql.split(";") if part.strip())


def _read(name: str) -> str:
    return (files("forkpoint.store") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
