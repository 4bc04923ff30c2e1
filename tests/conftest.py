"""Stores and savers every test can ask for: a fresh SQLite file, and one in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import forkpoint as fp

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


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A fresh store, once on a file and once in memory."""
    url = str(tmp_path / "agent.db") if request.param == "file" else "sqlite:///:memory:"
    with fp.open(url) as opened:
        yield opened


@pytest.fixture
def saver(store: Store) -> ForkpointSaver:
    """A saver on a fresh store, once on a file and once in memory."""
    return store.saver()


@pytest.fixture
def file_saver(file_store: Store) -> ForkpointSaver:
    """A saver on a fresh file."""
    return file_store.saver()
