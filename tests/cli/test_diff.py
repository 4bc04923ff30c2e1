"""`forkpoint diff`: two checkpoints side by side."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_an_edited_message_is_shown_before_and_after(shell: Shell) -> None:
    lines = shell.lines("diff", "lisbon", "lisbon-old-town")
    at = lines.index("- human: And a room by the river, two nights.")
    assert lines[at + 1] == "+ human: And a room in the old town, two nights."


def test_the_heading_names_both_checkpoints_and_what_they_share(shell: Shell) -> None:
    before, after, ancestor, *_ = shell.lines("diff", "lisbon", "lisbon-refused")
    assert before.startswith("--- lisbon@")
    assert after.startswith("+++ lisbon-refused@")
    assert ancestor.startswith("common ancestor: ")


def test_a_checkpoint_can_be_named_on_either_side(shell: Shell) -> None:
    lines = shell.lines("diff", "lisbon@turn:1", "lisbon@turn:2")
    assert "+ human: And a room by the river, two nights." in lines
    assert not any(line.startswith("- ") for line in lines)


def test_a_session_with_an_at_sign_in_its_id_is_found(shell: Shell) -> None:
    shell.lines("fork", "lisbon", "--to", "me@home")
    assert shell.json("diff", "lisbon", "me@home")["same"] is True


def test_json_says_what_changed_and_whether_anything_did(shell: Shell) -> None:
    document = shell.json("diff", "lisbon", "lisbon-old-town")
    assert document["same"] is False
    assert "messages" in [change["channel"] for change in document["changes"]]
