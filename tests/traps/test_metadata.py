"""Filters have one documented meaning; `limit` and `before` are checked."""

from __future__ import annotations

from typing import Any

import pytest

import forkpoint as fp
from tests.checkpoints import Saver, at, chain, checkpoint, ids, place, put

STORED: dict[str, Any] = {
    "true": True,
    "false": False,
    "one": 1,
    "one_float": 1.0,
    "half": 0.5,
    "zero": 0,
    "null": None,
    "text": "text",
    "empty": "",
    "text_one": "1",
    "text_null": "null",
    "big": 2**53 + 1,
    "list": [1, "a", None, True],
    "nested": {"a": {"b": [1, {"c": None}]}, "d": True},
    "empty_list": [],
    "empty_dict": {},
    "unicode": "é\U0001f600",
    "dotted.key": "dots",
    "key with space": "space",
    "quo'te\"d": "quotes",
    "$.path": "path",
    "ключ": "cyrillic",
    "": "empty key",
    "%": "percent",
    "[0]": "brackets",
    "emoji\U0001f600": 1,
}


@pytest.mark.parametrize("key", STORED)
def test_filter_finds_what_was_stored(saver: Saver, key: str) -> None:
    found = put(saver, "t", None, {"x": 1}, **STORED)
    put(saver, "t", found, {"x": 2}, version=2)
    assert at(saver, "t", found).metadata[key] == STORED[key]  # type: ignore[literal-required]
    assert ids(saver, "t", filter={key: STORED[key]}) == [found]
    assert ids(saver, "t", filter={"step": 1, key: STORED[key], "source": "loop"}) == [found]
    assert ids(saver, "t", filter={"step": 2, key: STORED[key]}) == []


@pytest.mark.parametrize(
    ("key", "asked"),
    [
        ("true", 1),
        ("true", "true"),
        ("false", 0),
        ("false", None),
        ("one", True),
        ("one", "1"),
        ("zero", False),
        ("zero", None),
        ("null", "null"),
        ("null", 0),
        ("null", ""),
        ("missing", None),
        ("missing", ""),
        ("text", "Text"),
        ("text", "tex"),
        ("text", "%"),
        ("empty", None),
        ("text_one", 1),
        ("text_null", None),
        ("big", 2**53),
        ("list", [1, "a", None, 1]),
        ("list", [1, "a", None]),
        ("list", 1),
        ("nested", {"a": {"b": [1, {"c": None}]}}),
        ("nested", {"a": {"b": [True, {"c": None}]}, "d": True}),
        ("nested", {"a": {"b": [1, {}]}, "d": True}),
        ("nested", {"a": {"b": [1, {"c": None}]}, "d": 1}),
        ("empty_list", {}),
        ("empty_dict", []),
        ("empty_dict", None),
        ("dotted", {"key": "dots"}),
        ("nested.d", True),
        ("$", None),
    ],
)
def test_filter_does_not_find_what_is_not_equal(saver: Saver, key: str, asked: Any) -> None:
    put(saver, "t", None, {"x": 1}, **STORED)
    assert ids(saver, "t", filter={key: asked}) == []


def test_order_of_keys_does_not_matter_but_order_of_items_does(saver: Saver) -> None:
    found = put(saver, "t", None, {"x": 1}, both={"a": 1, "b": [1, 2]})
    assert ids(saver, "t", filter={"both": {"b": [1, 2], "a": 1}}) == [found]
    assert ids(saver, "t", filter={"both": {"a": 1, "b": [2, 1]}}) == []


def test_equal_numbers_match_whether_whole_or_not(saver: Saver) -> None:
    """As in JSON, 1 and 1.0 are the same number."""
    found = put(saver, "t", None, {"x": 1}, number=1.0, other=2)
    assert ids(saver, "t", filter={"number": 1}) == [found]
    assert ids(saver, "t", filter={"other": 2.0}) == [found]


def test_filter_over_all_threads(saver: Saver) -> None:
    wanted = {
        put(saver, f"t{number}", None, {"x": number}, user=f"u{number % 2}")
        for number in range(6)
        if number % 2
    }
    for number in range(0, 6, 2):
        put(saver, f"t{number}", None, {"x": number}, user="u0")
    found = [item.checkpoint["id"] for item in saver.list(None, filter={"user": "u1"})]
    assert set(found) == wanted
    assert len(found) == len(wanted)
    assert len(list(saver.list(None, filter={"user": "u1"}, limit=2))) == 2
    assert list(saver.list(None, filter={"user": "nobody"})) == []


def test_filter_on_what_changes_from_step_to_step(saver: Saver) -> None:
    made = chain(saver, "t", 5)
    assert ids(saver, "t", filter={"step": 3}) == [made[2]]
    assert ids(saver, "t", filter={"parents": {}}) == list(reversed(made))
    assert ids(saver, "t", filter={"parents": {"": "x"}}) == []


def test_filter_sees_inherited_checkpoints_in_a_fork(saver: Saver) -> None:
    made = chain(saver, "source", 3, user="u")
    saver.fork_session("source", made[1], "fork")  # type: ignore[attr-defined]
    own = put(saver, "fork", made[1], {"items": []}, version=9, user="u")
    assert ids(saver, "fork", filter={"user": "u"}) == [own, made[1], made[0]]
    assert ids(saver, "fork", filter={"user": "u"}, limit=2) == [own, made[1]]


def test_scalars_of_config_become_metadata(saver: Saver) -> None:
    where: Any = {
        "configurable": {
            "thread_id": "t",
            "checkpoint_ns": "",
            "user_id": "u1",
            "count": 3,
            "__private": 1,
            "dropped": {"a": 1},
        },
        "metadata": {"team": "x", "step": 99},
    }
    saver.put(where, checkpoint({"x": 1}), {"source": "loop", "step": 1}, {"x": 1})  # type: ignore[arg-type]
    found = next(iter(saver.list(place("t"), filter={"user_id": "u1", "team": "x", "count": 3})))
    assert found.metadata == {
        "source": "loop",
        "step": 1,
        "user_id": "u1",
        "count": 3,
        "team": "x",
    }


@pytest.mark.parametrize(
    ("limit", "count"), [(0, 0), (1, 1), (4, 4), (5, 5), (10**9, 5), (None, 5)]
)
def test_limit(saver: Saver, limit: int | None, count: int) -> None:
    made = chain(saver, "t", 5)
    assert ids(saver, "t", limit=limit) == list(reversed(made))[:count]
    assert len(list(saver.list(None, limit=limit))) == count


@pytest.mark.parametrize("limit", [-1, -(10**9), 1.5, "1", True, [1]])
def test_bad_limit_is_refused(saver: Saver, limit: Any) -> None:
    chain(saver, "t", 2)
    with pytest.raises(fp.InvalidArgumentError, match="limit") as caught:
        list(saver.list(place("t"), limit=limit))
    assert caught.value.argument == "limit"


def test_before(saver: Saver) -> None:
    made = chain(saver, "t", 5)
    assert ids(saver, "t", before=place("t", made[2])) == [made[1], made[0]]
    assert ids(saver, "t", before=place("t", made[2]), limit=1) == [made[1]]
    assert ids(saver, "t", before=place("t", made[0])) == []
    assert ids(saver, "t", before=place("t", made[4]), filter={"step": 2}) == [made[1]]


def test_before_in_a_fork(saver: Saver) -> None:
    made = chain(saver, "source", 4)
    saver.fork_session("source", made[2], "fork")  # type: ignore[attr-defined]
    own = put(saver, "fork", made[2], {"items": []}, version=9)
    assert ids(saver, "fork", before=place("fork", own)) == [made[2], made[1], made[0]]
    assert ids(saver, "fork", before=place("fork", made[2])) == [made[1], made[0]]


def test_before_an_id_that_is_not_there_goes_by_the_time_in_it(saver: Saver) -> None:
    """LangGraph names checkpoints that it has made and not stored (durability "exit")."""
    made = chain(saver, "source", 4)
    saver.fork_session("source", made[2], "fork")  # type: ignore[attr-defined]
    assert ids(saver, "fork", before=place("fork", made[3])) == [made[2], made[1], made[0]]
    assert ids(saver, "fork", before=place("fork", "1ef4f797-8335-6428-8001-8a1503f9b875")) == []


@pytest.mark.parametrize("unknown", ["6f8f8a10-0d7a-4b0e-9d0c-0a1b2c3d4e5f", "x", "zzz" * 100])
def test_unknown_before_is_refused(saver: Saver, unknown: str) -> None:
    chain(saver, "t", 2)
    with pytest.raises(fp.CheckpointNotFoundError):
        ids(saver, "t", before=place("t", unknown))


def test_list_of_one_id(saver: Saver) -> None:
    made = chain(saver, "t", 3)
    found = list(saver.list(place("t", made[1])))
    assert [item.checkpoint["id"] for item in found] == [made[1]]
    assert list(saver.list(place("t", "1ef4f797-8335-6428-8001-8a1503f9b875"))) == []


def test_list_over_all_namespaces_goes_by_order_of_writing(saver: Saver) -> None:
    root = put(saver, "t", None, {"x": 1})
    sub = put(saver, "t", None, {"y": 1}, namespace="sub:1", parents={"": root})
    again = put(saver, "t", root, {"x": 2}, version=2)
    late = put(saver, "t", sub, {"y": 2}, namespace="sub:1", version=2, parents={"": root})
    assert ids(saver, "t", None) == [late, again, sub, root]
    assert ids(saver, "t", None, limit=2) == [late, again]
    assert ids(saver, "t", "sub:1") == [late, sub]
    assert ids(saver, "t", "sub") == []
