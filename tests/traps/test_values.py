"""Values come back as what they were, or not at all."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

import forkpoint as fp
from tests.checkpoints import Saver, at, head, place, put, values, write
from tests.langgraph.graphs import chat
from tests.traps import user_types
from tests.traps.conversations import on

TUPLES = {(1, 2), (3, (4, "x"))}


def test_nul_bytes_and_lone_surrogates_in_state(saver: Saver) -> None:
    state = {"nul": "a\x00b", "list": ["\x00", "x\x00y"], "bytes": b"\x00\xff", "\x00key": 1}
    first = put(saver, "t", None, state)
    assert values(at(saver, "t", first)) == state
    broken = {"text": "high \ud800 low \udc00", "list": [{"deep": "\udfff"}]}
    second = put(saver, "t", first, broken, version=2)
    theirs = InMemorySaver()
    put(theirs, "t", None, broken)
    assert values(at(saver, "t", second)) == values(head(theirs, "t"))
    write(saver, "t", second, [("text", "w \ud800"), ("nul", "\x00")])
    write(theirs, "t", head(theirs, "t").checkpoint["id"], [("text", "w \ud800"), ("nul", "\x00")])
    assert at(saver, "t", second).pending_writes == head(theirs, "t").pending_writes


@pytest.mark.parametrize(
    "text", ["a\x00b", "\x00", "\ud800", "x\udfffy", "\U0001f600", "\u202e", "'\"--"]
)
def test_any_text_in_metadata(saver: Saver, text: str) -> None:
    first = put(saver, "t", None, {"x": 1}, note=text, deep={"list": [text, {text: text}]})
    found = at(saver, "t", first).metadata
    assert set(found) >= {"note", "deep", "source", "step", "parents"}
    if "\x00" not in text and not any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        assert found["note"] == text  # type: ignore[typeddict-item]
        assert found["deep"] == {"list": [text, {text: text}]}  # type: ignore[typeddict-item]
    assert len(list(saver.list(place("t"), filter={"note": text}))) in (0, 1)


def test_surrogates_in_a_graphs_input_and_messages(saver: Saver) -> None:
    graph = chat(saver)
    graph.invoke({"messages": [HumanMessage("bad \ud83d and \x00", id="h")]}, on("t"))
    text = graph.get_state(on("t")).values["messages"][0].content
    assert "\x00" in text
    assert text.startswith("bad ")


def test_set_of_tuples_comes_back_as_set_of_tuples(saver: Saver) -> None:
    state = {
        "set": TUPLES,
        "frozen": frozenset(TUPLES),
        "keys": {(1, 2): {(3, 4)}},
        "nested": [{"deep": {(1, (2, 3))}}],
    }
    first = put(saver, "t", None, state)
    write(saver, "t", first, [("set", TUPLES)])
    found = at(saver, "t", first)
    assert values(found) == state
    assert type(values(found)["set"]) is set
    assert all(type(item) is tuple for item in values(found)["set"])
    assert [item[2] for item in found.pending_writes or []] == [TUPLES]


def _rename(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As after a refactoring: the class is not where it was."""
    monkeypatch.delattr(user_types, name)


@pytest.mark.parametrize("name", ["Order", "Ticket", "Colour", "Row"])
@pytest.mark.parametrize("where", ["value", "in_list", "in_dict", "write"])
def test_moved_class_is_an_error_and_keeps_the_bytes(
    database: Path, monkeypatch: pytest.MonkeyPatch, name: str, where: str
) -> None:
    value = user_types.example(name)
    state = {"value": value, "in_list": [1, value], "in_dict": {"k": [value]}, "write": 0}[where]
    with fp.open(str(database)) as store:
        saver = store.saver()
        first = put(saver, "t", None, {"good": 1, "bad": 0 if where == "write" else state})
        if where == "write":
            write(saver, "t", first, [("bad", value)])
        second = put(saver, "t", first, {"good": 2}, version=2)
    with monkeypatch.context() as patch:
        _rename(patch, name)
        with fp.open(str(database)) as store:
            saver = store.saver()
            with pytest.raises(fp.DeserializationError) as caught:
                saver.get_tuple(place("t", first))
            assert caught.value.channel == "bad"
            assert caught.value.checkpoint_id == first
            assert caught.value.type_name == f"{user_types.__name__}.{name}"
            assert values(at(saver, "t", second)) == {"good": 2}
            saver.fork_session("t", second, "fork")
    with fp.open(str(database)) as store:
        found = at(store.saver(), "t", first)
        again = (found.pending_writes or [])[0][2] if where == "write" else values(found)["bad"]
        assert again == (value if where == "write" else state)
        assert type(again) is type(value if where == "write" else state)


def test_class_whose_constructor_changed_is_an_error(
    saver: Saver, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = put(saver, "t", None, {"bad": user_types.Order(1, ["x"])})
    monkeypatch.setattr(user_types, "Order", user_types.NewOrder)
    with pytest.raises(fp.DeserializationError) as caught:
        saver.get_tuple(place("t", first))
    assert caught.value.type_name == f"{user_types.__name__}.Order"


def test_class_that_cannot_be_rebuilt_is_an_error_and_not_a_dict(saver: Saver) -> None:
    """LangGraph passes all fields to the constructor, which a field with `init=False` refuses."""
    first = put(saver, "t", None, {"bad": user_types.Profile("p")})
    with pytest.raises(fp.DeserializationError) as caught:
        saver.get_tuple(place("t", first))
    assert caught.value.type_name == f"{user_types.__name__}.Profile"
    assert caught.value.channel == "bad"


def test_strict_allowlist(database: Path) -> None:
    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    value = user_types.Order(1, ["x"])
    with fp.open(str(database)) as store:
        saver = store.saver(serde=strict)
        first = put(saver, "t", None, {"order": value, "messages": [HumanMessage("m", id="1")]})
        with pytest.raises(fp.DeserializationError) as caught:
            saver.get_tuple(place("t", first))
        assert caught.value.channel == "order"
        assert caught.value.type_name == f"{user_types.__name__}.Order"
        allowing = saver.with_allowlist([(user_types.__name__, "Order")])
        found = values(at(allowing, "t", first))
        assert found == {"order": value, "messages": [HumanMessage("m", id="1")]}
        with pytest.raises(fp.DeserializationError):
            saver.get_tuple(place("t", first))


def test_strict_by_environment(database: Path) -> None:
    """Strict mode is read when LangGraph is imported, so this needs an interpreter of its own."""
    program = f"""
import forkpoint as fp
from tests.checkpoints import put, place
from tests.traps import user_types
with fp.open({str(database)!r}) as store:
    first = put(store.saver(), "t", None, {{"order": user_types.Order(1, ["x"])}})
    try:
        store.saver().get_tuple(place("t", first))
    except fp.DeserializationError as error:
        print("refused", error.channel)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "LANGGRAPH_STRICT_MSGPACK": "true",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "refused order", done.stderr


def test_value_that_cannot_be_stored_leaves_nothing(saver: Saver) -> None:
    first = put(saver, "t", None, {"x": 1})
    for bad in (lambda: None, object(), {"deep": [object()]}):
        with pytest.raises(fp.SerializationError) as caught:
            put(saver, "t", first, {"x": bad}, version=2)
        assert "x" in str(caught.value)
        with pytest.raises(fp.SerializationError):
            write(saver, "t", first, [("ok", 1), ("bad", bad)])
    assert head(saver, "t").checkpoint["id"] == first
    assert head(saver, "t").pending_writes == []


class Cipher:
    """A stream cipher with a fresh nonce for every value: equal texts never look equal."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    def _stream(self, nonce: bytes, length: int) -> bytes:
        return hashlib.shake_256(self.key + nonce).digest(length)

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        nonce = os.urandom(16)
        stream = self._stream(nonce, len(plaintext))
        return "test", nonce + bytes(a ^ b for a, b in zip(plaintext, stream, strict=True))

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "test"
        stream = self._stream(ciphertext[:16], len(ciphertext) - 16)
        return bytes(a ^ b for a, b in zip(ciphertext[16:], stream, strict=True))


def _conversation(length: int) -> list[Any]:
    return [
        (HumanMessage if number % 2 else AIMessage)(f"SECRET {number} " + "w" * 500, id=str(number))
        for number in range(length)
    ]


def test_encrypted_values_are_still_shared_and_not_readable(database: Path) -> None:
    def stored() -> int:
        raw = sqlite3.connect(database)
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages: int = raw.execute("PRAGMA page_count").fetchone()[0]
        raw.close()
        return pages * 4096

    with fp.open(str(database)) as store:
        saver = store.saver(serde=EncryptedSerializer(Cipher(b"k" * 32)))
        parent = put(saver, "t", None, {"messages": _conversation(1)})
        for length in range(2, 102):
            parent = put(saver, "t", parent, {"messages": _conversation(length)}, version=length)
        hundred = stored()
        for length in range(102, 203):
            parent = put(saver, "t", parent, {"messages": _conversation(length)}, version=length)
        two_hundred = stored()
        saver.fork_session("t", parent, "fork")
        assert values(head(saver, "fork"))["messages"] == _conversation(202)
    assert two_hundred < 202 * 4000, "a growing list costs what was added"
    assert two_hundred - hundred < 1.6 * hundred
    for suffix in ("", "-wal"):
        path = Path(f"{database}{suffix}")
        if path.exists():
            assert b"SECRET" not in path.read_bytes()
    with fp.open(str(database)) as store:
        saver = store.saver(serde=EncryptedSerializer(Cipher(b"k" * 32)))
        assert values(head(saver, "t"))["messages"] == _conversation(202)


def test_encrypted_writes_and_interrupts_are_not_readable(database: Path) -> None:
    with fp.open(str(database)) as store:
        saver = store.saver(serde=EncryptedSerializer(Cipher(b"k" * 32)))
        first = put(saver, "t", None, {"text": "SECRET small", "number": 1, "m": {"k": "SECRET"}})
        write(saver, "t", first, [("w", "SECRET write"), ("__interrupt__", ["SECRET?"])])
        assert [item[2] for item in at(saver, "t", first).pending_writes or []] == [
            ["SECRET?"],
            "SECRET write",
        ]
    for suffix in ("", "-wal"):
        path = Path(f"{database}{suffix}")
        if path.exists():
            assert b"SECRET" not in path.read_bytes()


@pytest.mark.parametrize("share_values", [False, True])
def test_in_place_edit_of_an_old_message_is_persisted(database: Path, share_values: bool) -> None:
    messages: list[Any] = [HumanMessage(f"m{number}", id=str(number)) for number in range(50)]
    with fp.open(str(database)) as store:
        saver = store.saver(share_values=share_values)
        first = put(saver, "t", None, {"messages": messages})
        messages[3].content = "edited in place"
        messages.append(AIMessage("new", id="new"))
        second = put(saver, "t", first, {"messages": messages}, version=2)
        messages[0].additional_kwargs["seen"] = True
        third = put(saver, "t", second, {"messages": messages}, version=3)
    with fp.open(str(database)) as store:
        saver = store.saver(share_values=share_values)
        old, edited, last = (
            values(at(saver, "t", one))["messages"] for one in (first, second, third)
        )
        assert (old[3].content, len(old)) == ("m3", 50)
        assert (edited[3].content, len(edited)) == ("edited in place", 51)
        assert edited[0].additional_kwargs == {}
        assert last[0].additional_kwargs == {"seen": True}
        assert last[3].content == "edited in place"


def test_a_growing_list_costs_what_was_added(database: Path) -> None:
    with fp.open(str(database), compress=False) as store:
        saver = store.saver()
        parent = None
        for length in range(1, 301):
            parent = put(saver, "t", parent, {"messages": _conversation(length)}, version=length)
    assert database.stat().st_size < 300 * 3000


def test_mutated_objects_do_not_spoil_later_reads(saver: Saver) -> None:
    state = {
        "messages": [HumanMessage("m", id="1")],
        "table": {"k": [1]},
        "order": user_types.Order(1, ["x"]),
    }
    first = put(saver, "t", None, state)
    write(saver, "t", first, [("w", {"k": [1]})])
    for reader in (
        lambda: at(saver, "t", first),
        lambda: head(saver, "t"),
        lambda: next(iter(saver.list(place("t")))),
    ):
        found = reader()
        assert values(found) == {
            "messages": [HumanMessage("m", id="1")],
            "table": {"k": [1]},
            "order": user_types.Order(1, ["x"]),
        }
        assert (found.pending_writes or [])[0][2] == {"k": [1]}
        values(found)["messages"][0].content = "spoiled"
        values(found)["messages"].append("spoiled")
        values(found)["table"]["k"].append(2)
        values(found)["order"].items.append("spoiled")
        (found.pending_writes or [])[0][2]["k"].append(3)
        found.checkpoint["channel_versions"]["messages"] = 99
        found.metadata["source"] = "fork"
        found.checkpoint["versions_seen"].clear()
    assert at(saver, "t", first).checkpoint["channel_versions"]["messages"] == 1
    assert at(saver, "t", first).metadata["source"] == "loop"


def test_objects_mutated_after_a_put_do_not_spoil_what_was_stored(saver: Saver) -> None:
    table = {"k": [1]}
    message = HumanMessage("m", id="1")
    first = put(saver, "t", None, {"table": table, "messages": [message]})
    write(saver, "t", first, [("w", table)])
    table["k"].append(2)
    message.content = "spoiled"
    found = at(saver, "t", first)
    assert values(found)["table"] == {"k": [1]}
    assert values(found)["messages"][0].content == "m"
    assert (found.pending_writes or [])[0][2] == {"k": [1]}


def test_values_of_a_channel_that_did_not_change_stay(saver: Saver) -> None:
    """A put names only what changed; an unchanged channel keeps its value, at its version."""
    first = put(saver, "t", None, {"a": [1], "b": {"x": 1}})
    step = {
        "v": 4,
        "id": "1effffff-0000-6000-8000-000000000000",
        "ts": "2026-01-02T03:04:06+00:00",
        "channel_values": {"a": [1, 2], "b": {"x": 1}},
        "channel_versions": {"a": 2, "b": 1},
        "versions_seen": {},
        "updated_channels": ["a"],
    }
    saver.put(place("t", first), step, {"source": "loop", "step": 2}, {"a": 2})  # type: ignore[arg-type]
    assert values(head(saver, "t")) == {"a": [1, 2], "b": {"x": 1}}
    assert values(at(saver, "t", first)) == {"a": [1], "b": {"x": 1}}


def test_channel_emptied_at_a_new_version_is_empty(saver: Saver) -> None:
    first = put(saver, "t", None, {"a": 1, "b": 2})
    step = {
        "v": 4,
        "id": "1effffff-0000-6000-8000-000000000000",
        "ts": "2026-01-02T03:04:06+00:00",
        "channel_values": {"a": 1},
        "channel_versions": {"a": 1, "b": 2},
        "versions_seen": {},
        "updated_channels": ["b"],
    }
    saver.put(place("t", first), step, {"source": "loop", "step": 2}, {"b": 2})  # type: ignore[arg-type]
    assert values(head(saver, "t")) == {"a": 1}
    assert head(saver, "t").checkpoint["channel_versions"] == {"a": 1, "b": 2}
