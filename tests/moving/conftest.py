"""Two databases to move sessions between, of the same kind and of different kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import forkpoint as fp
from tests.langgraph.conftest import ticking_ids
from tests.moving.stock import Stock, postgres_stock, sqlite_stock
from tests.postgres import Postgres

__all__ = ["ticking_ids"]


@pytest.fixture(params=["sqlite-sqlite", "sqlite-postgres", "postgres-sqlite", "postgres-postgres"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[fp.Store, fp.Store]]:
    """A store to move from, and one to move to."""
    urls = []
    for number, kind in enumerate(request.param.split("-")):
        if kind == "postgres":
            server: Postgres = request.getfixturevalue("postgres")
            urls.append(server.url())
        else:
            urls.append(f"sqlite:///{tmp_path / f'{number}.db'}")
    with fp.open(urls[0]) as here, fp.open(urls[1]) as there:
        yield here, there


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Where an archive may be written."""
    return tmp_path / "session.fkpt"


@pytest.fixture
def two_files(tmp_path: Path) -> Iterator[tuple[fp.Store, fp.Store]]:
    """Two stores on files."""
    with fp.open(tmp_path / "here.db") as here, fp.open(tmp_path / "there.db") as there:
        yield here, there


@pytest.fixture(params=["sqlite", "postgres"])
def stock(request: pytest.FixtureRequest, tmp_path: Path) -> Stock:
    """A database for LangGraph's own saver, of each kind."""
    if request.param == "sqlite":
        return sqlite_stock(tmp_path)
    server: Postgres = request.getfixturevalue("postgres")
    return postgres_stock(server.new_database)
