"""`forkpoint show`: the state at a checkpoint, and the ways to name one."""

from __future__ import annotations

import forkpoint as fp
from forkpoint.cli.excerpt import one_line
from tests.cli.conftest import Shell


def test_the_head_is_shown_if_no_checkpoint_is_named(shell: Shell) -> None:
    head = shell.json("log", "lisbon", "--limit", "1")["session"]["head"]
    assert f"checkpoint: {head}" in shell.lines("show", "lisbon")


def test_an_open_question_is_shown(shell: Shell) -> None:
    lines = shell.lines("show", "lisbon-old-town")
    assert "question: Pay 257 EUR for TP 1241 and 2 nights at Pensão Alfama?" in lines


def test_messages_are_shown_one_by_one(shell: Shell) -> None:
    lines = shell.lines("show", "lisbon")
    assert "value messages: 13 messages" in lines
    assert "  human: Find me a flight to Lisbon on Friday." in lines
    assert "  ai: search_flights(to='Lisbon', day='Friday')" in lines


def test_the_beginning_of_an_id_is_enough_if_only_one_begins_so(shell: Shell) -> None:
    checkpoint = shell.columns("log", "lisbon")[3][0]
    assert f"checkpoint: {checkpoint}" in shell.lines("show", "lisbon", checkpoint[:30])


def test_the_beginning_of_several_ids_is_refused(shell: Shell) -> None:
    checkpoint = shell.columns("log", "lisbon")[0][0]
    code, complaint = shell.refusal("show", "lisbon", checkpoint[:4])
    assert code == 2
    assert "checkpoints begin with" in complaint


def test_a_turn_names_its_last_checkpoint(shell: Shell) -> None:
    lines = shell.lines("show", "lisbon", "turn:1")
    assert "value messages: 4 messages" in lines


def test_a_turn_that_is_no_number_is_refused(shell: Shell) -> None:
    code, complaint = shell.refusal("show", "lisbon", "turn:last")
    assert code == 2
    assert "turn:3" in complaint


def test_a_fork_names_where_it_came_from(shell: Shell) -> None:
    rows = shell.columns("log", "lisbon-refused", "--limit", "100")
    own = [row[0] for row in rows if "inherited" not in row[5]]
    lines = shell.lines("show", "lisbon-refused", own[-1])
    assert any(line.startswith("forked from: lisbon@") for line in lines)


def test_json_has_the_whole_state(shell: Shell) -> None:
    document = shell.json("show", "lisbon-old-town")
    assert document["values"]["messages"][0]["content"] == "Find me a flight to Lisbon on Friday."
    assert document["interrupts"][0]["value"]["amount"] == 257
    assert document["config"]["session_id"] == "lisbon-old-town"


def test_what_would_drive_a_terminal_is_shown_not_done(shell: Shell) -> None:
    with fp.open(str(shell.database)) as store:
        travel = fp.TimeTravel(store.saver())
        travel.fork("lisbon", store.session("lisbon").head, "nasty\x1b[1m\tname")
    assert any(line.startswith(r"  nasty\x1b[1m\tname") for line in shell.lines("tree"))


def test_any_text_has_a_form_on_one_line() -> None:
    nasty = "clear\x1b[2J bell\x07 nul\x00 lone\ud800 tab\tline\nend"
    assert one_line(nasty) == r"clear\x1b[2J bell\x07 nul\x00 lone\ud800 tab\tline end"
