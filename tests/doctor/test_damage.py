"""Every kind of damage is found for what it is, and mended where what was right is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import ids, put
from tests.doctor.conftest import Knife, kinds, told
from tests.doctor.shapes import LONG, plain
from tests.langgraph.graphs import delta
from tests.traps.conversations import Runs, on, two_levels

Injure = Callable[[Knife], Any]


@dataclass(frozen=True)
class Case:
    """Some damage, and the kinds of findings it makes."""

    name: str
    injure: Injure
    found: set[str]
    """Kinds that must be found; others may be in its train."""
    mended: bool = False
    """Whether a repair leaves a sound database."""


def session(knife: Knife, name: str) -> int:
    """The number of a session."""
    return int(knife.one("SELECT id FROM session WHERE name = :name AND deleted = 0", name=name))


def thread(knife: Knife, name: str, namespace: str = "") -> int:
    """The number of a session's thread."""
    return int(
        knife.one(
            "SELECT id FROM thread WHERE session = :session AND namespace = :namespace",
            session=session(knife, name),
            namespace=namespace,
        )
    )


def newest(knife: Knife, name: str) -> int:
    """The number of the newest row of a session."""
    return int(knife.one("SELECT max(n) FROM checkpoint WHERE thread = :t", t=thread(knife, name)))


def set_session(column: str, value: Any, name: str) -> Injure:
    """Write something into a session's row."""
    return lambda knife: knife.cut(
        f"UPDATE session SET {column} = :value WHERE id = :id",
        value=value,
        id=session(knife, name),
    )


def set_row(column: str, value: Any, name: str, n: int) -> Injure:
    """Write something into a checkpoint's row."""
    return lambda knife: knife.cut(
        f"UPDATE checkpoint SET {column} = :value WHERE thread = :t AND n = :n",
        value=value,
        t=thread(knife, name),
        n=n,
    )


def delete_row(name: str, n: int) -> Injure:
    """Remove a checkpoint's row."""
    return lambda knife: knife.cut(
        "DELETE FROM checkpoint WHERE thread = :t AND n = :n", t=thread(knife, name), n=n
    )


def set_head(value: int | None) -> Injure:
    """Point the head of talk somewhere."""
    return lambda knife: knife.cut(
        "UPDATE thread SET head = :head WHERE id = :t", head=value, t=thread(knife, "talk")
    )


def hide_the_head(knife: Knife) -> None:
    knife.cut(
        "UPDATE checkpoint SET hidden = 1 WHERE thread = :t AND n = :n",
        t=thread(knife, "talk"),
        n=newest(knife, "talk"),
    )


def alter_a_value(knife: Knife) -> None:
    knife.cut(
        "UPDATE blob SET data = :data WHERE id = (SELECT min(id) FROM blob)", data=b"\xa1x" * 40
    )


def empty_a_value(knife: Knife) -> None:
    knife.cut("UPDATE blob SET data = :data WHERE id = (SELECT min(id) FROM blob)", data=b"")


def break_a_compressed_value(knife: Knife) -> None:
    knife.cut("UPDATE blob SET data = :data WHERE id = (SELECT min(id) FROM blob)", data=b"\xfeabc")


def shorten_a_digest(knife: Knife) -> None:
    knife.cut("UPDATE blob SET digest = :d WHERE id = (SELECT min(id) FROM blob)", d=b"123")


def remove_a_value(knife: Knife) -> None:
    knife.cut("DELETE FROM blob WHERE id = (SELECT min(id) FROM blob)")


def remove_a_slot(knife: Knife) -> None:
    knife.cut("DELETE FROM list_item WHERE list = (SELECT min(list) FROM list_item) AND i = 0")


def empty_a_slot(knife: Knife) -> None:
    knife.cut(
        "UPDATE list_item SET blob = NULL, cell = NULL"
        " WHERE list = (SELECT min(list) FROM list_item) AND i = 0"
    )


def remove_a_list(knife: Knife) -> None:
    knife.cut("DELETE FROM list WHERE id = (SELECT min(id) FROM list)")


def stand_a_list_on_itself(knife: Knife) -> None:
    knife.cut("UPDATE list SET base = id, base_length = 1 WHERE id = (SELECT max(id) FROM list)")


def stand_a_list_on_another_family(knife: Knife) -> None:
    knife.cut(
        "UPDATE list SET base = 4294967297000, base_length = 1"
        " WHERE id = (SELECT max(id) FROM list)"
    )


def stand_a_list_on_what_is_gone(knife: Knife) -> None:
    knife.cut(
        "UPDATE list SET base = id - 1, base_length = 1 WHERE id = (SELECT min(id) FROM list)"
    )


def share_a_slot_with_another_family(knife: Knife) -> None:
    knife.cut(
        "UPDATE list_item SET blob = 5, cell = NULL"
        " WHERE list = (SELECT min(list) FROM list_item) AND i = 0"
    )


def spoil_a_body(knife: Knife) -> None:
    set_row("body", b"\xc1 not a body", "talk", 2)(knife)


def spoil_a_write(knife: Knife) -> None:
    knife.cut("UPDATE pending SET body = :body", body=b"\x92\x01")


def remove_the_terms(knife: Knife) -> None:
    knife.cut("DELETE FROM term")


def remove_the_first_row_of_a_lane(knife: Knife) -> None:
    delete_row("talk", 0)(knife)


def branch_in_mid_lane(knife: Knife) -> None:
    set_row("parent", 1, "talk", 4)(knife)


def hang_a_branch_from_nothing(knife: Knife) -> None:
    t = thread(knife, "talk")
    knife.cut("UPDATE checkpoint SET parent = 900 WHERE thread = :t AND n = lane AND n > 0", t=t)


def remove_a_root(knife: Knife) -> None:
    t = thread(knife, "nested")
    n = knife.one(
        "SELECT min(c.root) FROM checkpoint c JOIN thread x ON x.id = c.thread"
        " WHERE x.session = :s AND c.root >= 0",
        s=session(knife, "nested"),
    )
    knife.cut("DELETE FROM checkpoint WHERE thread = :t AND n = :n", t=t, n=n)


def cut_a_delta_chain(knife: Knife) -> None:
    t = thread(knife, "delta")
    for n in knife.cut(
        "SELECT n FROM checkpoint WHERE thread = :t AND n > lane ORDER BY n DESC LIMIT 4", t=t
    )[2:]:
        knife.cut("DELETE FROM pending WHERE thread = :t AND n = :n", t=t, n=n[0])
        knife.cut("DELETE FROM checkpoint WHERE thread = :t AND n = :n", t=t, n=n[0])


def leave_a_write_waiting(knife: Knife) -> None:
    t = thread(knife, "talk")
    knife.cut(
        "INSERT INTO early (thread, cid, w, task, body)"
        " SELECT c.thread, c.cid, p.w + 100, p.task, p.body FROM checkpoint c"
        " JOIN pending p ON p.thread = c.thread WHERE c.thread = :t AND c.n = 1",
        t=t,
    )
    set_session("tick", 200, "talk")(knife)


def write_on_nothing(knife: Knife) -> None:
    knife.cut("UPDATE pending SET n = 900 WHERE thread = :t", t=thread(knife, "talk"))


def remove_a_session(knife: Knife) -> None:
    knife.cut("DELETE FROM session WHERE name = :name", name="stranger")


def remove_a_thread(knife: Knife) -> None:
    knife.cut("DELETE FROM thread WHERE id = :t", t=thread(knife, "stranger"))


def remove_a_source(knife: Knife) -> None:
    knife.cut("DELETE FROM session WHERE name = :name", name="talk")


def remove_a_fork_point(knife: Knife) -> None:
    delete_row("talk", 3)(knife)


def fork_in_the_future(knife: Knife) -> None:
    set_session("base_n", 90, "fork")(knife)


def fork_elsewhere(knife: Knife) -> None:
    set_session("base_n", 2, "fork")(knife)


def fork_of_oneself(knife: Knife) -> None:
    set_session("base", session(knife, "fork"), "fork")(knife)


def remove_a_counter(knife: Knife) -> None:
    knife.cut("DELETE FROM family WHERE id = :id", id=session(knife, "talk"))


def count_nobody(knife: Knife) -> None:
    knife.cut("INSERT INTO family (id, next) VALUES (7000, 1)")


def leave_values_of_nobody(knife: Knife) -> None:
    knife.cut(
        "INSERT INTO blob (id, digest, data) SELECT 30064771073001, digest, data FROM blob"
        " WHERE id = (SELECT min(id) FROM blob)"
    )


def turn_a_counter_back(knife: Knife) -> None:
    knife.cut("UPDATE family SET next = 1 WHERE id = :id", id=session(knife, "talk"))


def label_nothing(knife: Knife) -> None:
    knife.cut(
        "INSERT INTO label (session, name, cid, tick, created) VALUES (:s, 'lost', :cid, 0, 0)",
        s=session(knife, "talk"),
        cid=b"\x00nothing",
    )


def label_for_nobody(knife: Knife) -> None:
    knife.cut(
        "INSERT INTO label (session, name, cid, tick, created) VALUES (9000, 'lost', :cid, 0, 0)",
        cid=b"\x00nothing",
    )


def forget_a_note(knife: Knife) -> None:
    knife.cut("DELETE FROM metadata_thread WHERE thread = :t", t=thread(knife, "talk"))


def note_for_nobody(knife: Knife) -> None:
    knife.cut(
        "INSERT INTO metadata_thread (metadata, thread)"
        " VALUES ((SELECT min(id) FROM metadata), 9000)"
    )


def forget_an_entry(knife: Knife) -> None:
    knife.cut("DELETE FROM metadata_item WHERE name = :name", name='"who"')


def invent_an_entry(knife: Knife) -> None:
    knife.cut(
        "INSERT INTO metadata_item (name, value, metadata)"
        " VALUES ('\"who\"', '\"nobody\"', (SELECT min(id) FROM metadata))"
    )


def alter_metadata(knife: Knife) -> None:
    knife.cut(
        "UPDATE metadata SET body = :body WHERE id = (SELECT min(id) FROM metadata)",
        body='{"who":"nobody"}',
    )


def spoil_metadata(knife: Knife) -> None:
    knife.cut(
        "UPDATE metadata SET body = :body WHERE id = (SELECT min(id) FROM metadata)", body="{"
    )


def lose_metadata(knife: Knife) -> None:
    knife.cut("UPDATE checkpoint SET metadata = 9000 WHERE thread = :t", t=thread(knife, "talk"))


def drop_an_index(knife: Knife) -> None:
    knife.cut("DROP INDEX session_touched")


def claim_a_newer_layout(knife: Knife) -> None:
    if knife.is_postgres:
        knife.cut("UPDATE setting SET value = :value WHERE name = 'layout'", value=b"900")
    else:
        knife.cut("PRAGMA user_version = 900")


CASES = (
    Case("alter_a_value", alter_a_value, {"value"}),
    Case("empty_a_value", empty_a_value, {"value"}),
    Case("break_a_compressed_value", break_a_compressed_value, {"value"}),
    Case("shorten_a_digest", shorten_a_digest, {"value"}),
    Case("remove_a_value", remove_a_value, {"reference"}),
    Case("remove_a_slot", remove_a_slot, {"list"}),
    Case("empty_a_slot", empty_a_slot, {"list"}),
    Case("remove_a_list", remove_a_list, {"reference"}),
    Case("stand_a_list_on_itself", stand_a_list_on_itself, {"list"}),
    Case("stand_a_list_on_another_family", stand_a_list_on_another_family, {"list"}),
    Case("stand_a_list_on_what_is_gone", stand_a_list_on_what_is_gone, {"list"}),
    Case("share_a_slot_with_another_family", share_a_slot_with_another_family, {"list"}),
    Case("spoil_a_body", spoil_a_body, {"row"}),
    Case("spoil_an_id", set_row("cid", b"\x01short", "talk", 2), {"row"}),
    Case("spoil_a_write", spoil_a_write, {"row"}),
    Case("remove_the_terms", remove_the_terms, {"row"}),
    Case("remove_the_first_row_of_a_lane", remove_the_first_row_of_a_lane, {"lane"}),
    Case("branch_in_mid_lane", branch_in_mid_lane, {"lane"}),
    Case("lane_that_is_gone", set_row("lane", 3, "talk", 4), {"lane"}),
    Case("parent_in_another_session", set_row("parent_thread", 1, "talk", 4), {"lane"}),
    Case("hang_a_branch_from_nothing", hang_a_branch_from_nothing, {"parent"}),
    Case("remove_a_root", remove_a_root, {"root"}),
    Case("cut_a_delta_chain", cut_a_delta_chain, {"history"}),
    Case("head_nowhere", set_head(900), {"head"}, mended=True),
    Case("no_head", set_head(None), {"head"}, mended=True),
    Case("hide_the_head", hide_the_head, {"head"}, mended=True),
    Case("leave_a_write_waiting", leave_a_write_waiting, {"early"}, mended=True),
    Case("write_on_nothing", write_on_nothing, {"orphan"}, mended=True),
    Case("remove_a_session", remove_a_session, {"orphan"}, mended=True),
    Case("remove_a_thread", remove_a_thread, {"orphan"}, mended=True),
    Case("remove_a_source", remove_a_source, {"orphan", "lineage"}),
    Case("remove_a_fork_point", remove_a_fork_point, {"lineage"}),
    Case("fork_in_the_future", fork_in_the_future, {"lineage"}),
    Case("fork_elsewhere", fork_elsewhere, {"lineage"}),
    Case("fork_of_oneself", fork_of_oneself, {"lineage"}),
    Case("fork_in_no_thread", set_session("base_thread", 9000, "fork"), {"lineage"}),
    Case("wrong_depth", set_session("depth", 7, "fork"), {"lineage"}, mended=True),
    Case("wrong_root", set_session("root", "nobody", "fork"), {"lineage"}, mended=True),
    Case("turn_a_tick_back", set_session("tick", 3, "talk"), {"tick"}, mended=True),
    Case("forget_a_fork", set_session("base_cut", 900, "fork"), {"tick"}, mended=True),
    Case("remove_a_counter", remove_a_counter, {"family"}, mended=True),
    Case("count_nobody", count_nobody, {"family"}, mended=True),
    Case("leave_values_of_nobody", leave_values_of_nobody, {"family"}, mended=True),
    Case("turn_a_counter_back", turn_a_counter_back, {"counter"}, mended=True),
    Case("label_nothing", label_nothing, {"label"}, mended=True),
    Case("label_for_nobody", label_for_nobody, {"label"}, mended=True),
    Case("forget_a_note", forget_a_note, {"metadata"}, mended=True),
    Case("note_for_nobody", note_for_nobody, {"orphan"}, mended=True),
    Case("forget_an_entry", forget_an_entry, {"metadata"}, mended=True),
    Case("invent_an_entry", invent_an_entry, {"metadata"}, mended=True),
    Case("alter_metadata", alter_metadata, {"metadata"}),
    Case("spoil_metadata", spoil_metadata, {"metadata"}),
    Case("lose_metadata", lose_metadata, {"metadata"}),
    Case("drop_an_index", drop_an_index, {"file"}),
    Case("claim_a_newer_layout", claim_a_newer_layout, {"file"}),
)


def ward(store: Store) -> None:
    """What the cases do damage to."""
    saver = store.saver()
    made = plain(saver, "talk", 6)
    put(saver, "talk", made[1], {"items": [LONG, "branch"]}, version=20)
    put(saver, "talk", made[-1], {"items": [LONG] * 3}, version=21)
    saver.fork_session("talk", made[3], "fork")
    put(saver, "fork", made[3], {"items": [LONG, "fork"]}, version=22)
    saver.fork_session("fork", made[3], "deep")
    plain(saver, "stranger", 2)
    two_levels(saver, Runs()).invoke({"log": ["please"]}, on("nested"))
    for word in ("one", "two"):
        delta(1000)(saver).invoke({"log": [word], "other": [], "plain": []}, on("delta"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_damage_is_found_and_mended_where_it_can_be(
    patient: Store, url: str, knife: Knife, case: Case
) -> None:
    ward(patient)
    assert kinds(patient.examine()) == {}
    case.injure(knife)
    diagnosis = patient.examine()
    if case.injure is not claim_a_newer_layout:
        # A store that remembers nothing finds the same.
        with fp.open(url) as other:
            assert other.examine() == diagnosis
    assert case.found <= kinds(diagnosis).keys(), told(diagnosis)
    assert not diagnosis.sound
    report = patient.repair(diagnosis)
    after = patient.examine()
    if case.mended:
        assert report.remaining == ()
        assert len(report.repaired) > 0
        assert after.sound, told(after)
    else:
        assert report.remaining != ()
        assert {finding.kind for finding in report.remaining} <= kinds(after).keys()
        assert not any(finding.repairable for finding in report.remaining)
    if case.injure is not remove_the_terms:
        _goes_on(patient, {"talk"} if not case.mended else set())


def _goes_on(store: Store, damaged: set[str]) -> None:
    """Sessions that nothing happened to can be written to."""
    saver = store.saver()
    made = plain(saver, "newcomer", 2)
    assert ids(saver, "newcomer") == made[::-1]
    if "talk" not in damaged:
        head = ids(saver, "talk")[0]
        put(saver, "talk", head, {"items": [LONG, "goes on"]}, version=50)
        again = store.examine()
        assert again.sound, told(again)
