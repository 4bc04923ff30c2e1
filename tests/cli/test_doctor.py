"""`forkpoint doctor`: whether a database is sound."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.cli.conftest import Shell


def damage(shell: Shell, sql: str) -> None:
    """Do something to the file behind the program's back."""
    with closing(sqlite3.connect(shell.database)) as raw, raw:
        raw.execute(sql)


@pytest.fixture
def headless(shell: Shell) -> Shell:
    """A database in which no session has a head."""
    damage(shell, "UPDATE thread SET head = 9999")
    return shell


@pytest.fixture
def lossy(shell: Shell) -> Shell:
    """A database that lacks its values."""
    damage(shell, "DELETE FROM blob")
    return shell


def test_a_sound_database(shell: Shell) -> None:
    examined, verdict = shell.lines("doctor")
    assert examined.startswith("examined: 3 sessions, ")
    assert verdict == "sound: yes"


def test_what_is_found_has_a_line_and_makes_the_exit_code_1(headless: Shell) -> None:
    result = headless.run("doctor")
    assert result.exit_code == 1
    _, *lines, verdict = result.stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    assert [row[:2] for row in rows] == [["error", "head"]] * 3
    assert {row[2] for row in rows} == {
        "session 'lisbon'",
        "session 'lisbon-refused'",
        "session 'lisbon-old-town'",
    }
    assert verdict == "sound: no"


def test_looking_changes_nothing(headless: Shell) -> None:
    before = headless.run("doctor").stdout
    assert headless.run("doctor").stdout == before


def test_what_can_be_mended_is_and_the_exit_code_is_0(headless: Shell) -> None:
    lines = headless.lines("doctor", "--repair")
    assert [line.split("\t")[:2] for line in lines[1:-1]] == [["repaired", "head"]] * 3
    assert lines[-1] == "sound: yes"
    assert headless.lines("doctor")[-1] == "sound: yes"
    assert headless.columns("log", "lisbon")[0][5].split()[0] == "head"


def test_what_cannot_be_mended_stays(lossy: Shell) -> None:
    result = lossy.run("doctor", "--repair")
    assert result.exit_code == 1
    kinds = {line.split("\t")[1] for line in result.stdout.splitlines()[1:-1]}
    assert kinds == {"reference"}


def test_one_document_for_programs(headless: Shell) -> None:
    import json

    result = headless.run("doctor", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["sound"] is False
    assert document["repair"] is None
    assert {finding["kind"] for finding in document["findings"]} == {"head"}
    mended = headless.json("doctor", "--repair")
    assert mended["sound"] is True
    assert len(mended["repair"]["repaired"]) == 3


def test_a_file_whose_pages_are_damaged(shell: Shell) -> None:
    shell.lines("log", "lisbon")
    with closing(sqlite3.connect(shell.database)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = raw.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'checkpoint'"
        ).fetchone()[0]
        size = raw.execute("PRAGMA page_size").fetchone()[0]
    with shell.database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * 64)
    result = shell.run("doctor", "--json")
    assert result.exit_code == 1
    assert '"kind": "file"' in result.stdout
