"""`forkpoint delete`: a session goes, and what becomes of its forks."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from forkpoint.cli import app
from tests.cli.conftest import Shell


def asked(shell: Shell, answer: str, *arguments: str) -> Any:
    """Run a command and answer its question."""
    environment = {"FORKPOINT_DB": str(shell.database)}
    return CliRunner().invoke(app, arguments, env=environment, input=answer)


def sessions(shell: Shell) -> list[str]:
    return sorted(row[0].strip() for row in shell.columns("tree"))


def test_forks_are_kept(shell: Shell) -> None:
    assert shell.columns("delete", "lisbon", "--yes") == [
        ["deleted", "lisbon"],
        ["kept", "lisbon-refused"],
        ["kept", "lisbon-old-town"],
    ]
    assert sessions(shell) == ["lisbon-old-town", "lisbon-refused"]
    assert "inherited" in shell.columns("log", "lisbon-refused", "--limit", "100")[-1][5]


def test_forks_can_forbid_it(shell: Shell) -> None:
    code, complaint = shell.refusal("delete", "lisbon", "--yes", "--forks", "refuse")
    assert code == 1
    assert "lisbon-refused" in complaint
    assert "lisbon" in sessions(shell)


def test_forks_can_go_too(shell: Shell) -> None:
    document = shell.json("delete", "lisbon", "-y", "--forks", "cascade")
    assert document["deleted"][-1] == "lisbon"
    assert len(document["deleted"]) == 3
    assert sessions(shell) == []


def test_it_asks_and_takes_no_for_an_answer(shell: Shell) -> None:
    result = asked(shell, "n\n", "delete", "lisbon", "--forks", "cascade")
    assert result.exit_code == 1
    assert "Delete session lisbon and 2 sessions forked from it?" in result.stderr
    assert len(sessions(shell)) == 3


def test_it_asks_and_takes_yes_for_an_answer(shell: Shell) -> None:
    result = asked(shell, "y\n", "delete", "lisbon-refused")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "deleted\tlisbon-refused"
    assert sessions(shell) == ["lisbon", "lisbon-old-town"]


def test_nobody_there_to_answer_means_no(shell: Shell) -> None:
    result = asked(shell, "", "delete", "lisbon")
    assert result.exit_code == 1
    assert len(sessions(shell)) == 3


def test_an_unknown_session_is_not_asked_about(shell: Shell) -> None:
    code, complaint = shell.refusal("delete", "nobody")
    assert code == 1
    assert "nobody" in complaint


def test_an_unknown_policy_is_an_argument_that_cannot_be_right(shell: Shell) -> None:
    assert shell.run("delete", "lisbon", "--forks", "perhaps").exit_code == 2
