"""`forkpoint gc` and `forkpoint erase`."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell


def checkpoints(shell: Shell, session: str) -> int:
    return len(shell.columns("log", session, "--limit", "1000"))


def test_a_dry_run_says_what_then_happens(shell: Shell) -> None:
    before = checkpoints(shell, "lisbon")
    promised = shell.columns("gc", "--keep-last", "1", "--no-keep-fork-points", "--dry-run")
    assert checkpoints(shell, "lisbon") == before
    done = shell.columns("gc", "--keep-last", "1", "--no-keep-fork-points")
    assert promised[-1][0] == "would go"
    assert done[-2][0] == "gone"
    assert done[-2][1:] == promised[-1][1:]
    assert done[-1][0] == "given back"
    assert checkpoints(shell, "lisbon") < before


def test_fork_points_are_kept_unless_told_otherwise(shell: Shell) -> None:
    forked = {row[0] for row in shell.columns("log", "lisbon") if "forks:" in row[5]}
    shell.lines("gc", "--keep-last", "1", "--session", "lisbon")
    assert forked <= {row[0] for row in shell.columns("log", "lisbon")}


def test_without_a_policy_nothing_leaves_a_session(shell: Shell) -> None:
    before = checkpoints(shell, "lisbon")
    document = shell.json("gc")
    assert document["sessions"] == []
    assert checkpoints(shell, "lisbon") == before


@pytest.mark.parametrize("age", ["30", "d", "-1d", "1y", ""])
def test_an_age_that_is_none(shell: Shell, age: str) -> None:
    code, complaint = shell.refusal("gc", f"--keep-newer-than={age}")
    assert code == 2
    assert "--keep-newer-than" in complaint


def test_switches_need_a_limit(shell: Shell) -> None:
    code, complaint = shell.refusal("gc", "--no-keep-labelled")
    assert code == 2
    assert "--keep-last" in complaint


def test_what_is_new_enough_is_kept(shell: Shell) -> None:
    before = checkpoints(shell, "lisbon")
    shell.lines("gc", "--keep-newer-than", "5w")
    assert checkpoints(shell, "lisbon") == before


def test_erasing_names_who_still_holds_what(shell: Shell) -> None:
    lines = shell.columns("erase", "lisbon", "--yes")
    assert lines[0][:2] == ["erased", "lisbon"]
    assert {row[1] for row in lines if row[0] == "still held by"} == {
        "lisbon-refused",
        "lisbon-old-town",
    }
    assert lines[-1] == ["bytes", "gone from the files"]
    code, _ = shell.refusal("log", "lisbon")
    assert code == 1


def test_erasing_asks_first(shell: Shell) -> None:
    assert shell.run("erase", "lisbon").exit_code == 1
    assert checkpoints(shell, "lisbon") > 0
