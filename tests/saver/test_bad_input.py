"""Every public method with arguments it cannot use, and with ids of every kind that it can."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import Saver, chain, checkpoint, head, ids, place, put, values, write

NOT_TEXT: list[Any] = [None, 1.5, True, b"t", ["t"], {"a": 1}]
ODD_IDS = [
    "'; DROP TABLE checkpoint; --",
    '" OR 1=1 --',
    "a%b_c",
    "\U0001f600é中\u202e",
    " ",
    "line\nbreak\ttab",
    # As long as an id may be, and no shorter when it is compressed.
    "".join(sha256(bytes([number])).hexdigest() for number in range(16))[:1000],
    "a:b|c",
    "../../etc/passwd",
    "null",
    "-1",
]
UNKNOWN = "1ef4f797-8335-6428-8001-8a1503f9b875"


def accepted(call: Callable[[], Any], argument: str) -> bool:
    """Whether a call goes through; if not, the error is one of ours that names the argument."""
    try:
        call()
    except fp.ForkpointError as error:
        named = argument in str(error)
        if not named:
            pytest.fail(f"{error!r:.200} does not name {argument}")
        return False
    return True


def test_numbers_are_ids_as_in_the_stock_savers(saver: Saver) -> None:
    put(saver, "7", None, {"x": 1})
    assert saver.get_tuple({"configurable": {"thread_id": 7}}) is not None


def refused(call: Callable[[], Any], argument: str) -> None:
    """The call raises an error of ours that names the argument."""
    with pytest.raises(fp.ForkpointError) as caught:
        call()
    named = getattr(caught.value, "argument", None)
    assert argument in (named or str(caught.value)), f"{caught.value!r} does not name {argument}"


def address(**configurable: Any) -> Any:
    return {"configurable": configurable}


READERS: dict[str, Callable[[Saver, Any], Any]] = {
    "get_tuple": lambda saver, config: saver.get_tuple(config),
    "get": lambda saver, config: saver.get(config),
    "list": lambda saver, config: list(saver.list(config)),
    "get_delta_channel_history": lambda saver, config: saver.get_delta_channel_history(
        config=config, channels=["x"]
    ),
    "put_writes": lambda saver, config: saver.put_writes(config, [("x", 1)], "task"),
    "put": lambda saver, config: saver.put(config, checkpoint({"x": 1}), {"step": 1}, {"x": 1}),  # type: ignore[arg-type, typeddict-item]
}


@pytest.mark.parametrize("method", READERS)
@pytest.mark.parametrize("bad", [*NOT_TEXT, ""], ids=repr)
def test_thread_id_of_the_wrong_kind(saver: Saver, method: str, bad: Any) -> None:
    if method == "list" and bad is None:
        pytest.skip("a listing without a thread is one of all threads")
    config = address(thread_id=bad, checkpoint_ns="", checkpoint_id=UNKNOWN)
    refused(lambda: READERS[method](saver, config), "thread_id")


@pytest.mark.parametrize("method", READERS)
@pytest.mark.parametrize("bad", [item for item in NOT_TEXT if item is not None], ids=repr)
def test_checkpoint_id_of_the_wrong_kind(saver: Saver, method: str, bad: Any) -> None:
    put(saver, "t", None, {"x": 1})
    config = address(thread_id="t", checkpoint_ns="", checkpoint_id=bad)
    refused(lambda: READERS[method](saver, config), "checkpoint_id")


@pytest.mark.parametrize("method", READERS)
@pytest.mark.parametrize("bad", [item for item in NOT_TEXT if item is not None], ids=repr)
def test_namespace_of_the_wrong_kind(saver: Saver, method: str, bad: Any) -> None:
    config = address(thread_id="t", checkpoint_ns=bad, checkpoint_id=UNKNOWN)
    refused(lambda: READERS[method](saver, config), "checkpoint_ns")


@pytest.mark.parametrize("method", [name for name in READERS if name != "list"])
@pytest.mark.parametrize(
    "bad", [None, {}, {"configurable": {}}, {"configurable": None}, 1, "t"], ids=repr
)
def test_config_of_the_wrong_kind(saver: Saver, method: str, bad: Any) -> None:
    refused(lambda: READERS[method](saver, bad), "config")


@pytest.mark.parametrize("bad", [{}, {"configurable": None}, 1, "t"], ids=repr)
def test_config_of_a_listing_of_the_wrong_kind(saver: Saver, bad: Any) -> None:
    refused(lambda: list(saver.list(bad)), "config")


def test_writes_need_a_checkpoint_id(saver: Saver) -> None:
    put(saver, "t", None, {"x": 1})
    refused(lambda: saver.put_writes(place("t"), [("x", 1)], "task"), "checkpoint_id")


@pytest.mark.parametrize("bad", [None, 1, "text", {}, {"id": 3}, {"id": ""}, []], ids=repr)
def test_checkpoint_of_the_wrong_kind(saver: Saver, bad: Any) -> None:
    refused(lambda: saver.put(place("t"), bad, {"step": 1}, {}), "checkpoint")  # type: ignore[typeddict-item]
    assert ids(saver, "t", None) == []


@pytest.mark.parametrize("bad", [None, 1, "text", ["step"], {1: 2}], ids=repr)
def test_metadata_of_the_wrong_kind(saver: Saver, bad: Any) -> None:
    refused(lambda: saver.put(place("t"), checkpoint({}), bad, {}), "metadata")  # type: ignore[arg-type]
    assert ids(saver, "t", None) == []


def test_metadata_that_is_not_json_is_an_error_of_ours_or_is_kept(saver: Saver) -> None:
    for number, odd in enumerate([object(), {1, 2}, b"x", float("nan"), lambda: 0]):
        thread = f"t{number}"
        kept = accepted(lambda t=thread, o=odd: put(saver, t, None, {"x": 1}, odd=o), "odd")  # type: ignore[misc]
        assert len(ids(saver, thread, None)) == int(kept)


@pytest.mark.parametrize(
    "bad", [None, 1, "text", [1], [("a",)], [("a", 1, 2)], [(1, 2)], [(None, 1)]], ids=repr
)
def test_writes_of_the_wrong_kind(saver: Saver, bad: Any) -> None:
    first = put(saver, "t", None, {"x": 1})
    refused(lambda: saver.put_writes(place("t", first), bad, "task"), "writes")
    assert head(saver, "t").pending_writes == []


def test_no_writes_at_all_is_no_error(saver: Saver) -> None:
    first = put(saver, "t", None, {"x": 1})
    saver.put_writes(place("t", first), [], "task")
    assert head(saver, "t").pending_writes == []


@pytest.mark.parametrize("bad", NOT_TEXT, ids=repr)
def test_task_of_the_wrong_kind(saver: Saver, bad: Any) -> None:
    first = put(saver, "t", None, {"x": 1})
    refused(lambda: saver.put_writes(place("t", first), [("a", 1)], bad), "task_id")
    refused(lambda: saver.put_writes(place("t", first), [("a", 1)], "task", bad), "task_path")
    assert head(saver, "t").pending_writes == []


@pytest.mark.parametrize("bad", NOT_TEXT, ids=repr)
@pytest.mark.parametrize("position", range(3))
def test_fork_with_ids_of_the_wrong_kind(store: Store, bad: Any, position: int) -> None:
    saver = store.saver()
    made = chain(saver, "t", 2)
    arguments: list[Any] = ["t", made[0], "fork"]
    arguments[position] = bad
    refused(
        lambda: saver.fork_session(*arguments), ("source", "checkpoint_id", "destination")[position]
    )
    assert [summary.session_id for summary in store.sessions()] == ["t"]


def test_fork_with_empty_ids(saver: Any) -> None:
    made = chain(saver, "t", 2)
    refused(lambda: saver.fork_session("", made[0], "fork"), "source")
    refused(lambda: saver.fork_session("t", made[0], ""), "destination")
    refused(lambda: saver.fork_session("t", "", "fork"), "checkpoint")
    assert ids(saver, "fork", None) == []


@pytest.mark.parametrize(
    ("option", "bad"),
    [
        *(("pending", bad) for bad in ["", "all", "AUTO", None, 1, ["auto"]]),
        *(("namespace", bad) for bad in [None, 1, b"x"]),
        *(("by", bad) for bad in [1, b"x", ["me"]]),
        *(("reason", bad) for bad in [1, b"x", {}]),
        *(("request_id", bad) for bad in [1, b"x", ""]),
    ],
)
def test_fork_with_options_of_the_wrong_kind(saver: Any, option: str, bad: Any) -> None:
    made = chain(saver, "t", 2)
    refused(lambda: saver.fork_session("t", made[0], "fork", **{option: bad}), option)
    assert ids(saver, "fork", None) == []


def test_fork_in_an_unknown_namespace(saver: Any) -> None:
    made = chain(saver, "t", 2)
    with pytest.raises(fp.CheckpointNotFoundError):
        saver.fork_session("t", made[0], "fork", namespace="no such")


@pytest.mark.parametrize("bad", [0, -1, -(10**9), 1.5, "3", True, [1]], ids=repr)
def test_limits_of_a_timeline(saver: Any, bad: Any) -> None:
    made = chain(saver, "t", 5)
    if bad == 0 and bad is not False:
        assert list(saver.timeline("t", limit=0)) == []
    else:
        refused(lambda: saver.timeline("t", limit=bad), "limit")
    entries = saver.timeline("t", limit=10**9)
    assert [entry.checkpoint_id for entry in entries] == list(reversed(made))


def test_timeline_of_unknown_things(saver: Any) -> None:
    chain(saver, "t", 2)
    with pytest.raises(fp.SessionNotFoundError, match="nobody"):
        saver.timeline("nobody")
    with pytest.raises(fp.CheckpointNotFoundError):
        saver.timeline("t", before=UNKNOWN)
    for bad in NOT_TEXT:
        refused(lambda bad=bad: saver.timeline(bad), "thread_id")  # type: ignore[misc]
    for bad in NOT_TEXT[1:]:
        refused(lambda bad=bad: saver.timeline("t", before=bad), "before")  # type: ignore[misc]
        refused(lambda bad=bad: saver.timeline("t", source=bad), "source")  # type: ignore[misc]


@pytest.mark.parametrize("bad", [*NOT_TEXT, ""], ids=repr)
def test_origin_delete_and_copy_of_the_wrong_kind(saver: Any, bad: Any) -> None:
    chain(saver, "t", 2)
    refused(lambda: saver.origin(bad), "thread_id")
    refused(lambda: saver.delete_thread(bad), "thread_id")
    refused(lambda: saver.copy_thread(bad, "copy"), "source_thread_id")
    refused(lambda: saver.copy_thread("t", bad), "target_thread_id")
    assert len(ids(saver, "t", None)) == 2


def test_origin_of_an_unknown_thread(saver: Any) -> None:
    with pytest.raises(fp.SessionNotFoundError, match="nobody"):
        saver.origin("nobody")


def test_delete_of_an_unknown_thread_is_no_error(saver: Saver) -> None:
    saver.delete_thread("nobody")
    put(saver, "nobody", None, {"x": 1})
    assert len(ids(saver, "nobody")) == 1


def test_copy_of_an_unknown_thread_copies_nothing(saver: Saver) -> None:
    saver.copy_thread("nobody", "copy")
    assert ids(saver, "copy", None) == []


@pytest.mark.parametrize("bad", [None, 1, "t", b"t", [1.5], [None], {"t": 1}], ids=repr)
def test_prune_and_delete_for_runs_of_the_wrong_kind(saver: Saver, bad: Any) -> None:
    made = chain(saver, "t", 2, run_id="t")
    refused(lambda: saver.prune(bad), "thread_ids")
    refused(lambda: saver.delete_for_runs(bad), "run_ids")
    assert ids(saver, "t") == list(reversed(made))


@pytest.mark.parametrize("bad", [None, "", "all", 1, "KEEP_LATEST"], ids=repr)
def test_prune_by_an_unknown_strategy(saver: Saver, bad: Any) -> None:
    made = chain(saver, "t", 2)
    refused(lambda: saver.prune(["t"], strategy=bad), "strategy")
    assert ids(saver, "t") == list(reversed(made))


@pytest.mark.parametrize("bad", [1, "x", ["a"], {1: 2}, {None: 1}], ids=repr)
def test_filter_of_the_wrong_kind(saver: Saver, bad: Any) -> None:
    chain(saver, "t", 2)
    refused(lambda: list(saver.list(place("t"), filter=bad)), "filter")


def test_filter_with_a_value_that_no_metadata_can_have(saver: Saver) -> None:
    chain(saver, "t", 2)
    for odd in (object(), {1, 2}, b"x", float("nan")):
        found: list[Any] = []
        accepted(
            lambda o=odd, f=found: f.extend(saver.list(place("t"), filter={"key": o})),  # type: ignore[misc]
            "filter",
        )
        assert found == []


@pytest.mark.parametrize("bad", [1, "x", {}, {"configurable": None}, [1]], ids=repr)
def test_before_of_the_wrong_kind(saver: Saver, bad: Any) -> None:
    chain(saver, "t", 2)
    refused(lambda: list(saver.list(place("t"), before=bad)), "before")


@pytest.mark.parametrize("bad", [None, 1, "x", [1], [None]], ids=repr)
def test_channels_of_the_wrong_kind(saver: Saver, bad: Any) -> None:
    chain(saver, "t", 2)
    refused(lambda: saver.get_delta_channel_history(config=place("t"), channels=bad), "channels")


def test_delta_history_of_nothing(saver: Saver) -> None:
    chain(saver, "t", 2)
    assert saver.get_delta_channel_history(config=place("t"), channels=[]) == {}
    found = saver.get_delta_channel_history(config=place("nobody"), channels=["x"])
    assert found == {"x": {"writes": []}}
    found = saver.get_delta_channel_history(config=place("t", UNKNOWN), channels=["x"])
    assert found == {"x": {"writes": []}}


@pytest.mark.parametrize("odd", ODD_IDS, ids=lambda text: repr(text)[:30])
def test_ids_of_any_kind_of_text(store: Store, odd: str) -> None:
    saver = store.saver()
    other = put(saver, "other", None, {"x": "other"})
    first = put(saver, odd, None, {odd: odd}, checkpoint_id=odd, **{odd: odd})
    write(saver, odd, first, [(odd, odd)], odd, odd)
    sub = put(saver, odd, None, {"s": 1}, namespace=odd, parents={"": odd})
    found = head(saver, odd)
    assert found.checkpoint["id"] == odd
    assert values(found) == {odd: odd}
    assert [tuple(item) for item in found.pending_writes or []] == [(odd, odd, odd)]
    assert ids(saver, odd, odd) == [sub]
    assert ids(saver, odd, "", filter={odd: odd}) == [odd]
    assert saver.get_delta_channel_history(config=place(odd), channels=[odd])[odd]["writes"] == []
    saver.fork_session(odd, odd, f"fork {odd}", by=odd, reason=odd, request_id=odd)
    origin = saver.origin(f"fork {odd}")
    assert origin is not None
    assert (origin.session_id, origin.checkpoint_id) == (odd, odd)
    assert (origin.by, origin.reason) == (odd, odd)
    assert [entry.checkpoint_id for entry in saver.timeline(odd)] == [odd]
    assert store.session(odd).session_id == odd
    assert [summary.session_id for summary in store.forks_of(odd)] == [f"fork {odd}"]
    assert len(store.sessions()) == 3
    assert len(store.sessions(before=odd)) < 3
    saver.copy_thread(odd, f"copy {odd}")
    saver.prune([odd])
    saver.delete_for_runs([odd])
    saver.delete_thread(odd)
    assert saver.get_tuple(place(odd)) is None
    assert values(head(saver, f"fork {odd}")) == {odd: odd}
    assert head(saver, "other").checkpoint["id"] == other


@pytest.mark.parametrize("odd", ["nul \x00 byte", "lone \ud800 surrogate", "x" * 2_000_000])
def test_ids_that_no_database_likes(store: Store, odd: str) -> None:
    """Either they work like any other, or the argument is named; nothing is half done."""
    saver = store.saver()
    other = put(saver, "other", None, {"x": "other"})
    calls: dict[str, Callable[[], Any]] = {
        "thread_id": lambda: put(saver, odd, None, {"x": 1}),
        "checkpoint_ns": lambda: put(saver, "t", None, {"x": 1}, namespace=odd),
        "checkpoint": lambda: put(saver, "u", None, {"x": 1}, checkpoint_id=odd),
        "destination": lambda: saver.fork_session("other", other, odd),
        "by": lambda: saver.fork_session("other", other, "f1", by=odd),
        "task_id": lambda: saver.put_writes(place("other", other), [("a", 1)], odd),
        "task_path": lambda: saver.put_writes(place("other", other), [("b", 1)], "task", odd),
        "writes": lambda: saver.put_writes(place("other", other), [(odd, 1)], "task 2"),
    }
    for argument, call in calls.items():
        accepted(call, argument)
    assert saver.get_tuple(place("other")) is not None
    assert store.sessions()
    for summary in store.sessions():
        assert head(saver, summary.session_id)


def test_a_value_of_some_size(saver: Saver) -> None:
    big = "x" * 20_000_000
    first = put(saver, "t", None, {"big": big, "list": [big[:5_000_000], 1]})
    assert values(head(saver, "t"))["big"] == big
    saver.fork_session("t", first, "fork")  # type: ignore[attr-defined]
    assert values(head(saver, "fork"))["list"][0] == big[:5_000_000]


@pytest.mark.parametrize("bad", NOT_TEXT, ids=repr)
def test_store_with_ids_of_the_wrong_kind(store: Store, bad: Any) -> None:
    put(store.saver(), "t", None, {"x": 1})
    refused(lambda: store.session(bad), "session_id")
    refused(lambda: store.forks_of(bad), "session_id")
    if bad is not None:
        refused(lambda: store.sessions(before=bad), "before")


def test_store_with_unknown_ids(store: Store) -> None:
    put(store.saver(), "t", None, {"x": 1})
    with pytest.raises(fp.SessionNotFoundError, match="nobody"):
        store.session("nobody")
    with pytest.raises(fp.SessionNotFoundError, match="nobody"):
        store.forks_of("nobody")
    with pytest.raises(fp.SessionNotFoundError, match="nobody"):
        store.sessions(before="nobody")
    assert store.forks_of("t") == []


@pytest.mark.parametrize("bad", [-1, -(10**9), 1.5, "3", True, None, [1]], ids=repr)
def test_store_with_bad_limits(store: Store, bad: Any) -> None:
    put(store.saver(), "t", None, {"x": 1})
    refused(lambda: store.sessions(limit=bad), "limit")
    assert store.sessions(limit=0) == []
    assert len(store.sessions(limit=10**9)) == 1


@pytest.mark.parametrize(
    ("option", "bad"),
    [
        *(("durability", bad) for bad in ["", "FULL", None, 1, "off"]),
        *(("busy_timeout", bad) for bad in [-1, "30", None, float("nan")]),
        *(("compress", bad) for bad in ["yes", None, 1]),
    ],
)
def test_open_with_options_of_the_wrong_kind(option: str, bad: Any) -> None:
    refused(lambda: fp.open("sqlite:///:memory:", **{option: bad}), option)


@pytest.mark.parametrize("bad", NOT_TEXT, ids=repr)
def test_open_of_the_wrong_kind(bad: Any) -> None:
    refused(lambda: fp.open(bad), "url")


def test_saver_with_options_of_the_wrong_kind(store: Store) -> None:
    refused(lambda: store.saver(serde=3), "serde")  # type: ignore[arg-type]
    refused(lambda: store.saver(share_values="yes"), "share_values")  # type: ignore[arg-type]


def test_checkpoint_of_another_session(saver: Any) -> None:
    one, two = chain(saver, "one", 2), chain(saver, "two", 2)
    assert saver.get_tuple(place("one", two[0])) is None
    assert list(saver.list(place("one", two[0]))) == []
    with pytest.raises(fp.CheckpointNotFoundError):
        put(saver, "one", two[1], {"x": 1}, version=9)
    with pytest.raises(fp.CheckpointNotFoundError):
        saver.fork_session("one", two[0], "fork")
    with pytest.raises(fp.CheckpointNotFoundError):
        saver.timeline("one", before=two[0])
    assert ids(saver, "one") == list(reversed(one))


async def test_async_methods_refuse_the_same(saver: Any) -> None:
    bad = address(thread_id=3.5, checkpoint_ns="", checkpoint_id=UNKNOWN)
    calls = [
        lambda: saver.aget_tuple(bad),
        lambda: saver.aput(bad, checkpoint({}), {"step": 1}, {}),
        lambda: saver.aput_writes(bad, [("x", 1)], "task"),
        lambda: saver.adelete_thread(3.5),
        lambda: saver.acopy_thread(3.5, "x"),
        lambda: saver.aprune("t"),
        lambda: saver.adelete_for_runs("r"),
        lambda: saver.aget_delta_channel_history(config=bad, channels=["x"]),
        lambda: saver.afork_session(3.5, "x", "y"),
        lambda: saver.atimeline(3.5),
        lambda: saver.aorigin(3.5),
        lambda: anext(saver.alist(bad)),
    ]
    for call in calls:
        with pytest.raises(fp.ForkpointError):
            await call()
