"""`forkpoint tree`: which session was forked from which, and where."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_forks_stand_under_their_source(shell: Shell) -> None:
    names = [line.split("\t")[0] for line in shell.lines("tree")]
    assert names == ["lisbon", "  lisbon-refused", "  lisbon-old-town"]


def test_a_fork_of_a_fork_stands_one_level_deeper(shell: Shell) -> None:
    shell.lines("fork", "lisbon-refused", "--to", "deeper")
    names = [line.split("\t")[0] for line in shell.lines("tree")]
    assert names == ["lisbon", "  lisbon-refused", "    deeper", "  lisbon-old-town"]


def test_columns_are_time_fork_point_and_reason(shell: Shell) -> None:
    root, refused, _ = shell.columns("tree")
    assert "T" in root[1]
    assert root[2:] == ["-", "-"]
    assert refused[2].startswith("lisbon@")
    assert refused[3] == "what if I refuse?"


def test_one_session_and_what_came_of_it(shell: Shell) -> None:
    assert [row[0] for row in shell.columns("tree", "lisbon-refused")] == ["lisbon-refused"]


def test_json_is_one_list_of_sessions_in_the_same_order(shell: Shell) -> None:
    sessions = shell.json("tree")
    assert [s["session_id"] for s in sessions] == ["lisbon", "lisbon-refused", "lisbon-old-town"]
    assert sessions[1]["forked_from"]["session_id"] == "lisbon"
    assert [s["depth"] for s in sessions] == [0, 1, 1]


def test_an_unknown_session_is_refused(shell: Shell) -> None:
    code, complaint = shell.refusal("tree", "porto")
    assert code == 1
    assert "porto" in complaint
