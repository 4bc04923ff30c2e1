"""A database to do damage to, and the means to do it, on each kind of database."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

import forkpoint as fp
from forkpoint.store import Store
from tests.postgres import Postgres


class Knife:
    """Runs portable SQL behind the store's back. Parameters are written ``:name``."""

    def __init__(self, url: str, postgres: Postgres | None) -> None:
        self._path = url.removeprefix("sqlite:///")
        self._schema = parse_qs(urlsplit(url).query).get("schema", [""])[0]
        self._postgres = postgres

    @property
    def is_postgres(self) -> bool:
        """Whether it cuts into a server's database."""
        return self._postgres is not None

    def cut(self, sql: str, /, **parameters: Any) -> list[Any]:
        """Run a statement; the rows it gives."""
        if self._postgres is None:
            raw = sqlite3.connect(self._path, isolation_level=None, timeout=30)
            try:
                return raw.execute(sql, parameters).fetchall()
            finally:
                raw.close()
        with self._postgres.connect() as connection:
            connection.execute(
                psycopg.sql.SQL("SET search_path TO {}").format(
                    psycopg.sql.Identifier(self._schema)
                )
            )
            cursor = connection.execute(re.sub(r":(\w+)", r"%(\1)s", sql), parameters)
            return [tuple(map(_plain, row)) for row in cursor] if cursor.description else []

    def one(self, sql: str, /, **parameters: Any) -> Any:
        """The first value of the first row."""
        return self.cut(sql, **parameters)[0][0]


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


@pytest.fixture
def knife(url: str, request: pytest.FixtureRequest) -> Knife:
    """Cuts into the database at `url`."""
    is_postgres = url.startswith("postgres")
    return Knife(url, request.getfixturevalue("postgres") if is_postgres else None)


@pytest.fixture
def patient(url: str) -> Iterator[Store]:
    """A store on the database at `url`."""
    with fp.open(url) as opened:
        yield opened


def kinds(diagnosis: fp.Diagnosis) -> dict[str, int]:
    """How often each kind was found, what is only worth knowing aside."""
    found: dict[str, int] = {}
    for finding in diagnosis.findings:
        if finding.severity != "info":
            found[finding.kind] = found.get(finding.kind, 0) + 1
    return found


def told(diagnosis: fp.Diagnosis) -> str:
    """Everything that was found, as text."""
    return "\n".join(f"{f.severity} {f.kind} {f.where}: {f.text}" for f in diagnosis.findings)
