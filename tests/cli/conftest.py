"""A database as the demo leaves it, and a way to run a command on it."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from forkpoint.cli import app


@dataclass(frozen=True)
class Shell:
    """Runs commands in this process, their output piped, on one database."""

    database: Path

    def run(self, *arguments: str) -> Any:
        return CliRunner().invoke(app, arguments, env={"FORKPOINT_DB": str(self.database)})

    def lines(self, *arguments: str) -> list[str]:
        """What a command prints; it must succeed and have nothing to complain about."""
        result = self.run(*arguments)
        assert result.exit_code == 0, result.output
        assert result.stderr == ""
        return result.stdout.splitlines()

    def columns(self, *arguments: str) -> list[list[str]]:
        return [line.split("\t") for line in self.lines(*arguments)]

    def json(self, *arguments: str) -> Any:
        return json.loads("\n".join(self.lines(*arguments, "--json")))

    def refusal(self, *arguments: str) -> tuple[int, str]:
        """Exit code and complaint of a command that must fail, on one line."""
        result = self.run(*arguments)
        assert result.exit_code != 0, result.output
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1, result.stderr
        return result.exit_code, result.stderr.strip()


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database on which the demo has been played. Not to be written to."""
    path = tmp_path_factory.mktemp("demo") / "demo.db"
    result = CliRunner().invoke(app, ["demo", "--db", str(path), "--json"])
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def shell(played: Path, tmp_path: Path) -> Shell:
    """The demo's database, a copy of one's own."""
    return Shell(Path(shutil.copy(played, tmp_path / "demo.db")))
