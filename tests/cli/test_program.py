"""The program as a whole: databases it cannot use, exit codes, output that stays the same."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cli.conftest import Shell

PROGRAM = Path(sys.executable).parent / "forkpoint"


def program(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if key != "FORKPOINT_DB"}
    return subprocess.run(
        [str(PROGRAM), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**inherited, **environment},
    )


def test_it_is_installed_and_knows_its_version() -> None:
    assert program("--version").stdout == f"forkpoint {version('forkpoint')}\n"


def test_without_a_database_it_says_how_to_name_one() -> None:
    finished = program("tree")
    assert finished.returncode == 2
    assert "--db" in finished.stderr
    assert "FORKPOINT_DB" in finished.stderr


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_a_database_that_is_not_there_is_not_made(form: str, tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    finished = program("tree", "--db", form.format(path))
    assert finished.returncode == 1
    assert "no database at" in finished.stderr
    assert not path.exists()


def test_a_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing but text\n" * 100)
    finished = program("tree", "--db", str(path))
    assert finished.returncode == 1
    assert len(finished.stderr.splitlines()) == 1
    assert path.read_text() == "nothing but text\n" * 100


@pytest.mark.parametrize(
    "arguments",
    [
        ("log", "porto"),
        ("show", "porto"),
        ("show", "lisbon", "1ef4f797-8335-6428-8001-8a1503f9b875"),
        ("show", "lisbon", "zzzz"),
        ("show", "lisbon", "turn:99"),
        ("diff", "lisbon", "porto"),
        ("fork", "porto"),
        ("log", "lisbon", "--before", "1ef4f797-8335-6428-8001-8a1503f9b875"),
    ],
    ids=" ".join,
)
def test_what_is_not_there_is_one_line_and_exit_code_one(
    shell: Shell, arguments: tuple[str, ...]
) -> None:
    code, complaint = shell.refusal(*arguments)
    assert code == 1
    assert complaint.startswith("forkpoint: ")


@pytest.mark.parametrize("command", ["log lisbon", "diff lisbon lisbon-refused"])
def test_piped_output_does_not_depend_on_the_window(shell: Shell, command: str) -> None:
    outputs = {
        program(
            *command.split(), FORKPOINT_DB=str(shell.database), COLUMNS=columns, TERM=term
        ).stdout
        for columns, term in (("20", "dumb"), ("300", "xterm-256color"))
    }
    assert len(outputs) == 1
    assert "\x1b" not in outputs.pop()


def test_a_reader_that_stops_early_gets_no_traceback(shell: Shell) -> None:
    finished = subprocess.run(
        ["bash", "-c", f"{PROGRAM} log lisbon --db {shell.database} | head -1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert finished.returncode == 0
    assert finished.stderr == ""


@pytest.mark.parametrize("command", ["demo", "tree", "log", "show", "diff", "fork"])
def test_every_command_has_help(shell: Shell, command: str) -> None:
    assert f" {command} " in shell.lines(command, "--help")[0]
