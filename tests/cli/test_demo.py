"""`forkpoint demo` does what it tells."""

from __future__ import annotations

import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from forkpoint.cli import app

PROGRAM = Path(sys.executable).parent / "forkpoint"


def outcome(path: Path) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["demo", "--db", str(path), "--json"])
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_it_leaves_a_session_and_two_forks(tmp_path: Path) -> None:
    document = outcome(tmp_path / "demo.db")
    assert document["sessions"] == ["lisbon", "lisbon-refused", "lisbon-old-town"]
    assert [origin["session_id"] for origin in document["forks"]] == ["lisbon", "lisbon"]


def test_the_room_is_held_once_for_both_answers_to_one_question(tmp_path: Path) -> None:
    assert outcome(tmp_path / "demo.db")["world"] == [
        "held Casa do Rio for 2 nights",
        "paid 321 EUR",
        "held Pensão Alfama for 2 nights",
    ]


def test_the_edited_message_is_shown_as_edited(tmp_path: Path) -> None:
    changes = outcome(tmp_path / "demo.db")["comparison"]["changes"]
    edited = next(m for c in changes for m in c["messages"] if m["kind"] == "edited")
    assert edited["before"]["content"] == "And a room by the river, two nights."
    assert edited["after"]["content"] == "And a room in the old town, two nights."


def test_a_second_time_it_adds_sessions_of_its_own(tmp_path: Path) -> None:
    first, second = outcome(tmp_path / "demo.db"), outcome(tmp_path / "demo.db")
    assert not set(first["sessions"]) & set(second["sessions"])


def test_piped_it_is_plain_and_its_last_commands_all_work(tmp_path: Path) -> None:
    played = subprocess.run(
        [PROGRAM, "demo"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert played.stderr == ""
    assert "\x1b" not in played.stdout
    assert not re.search("[─-╿]", played.stdout), "no box drawing"
    advice = played.stdout.split("== Go on")[1]
    commands = re.findall(r"^  (\S.*)$", advice, re.MULTILINE)
    assert len(commands) > 4
    followed = subprocess.run(
        ["bash", "-euc", "\n".join(commands)],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert followed.returncode == 0, followed.stderr
    assert "question: Pay 257 EUR" in followed.stdout


def test_on_a_terminal_it_is_drawn(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [PROGRAM, "demo"], cwd=tmp_path, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        assert process.wait(timeout=60) == 0
    os.close(ours)
    text = shown.decode()
    assert "\x1b[" in text
    assert "├──" in text
    assert "Pay 321 EUR" in text


def test_a_file_of_somebody_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    result = CliRunner().invoke(app, ["demo", "--db", str(path)])
    assert result.exit_code == 1
    assert result.stderr.startswith("forkpoint: ")
    assert path.read_bytes() == before


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux: the other end is closed
        return b""
