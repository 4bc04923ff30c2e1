"""`forkpoint detach`, `export` and `import`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from langgraph.checkpoint.sqlite import SqliteSaver

from tests.checkpoints import chain
from tests.cli.conftest import Shell


def test_a_detached_fork_survives_the_erasure_of_its_source(shell: Shell) -> None:
    before = [row[0] for row in shell.columns("log", "lisbon-refused", "--limit", "100")]
    assert shell.columns("detach", "lisbon-refused")[0][:2] == ["detached", "lisbon-refused"]
    assert shell.columns("detach", "lisbon-refused") == [
        ["stands on its own already", "lisbon-refused"]
    ]
    shell.lines("erase", "lisbon", "--yes")
    after = shell.columns("log", "lisbon-refused", "--limit", "100")
    assert [row[0] for row in after] == before
    assert not any("inherited" in row[5] for row in after)


def test_a_session_goes_into_a_file_and_comes_back_elsewhere(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "lisbon.forkpoint"
    exported = shell.json("export", "lisbon-refused", str(file))
    other = Shell(tmp_path / "other.db")
    imported = other.json("import", str(file), "--as", "mine")
    assert imported["sha256"] == exported["sha256"]
    ours = [row[0] for row in shell.columns("log", "lisbon-refused", "--limit", "100")]
    assert [row[0] for row in other.columns("log", "mine", "--limit", "100")] == ours
    code, complaint = other.refusal("import", str(file), "--as", "mine")
    assert code == 1
    assert "mine" in complaint


def test_an_altered_file_is_refused(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "lisbon.forkpoint"
    shell.lines("export", "lisbon", str(file))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    other = Shell(tmp_path / "other.db")
    code, _ = other.refusal("import", str(file))
    assert code == 1
    assert other.columns("tree") == []


def test_threads_of_a_stock_saver_are_brought_in(tmp_path: Path) -> None:
    stock = tmp_path / "stock.sqlite"
    connection = sqlite3.connect(stock, check_same_thread=False)
    made = chain(SqliteSaver(connection), "t", 5)  # type: ignore[arg-type]
    connection.close()
    shell = Shell(tmp_path / "agent.db")
    first = shell.json("import", "--from-langgraph", "sqlite", str(stock))
    assert (first["threads"], first["checkpoints"], first["refused"]) == (1, 5, [])
    assert [row[0] for row in shell.columns("log", "t")] == made[::-1]
    again = shell.json("import", "--from-langgraph", "sqlite", str(stock))
    assert (again["checkpoints"], again["already_there"]) == (0, 5)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "agent.db")
    code, complaint = shell.refusal("import", str(tmp_path / "nothing"))
    assert code in (1, 2)
    assert "nothing" in complaint
