"""Stores and savers every test can ask for, fresh ones on each kind of database.

A test that asks for `store`, `saver` or `url` runs on every database that Forkpoint has; one that
is about files asks for `database` or `file_store`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import forkpoint as fp
from tests.postgres import OLDEST, Postgres

if TYPE_CHECKING:
    from forkpoint import ForkpointSaver
    from forkpoint.store import Store


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """The path of a SQLite file that does not exist yet."""
    return tmp_path / "agent.db"


@pytest.fixture
def file_store(database: Path) -> Iterator[Store]:
    """A store on a fresh file."""
    with fp.open(str(database)) as store:
        yield store


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, started by the first test that uses it."""
    server = Postgres()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def older_postgres() -> Iterator[Postgres]:
    """The same of the oldest version at hand."""
    server = Postgres(OLDEST)
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new store can be made, on each kind of database that processes can share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'agent.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.url()


@pytest.fixture(params=["file", "memory", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A fresh store on a file, in memory, and on PostgreSQL."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").url()
    else:
        url = str(tmp_path / "agent.db") if request.param == "file" else "sqlite:///:memory:"
    with fp.open(url) as opened:
        yield opened


@pytest.fixture
def saver(store: Store) -> ForkpointSaver:
    """A saver on a fresh store, on each kind of database."""
    return store.saver()


@pytest.fixture
def file_saver(file_store: Store) -> ForkpointSaver:
    """A saver on a fresh file."""
    return file_store.saver()
