"""`forkpoint log`: a session's timeline."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_newest_first_and_the_head_is_marked(shell: Shell) -> None:
    rows = shell.columns("log", "lisbon")
    steps = [int(row[1]) for row in rows]
    assert steps == sorted(steps, reverse=True)
    assert "head" in rows[0][5].split()
    assert all("head" not in row[5].split() for row in rows[1:])


def test_every_row_has_the_seven_columns(shell: Shell) -> None:
    for checkpoint, step, source, _nodes, time, _marks, title in shell.columns("log", "lisbon"):
        assert len(checkpoint) == 36
        assert int(step) >= -1
        assert source in {"input", "loop"}
        assert "T" in time
        assert title != "-"


def test_pages_join_without_a_gap(shell: Shell) -> None:
    whole = shell.columns("log", "lisbon", "--limit", "100")
    paged = shell.columns("log", "lisbon", "--limit", "4")
    while page := shell.columns("log", "lisbon", "--limit", "4", "--before", paged[-1][0]):
        paged += page
    assert paged == whole


def test_source_keeps_only_what_was_asked_for(shell: Shell) -> None:
    rows = shell.columns("log", "lisbon", "--source", "input")
    assert [row[2] for row in rows] == ["input"] * 3


def test_a_fork_shows_what_it_inherited_as_such(shell: Shell) -> None:
    rows = shell.columns("log", "lisbon-refused", "--limit", "100")
    assert "inherited" not in rows[0][5]
    assert "inherited" in rows[-1][5]
    assert [row[5] for row in rows].count("fork-point") == 1


def test_a_fork_point_says_how_many_forks_it_has(shell: Shell) -> None:
    assert sum("forks:1" in row[5] for row in shell.columns("log", "lisbon")) == 2


def test_json_has_the_session_and_its_checkpoints(shell: Shell) -> None:
    document = shell.json("log", "lisbon", "--limit", "1")
    assert document["session"]["session_id"] == "lisbon"
    assert document["session"]["head"] == document["checkpoints"][0]["checkpoint_id"]


def test_a_limit_below_zero_is_an_argument_that_cannot_be_right(shell: Shell) -> None:
    code, complaint = shell.refusal("log", "lisbon", "--limit", "-1")
    assert code == 2
    assert "limit" in complaint


def test_a_limit_of_zero_prints_nothing(shell: Shell) -> None:
    assert shell.lines("log", "lisbon", "--limit", "0") == []
