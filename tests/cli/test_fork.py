"""`forkpoint fork`: a new session from a checkpoint."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_the_head_is_forked_into_a_session_named_after_its_source(shell: Shell) -> None:
    [[session, checkpoint, source, created]] = shell.columns("fork", "lisbon")
    assert session == "lisbon-fork"
    assert source == f"lisbon@{checkpoint}"
    assert created == "true"


def test_a_second_fork_gets_a_name_of_its_own(shell: Shell) -> None:
    shell.lines("fork", "lisbon")
    assert shell.columns("fork", "lisbon")[0][0] == "lisbon-fork-2"


def test_a_checkpoint_a_name_and_a_reason_can_be_given(shell: Shell) -> None:
    shell.lines("fork", "lisbon", "turn:1", "--to", "again", "--reason", "start over")
    rows = {row[0].strip(): row for row in shell.columns("tree")}
    assert rows["again"][3] == "start over"
    assert "value messages: 4 messages" in shell.lines("show", "again")


def test_the_open_question_is_open_in_the_fork(shell: Shell) -> None:
    document = shell.json("fork", "lisbon-old-town", "--to", "both")
    assert document["snapshot"]["interrupts"][0]["value"]["amount"] == 257


def test_without_pending_work_there_is_no_question(shell: Shell) -> None:
    document = shell.json("fork", "lisbon-old-town", "--to", "fresh", "--pending", "drop")
    assert document["snapshot"]["interrupts"] == []


def test_a_dry_run_tells_and_makes_nothing(shell: Shell) -> None:
    before = shell.lines("tree")
    lines = shell.lines("fork", "lisbon-old-town", "--dry-run")
    assert "pending: auto" in lines
    assert any(line.startswith("open questions: Pay 257 EUR") for line in lines)
    assert shell.lines("tree") == before


def test_an_occupied_destination_is_refused(shell: Shell) -> None:
    code, complaint = shell.refusal("fork", "lisbon", "--to", "lisbon-refused")
    assert code == 1
    assert "lisbon-refused" in complaint


def test_an_unknown_policy_is_an_argument_that_cannot_be_right(shell: Shell) -> None:
    result = shell.run("fork", "lisbon", "--pending", "perhaps")
    assert result.exit_code == 2
    assert "reask" in result.stderr
