"""A file that is not a Forkpoint database of this version is refused, and left as it is."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import forkpoint as fp
from tests.checkpoints import chain, head, ids, put


def test_database_of_a_newer_version_is_refused(database: Path) -> None:
    with fp.open(str(database)) as store:
        put(store.saver(), "t", None, {"x": 1})
    raw = sqlite3.connect(database)
    raw.execute("PRAGMA user_version = 999999")
    raw.commit()
    raw.close()
    before = database.read_bytes()
    with pytest.raises(fp.NewerDatabaseError, match="newer"):
        fp.open(str(database))
    assert database.read_bytes() == before


def test_foreign_sqlite_file_is_refused_and_left_as_it_is(database: Path) -> None:
    raw = sqlite3.connect(database)
    raw.execute("CREATE TABLE checkpoints (thread_id TEXT, checkpoint BLOB)")
    raw.execute("INSERT INTO checkpoints VALUES ('mine', x'00')")
    raw.commit()
    raw.close()
    before = database.read_bytes()
    with pytest.raises(fp.NotAForkpointDatabaseError):
        fp.open(str(database))
    assert database.read_bytes() == before
    assert sorted(path.name for path in database.parent.iterdir()) == [database.name]


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to be read as one" * 40, b"x"]
)
def test_file_that_is_not_sqlite_is_refused_and_left_as_it_is(
    database: Path, content: bytes
) -> None:
    database.write_bytes(content)
    with pytest.raises(fp.DatabaseError):
        fp.open(str(database))
    assert database.read_bytes() == content


def test_damaged_forkpoint_file_is_refused(database: Path) -> None:
    with fp.open(str(database)) as store:
        chain(store.saver(), "t", 30)
    content = bytearray(database.read_bytes())
    content[100:4096] = b"\xff" * 3996
    database.write_bytes(content)
    with pytest.raises(fp.DatabaseError), fp.open(str(database)) as store:
        head(store.saver(), "t")


def test_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fp.DatabaseError, match=tmp_path.name):
        fp.open(str(tmp_path))


def test_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fp.DatabaseError):
        fp.open(str(tmp_path / "no" / "such" / "agent.db"))


@pytest.mark.parametrize("url", ["postgres://x/y", "mysql://x", "http://x/y.db", ""])
def test_address_of_no_known_kind_is_refused(url: str) -> None:
    with pytest.raises(fp.ForkpointError):
        fp.open(url)


def test_empty_file_is_a_new_database(database: Path) -> None:
    database.touch()
    with fp.open(str(database)) as store:
        put(store.saver(), "t", None, {"x": 1})
        assert len(ids(store.saver(), "t")) == 1


@pytest.mark.parametrize(
    "name", ["with space.db", "ü\u4e2d.db", "per%20cent.db", "what?.db", "a#b.db"]
)
def test_file_names_of_all_kinds(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with fp.open(str(path)) as store:
        put(store.saver(), "t", None, {"x": 1})
        assert store.path == str(path)
    assert path.exists()
    with fp.open(str(path)) as store:
        assert len(ids(store.saver(), "t")) == 1


def test_url_and_path_name_the_same_file(database: Path) -> None:
    with fp.open(f"sqlite:///{database}") as store:
        put(store.saver(), "t", None, {"x": 1})
    with fp.open(str(database)) as store:
        assert len(ids(store.saver(), "t")) == 1
        assert store.url == f"sqlite:///{database}"


def test_two_stores_in_one_process_see_each_others_writes(database: Path) -> None:
    with fp.open(str(database)) as one, fp.open(str(database)) as two:
        first = put(one.saver(), "t", None, {"x": [1]})
        second = put(two.saver(), "t", first, {"x": [1, 2]}, version=2)
        third = put(one.saver(), "t", second, {"x": [1, 2, 3]}, version=3)
        assert ids(two.saver(), "t") == [third, second, first]
        one.saver().delete_thread("t")
        assert ids(two.saver(), "t") == []
        with pytest.raises(fp.SessionDeletedError):
            put(two.saver(), "t", third, {"x": [1, 2, 3, 4]}, version=4)
        fresh = put(two.saver(), "t", None, {"x": ["new"]})
        assert ids(one.saver(), "t") == [fresh]


def test_closed_store_says_so(database: Path) -> None:
    store = fp.open(str(database))
    saver = store.saver()
    first = put(saver, "t", None, {"x": 1})
    store.close()
    store.close()
    for call in (
        lambda: head(saver, "t"),
        lambda: put(saver, "t", first, {"x": 2}, version=2),
        lambda: ids(saver, "t"),
        lambda: saver.fork_session("t", first, "fork"),
        lambda: store.sessions(),
    ):
        with pytest.raises(fp.StoreClosedError):
            call()


def test_memory_stores_are_apart() -> None:
    with fp.open("sqlite:///:memory:") as one, fp.open("sqlite:///:memory:") as two:
        put(one.saver(), "t", None, {"x": 1})
        assert ids(two.saver(), "t") == []
