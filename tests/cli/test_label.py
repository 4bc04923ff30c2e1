"""`forkpoint label`: names for checkpoints, taken wherever a checkpoint is asked for."""

from __future__ import annotations

from tests.cli.conftest import Shell


def checkpoint(shell: Shell, session: str, text: str) -> str:
    """The id of the checkpoint that a text names."""
    return str(shell.json("show", session, text)["config"]["checkpoint_id"])


def test_a_label_names_a_checkpoint(shell: Shell) -> None:
    first_turn = checkpoint(shell, "lisbon", "turn:1")
    [[named, created, inherited, name]] = shell.columns(
        "label", "lisbon", "turn:1", "before the room"
    )
    assert (named, inherited, name) == (first_turn, "-", "before the room")
    assert "T" in created
    assert checkpoint(shell, "lisbon", "before the room") == first_turn


def test_without_a_name_the_labels_are_listed(shell: Shell) -> None:
    assert shell.lines("label", "lisbon") == []
    shell.lines("label", "lisbon", "turn:1", "one")
    shell.lines("label", "lisbon", "turn:2", "two")
    assert [row[3] for row in shell.columns("label", "lisbon")] == ["one", "two"]
    assert [label["name"] for label in shell.json("label", "lisbon")] == ["one", "two"]


def test_a_label_is_removed(shell: Shell) -> None:
    shell.lines("label", "lisbon", "turn:1", "one")
    assert shell.lines("label", "--remove", "lisbon", "one") == []
    code, complaint = shell.refusal("label", "lisbon", "one", "--remove")
    assert code == 1
    assert "'one'" in complaint


def test_a_taken_label_is_refused_or_replaced(shell: Shell) -> None:
    shell.lines("label", "lisbon", "turn:1", "best")
    code, complaint = shell.refusal("label", "lisbon", "turn:2", "best")
    assert code == 1
    assert "best" in complaint
    [[named, *_]] = shell.columns("label", "lisbon", "turn:2", "best", "--replace")
    assert named == checkpoint(shell, "lisbon", "turn:2")


def test_names_that_cannot_be(shell: Shell) -> None:
    assert shell.refusal("label", "lisbon", "turn:1", "turn:7")[0] == 2
    assert shell.refusal("label", "lisbon", "turn:1", "a@b")[0] == 2
    assert shell.refusal("label", "lisbon", "one")[0] == 2
    assert shell.refusal("label", "lisbon", "--remove")[0] == 2
    assert shell.refusal("label", "nobody", "turn:1", "a")[0] == 1


def test_every_command_takes_a_label(shell: Shell) -> None:
    shell.lines("label", "lisbon", "turn:1", "first turn")
    first_turn = checkpoint(shell, "lisbon", "turn:1")
    assert shell.columns("log", "lisbon", "--before", "first turn")[0][0] != first_turn
    assert shell.lines("diff", "lisbon@first turn", "lisbon@turn:1")[:2] == [
        f"--- lisbon@{first_turn}",
        f"+++ lisbon@{first_turn}",
    ]
    assert shell.columns("fork", "lisbon", "first turn", "--to", "again")[0][1] == first_turn
    assert checkpoint(shell, "again", "first turn") == first_turn


def test_a_label_comes_before_the_beginning_of_an_id(shell: Shell) -> None:
    beginning = checkpoint(shell, "lisbon", "turn:2")[:18]
    shell.lines("label", "lisbon", "turn:1", beginning)
    assert checkpoint(shell, "lisbon", beginning) == checkpoint(shell, "lisbon", "turn:1")


def test_the_log_shows_labels(shell: Shell) -> None:
    shell.lines("label", "lisbon", "turn:1", "plain")
    shell.lines("label", "lisbon", "turn:1", "with spaces")
    first_turn = checkpoint(shell, "lisbon", "turn:1")
    marks = {row[0]: row[5] for row in shell.columns("log", "lisbon")}
    assert marks[first_turn].endswith('label:plain label:"with spaces"')
    assert [text for text in marks.values() if "label:" in text] == [marks[first_turn]]
    labels = shell.json("log", "lisbon")["labels"]
    assert [label["name"] for label in labels] == ["plain", "with spaces"]
