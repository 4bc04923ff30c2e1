"""Threads of LangGraph's own savers come in as they are."""

from __future__ import annotations

import hashlib
import importlib
import multiprocessing
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.types import Command

import forkpoint as fp
from tests.checkpoints import TASK, at, chain, head, ids, place, put, write
from tests.langgraph import graphs
from tests.langgraph.record import saver_content, snapshot
from tests.langgraph.scenarios import SCENARIOS, Scenario
from tests.langgraph.script import Durability, play
from tests.moving.importing import import_until_killed
from tests.moving.seeing import THREAD, stored
from tests.moving.stock import Stock
from tests.traps.test_values import Cipher

EVERY_SCENARIO = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda item: item.name)
PROCESSES = multiprocessing.get_context("forkserver")


def content(saver: Any, scenario: Scenario, thread: str = THREAD) -> dict[str, Any]:
    """All that a saver and its graph show."""
    graph = scenario.build(saver)
    where: Any = {"configurable": {"thread_id": thread}}
    return {
        "stored": stored(saver, thread),
        "history": [snapshot(item) for item in graph.get_state_history(where)],
        "state": snapshot(graph.get_state(where, subgraphs=True)),
    }


def assert_all_came(report: fp.StockImport, checkpoints: int, threads: int = 1) -> None:
    assert report.refused == ()
    assert (report.threads, report.checkpoints) == (threads, checkpoints)


def counted(saver: Any, thread: str = THREAD) -> int:
    where: Any = {"configurable": {"thread_id": thread}}
    return len(list(saver.list(where)))


@EVERY_SCENARIO
@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_every_snapshot_comes_in(
    scenario: Scenario, durability: Durability, stock: Stock, url: str
) -> None:
    with stock.saver() as saver, fp.open(url) as store:
        play(scenario.build(saver), THREAD, scenario.script, durability)
        report = store.import_from_langgraph(stock.kind, stock.url)
        assert_all_came(report, counted(saver))
        assert content(store.saver(), scenario) == content(saver, scenario)


def test_many_threads_come_in(stock: Stock, file_store: fp.Store) -> None:
    told: list[tuple[int, int]] = []
    with stock.saver() as saver:
        for number in range(5):
            chain(saver, f"thread {number}", 3)
        report = file_store.import_from_langgraph(
            stock.kind, stock.url, progress=lambda done, total: told.append((done, total))
        )
    assert_all_came(report, 15, threads=5)
    assert {session.session_id for session in file_store.sessions()} == {
        f"thread {number}" for number in range(5)
    }
    assert told[-1] == (15, 15)
    assert told == sorted(told)


def test_an_open_question_is_answered_after_the_import(stock: Stock, file_store: fp.Store) -> None:
    where: Any = {"configurable": {"thread_id": THREAD}}
    with stock.saver() as saver:
        graphs.nested(saver).invoke({"log": ["in"], "last": ""}, where)
        file_store.import_from_langgraph(stock.kind, stock.url)
    graph = graphs.nested(file_store.saver())
    assert graph.get_state(where).interrupts
    finished = graph.invoke(Command(resume="yes"), where)
    assert "inner:yes" in str(finished["log"])


def test_what_is_there_is_not_written_again(stock: Stock, file_store: fp.Store) -> None:
    with stock.saver() as saver:
        made = chain(saver, "talk", 4)
        write(saver, "talk", made[-1], [("channel", 1)])
        file_store.import_from_langgraph(stock.kind, stock.url)
        again = file_store.import_from_langgraph(stock.kind, stock.url)
    assert (again.checkpoints, again.writes, again.already_there) == (0, 0, 4)
    assert again.refused == ()


def test_what_came_meanwhile_is_added(stock: Stock, file_store: fp.Store) -> None:
    with stock.saver() as saver:
        made = chain(saver, "talk", 4)
        write(saver, "talk", made[-1], [("channel", "early")])
        file_store.import_from_langgraph(stock.kind, stock.url)
        write(saver, "talk", made[-1], [("other", "late")], task=TASK[:-1] + "b", path="~1")
        write(saver, "talk", made[-1], [("__interrupt__", "question")])
        new = put(saver, "talk", made[-1], {"items": ["new"]}, version=9)
        branch = put(saver, "talk", made[0], {"items": ["branch"]}, version=10)
        chain(saver, "another", 2)
        report = file_store.import_from_langgraph(stock.kind, stock.url)
        assert (report.checkpoints, report.writes, report.already_there) == (4, 2, 4)
        assert report.refused == ()
        assert saver_content(file_store.saver(), "talk") == saver_content(saver, "talk")
    assert ids(file_store.saver(), "talk")[:2] == [branch, new]


def test_an_answer_that_was_given_anew_replaces_the_old_one(
    stock: Stock, file_store: fp.Store
) -> None:
    with stock.saver() as saver:
        made = chain(saver, "talk", 2)
        write(saver, "talk", made[-1], [("__resume__", "first")])
        file_store.import_from_langgraph(stock.kind, stock.url)
        write(saver, "talk", made[-1], [("__resume__", "second")])
        report = file_store.import_from_langgraph(stock.kind, stock.url)
    assert (report.writes, report.refused) == (1, ())
    assert head(file_store.saver(), "talk").pending_writes == [(TASK, "__resume__", "second")]


def test_a_thread_with_other_content_is_named_and_the_others_go_on(
    stock: Stock, file_store: fp.Store
) -> None:
    chain(file_store.saver(), "taken", 2)
    before = saver_content(file_store.saver(), "taken")
    with stock.saver() as saver:
        chain(saver, "taken", 3)
        chain(saver, "zebra", 3)
        report = file_store.import_from_langgraph(stock.kind, stock.url)
    assert [refusal.thread_id for refusal in report.refused] == ["taken"]
    assert "'taken'" in report.refused[0].reason
    assert "other content" in report.refused[0].reason
    assert (report.threads, report.checkpoints) == (1, 3)
    assert saver_content(file_store.saver(), "taken") == before


def test_a_conversation_that_went_on_here_is_left_alone(stock: Stock, file_store: fp.Store) -> None:
    with stock.saver() as saver:
        made = chain(saver, "talk", 2)
        file_store.import_from_langgraph(stock.kind, stock.url)
        put(file_store.saver(), "talk", made[-1], {"items": ["here"]}, version=5)
        put(saver, "talk", made[-1], {"items": ["there"]}, version=5)
        report = file_store.import_from_langgraph(stock.kind, stock.url)
    assert report.checkpoints == 0
    assert "the source has not" in report.refused[0].reason
    assert head(file_store.saver(), "talk").checkpoint["channel_values"] == {"items": ["here"]}


def test_an_answer_that_was_given_here_is_left_alone(stock: Stock, file_store: fp.Store) -> None:
    with stock.saver() as saver:
        made = chain(saver, "talk", 2)
        file_store.import_from_langgraph(stock.kind, stock.url)
        write(file_store.saver(), "talk", made[-1], [("__resume__", "yes")])
        report = file_store.import_from_langgraph(stock.kind, stock.url)
    assert "writes that the source has not" in report.refused[0].reason


def test_a_fork_of_the_same_name_is_left_alone(stock: Stock, file_store: fp.Store) -> None:
    with stock.saver() as saver:
        made = chain(saver, "talk", 2)
        file_store.import_from_langgraph(stock.kind, stock.url)
        chain(saver, "fork", 1)
        file_store.saver().fork_session("talk", made[-1], "fork")
        report = file_store.import_from_langgraph(stock.kind, stock.url)
    assert [refusal.thread_id for refusal in report.refused] == ["fork"]


def test_a_pruned_thread_comes_in_without_its_past(stock: Stock, file_store: fp.Store) -> None:
    with stock.saver() as saver:
        made = chain(saver, "talk", 3)
        forget(stock, made[0])
        report = file_store.import_from_langgraph(stock.kind, stock.url)
    assert_all_came(report, 2)
    assert report.without_parent == 1
    assert at(file_store.saver(), "talk", made[1]).parent_config is None


def forget(stock: Stock, checkpoint: str) -> None:
    """Take a checkpoint away from the tables."""
    if stock.kind == "sqlite":
        with sqlite3.connect(stock.url) as connection:
            connection.execute("DELETE FROM checkpoints WHERE checkpoint_id = ?", (checkpoint,))
        connection.close()
        return
    import psycopg

    with psycopg.connect(stock.url) as session:
        session.execute("DELETE FROM checkpoints WHERE checkpoint_id = %s", (checkpoint,))


def test_a_parent_whose_id_is_greater_comes_before_its_child(
    stock: Stock, file_store: fp.Store
) -> None:
    with stock.saver() as saver:
        put(saver, "talk", None, {"n": 1}, checkpoint_id="z")
        put(saver, "talk", "z", {"n": 2}, checkpoint_id="a", version=2)
        report = file_store.import_from_langgraph(stock.kind, stock.url)
        assert_all_came(report, 2)
        stock_head = head(saver, "talk").checkpoint["id"]
    ours = file_store.saver()
    assert at(ours, "talk", "a").parent_config == place("talk", "z")
    assert head(ours, "talk").checkpoint["id"] == stock_head == "z"


def test_types_need_not_be_importable(
    stock: Stock, file_store: fp.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "an_application.py").write_text(
        "from dataclasses import dataclass\n"
        "@dataclass\n"
        "class Order:\n"
        "    item: str\n"
        "    count: int\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    orders = importlib.import_module("an_application")
    wanted = {
        "order": orders.Order("tea", 2),
        "many": [orders.Order(f"cup {n}", n) for n in range(40)],
    }
    with stock.saver() as saver:
        made = put(saver, "talk", None, wanted)
        write(saver, "talk", made, [("order", orders.Order("milk", 1))])
        monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(tmp_path)])
        del sys.modules["an_application"]
        importlib.invalidate_caches()
        report = file_store.import_from_langgraph(stock.kind, stock.url)
        assert_all_came(report, 1)
    assert "an_application" not in sys.modules
    sys.modules["an_application"] = orders
    try:
        found = head(file_store.saver(), "talk")
        assert found.checkpoint["channel_values"] == wanted
        assert found.pending_writes == [(TASK, "order", orders.Order("milk", 1))]
    finally:
        del sys.modules["an_application"]


def test_encrypted_threads_come_in_encrypted(stock: Stock, database: Path) -> None:
    serde = EncryptedSerializer(Cipher(b"k" * 32))
    secret = "a secret that is long enough to be a value of its own " * 3
    with stock.saver(serde) as saver, fp.open(database) as store:
        put(saver, "talk", None, {"texts": [secret]})
        refused = store.import_from_langgraph(stock.kind, stock.url).refused
        assert [refusal.thread_id for refusal in refused] == ["talk"]
        report = store.import_from_langgraph(stock.kind, stock.url, serde=serde)
        assert_all_came(report, 1)
        assert head(store.saver(serde), "talk").checkpoint["channel_values"] == {"texts": [secret]}
        assert saver_content(store.saver(serde), "talk") == saver_content(saver, "talk")
    assert secret.encode() not in database.read_bytes()


def test_a_file_is_not_changed(tmp_path: Path, file_store: fp.Store) -> None:
    stock = Stock("sqlite", str(tmp_path / "stock.sqlite"))
    with stock.saver() as saver:
        chain(saver, "talk", 5)
    before = hashlib.sha256(Path(stock.url).read_bytes()).digest()
    assert_all_came(file_store.import_from_langgraph("sqlite", stock.url), 5)
    assert hashlib.sha256(Path(stock.url).read_bytes()).digest() == before


def test_a_file_without_task_paths_comes_in(tmp_path: Path, file_store: fp.Store) -> None:
    stock = Stock("sqlite", str(tmp_path / "stock.sqlite"))
    with stock.saver() as saver:
        made = chain(saver, "talk", 2)
        write(saver, "talk", made[-1], [("channel", 1)])
    connection = sqlite3.connect(stock.url)
    connection.execute("ALTER TABLE writes DROP COLUMN task_path")
    connection.commit()
    connection.close()
    assert_all_came(file_store.import_from_langgraph("sqlite", stock.url), 2)


@pytest.mark.parametrize("what", ["nothing", "another database", "no database"])
def test_what_is_no_such_database_is_refused(
    what: str, tmp_path: Path, file_store: fp.Store
) -> None:
    path = tmp_path / "stock.sqlite"
    if what == "another database":
        sqlite3.connect(path).execute("CREATE TABLE other (a)").connection.close()
    elif what == "no database":
        path.write_bytes(b"not a database at all, but long enough to have a header of one" * 10)
    with pytest.raises((fp.InvalidArgumentError, fp.DatabaseError), match=r"stock\.sqlite"):
        file_store.import_from_langgraph("sqlite", str(path))


def test_a_killed_import_goes_on(stock: Stock, url: str) -> None:
    with stock.saver() as saver:
        for number in range(4):
            chain(saver, f"thread {number}", 300)
        process = PROCESSES.Process(
            target=import_until_killed, args=(url, stock.kind, stock.url, 500)
        )
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        with fp.open(url) as store:
            report = store.import_from_langgraph(stock.kind, stock.url)
            assert report.refused == ()
            assert report.already_there >= 300
            assert report.checkpoints + report.already_there == 1200
            for number in range(4):
                thread = f"thread {number}"
                assert ids(store.saver(), thread) == ids(saver, thread)


async def test_without_blocking_the_event_loop(tmp_path: Path, file_store: fp.Store) -> None:
    stock = Stock("sqlite", str(tmp_path / "stock.sqlite"))
    with stock.saver() as saver:
        chain(saver, "talk", 2)
    assert_all_came(await file_store.aimport_from_langgraph("sqlite", stock.url), 2)
