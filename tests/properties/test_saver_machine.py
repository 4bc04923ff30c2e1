"""The saver against a plain dictionary model, under random histories.

Two stores are open on the same file and take turns, as two processes would, so whatever one of
them remembers must not outlive what the other writes.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.types import _DeltaSnapshot

import forkpoint as fp
from tests.checkpoints import place
from tests.properties.plain_model import Key, Model, Record, Thread

CHANNELS = ["number", "items", "delta"]
TASKS = {
    "00000000-0000-0000-0000-0000000000aa": "~3",
    "00000000-0000-0000-0000-0000000000bb": "",
    "00000000-0000-0000-0000-0000000000cc": "~1",
    "00000000-0000-0000-0000-000000000000": "",
}
SUBSPACES = ["memory", "sub:0000|deep:1"]
RUNS = ["run-1", "run-2", "run-3"]
LONG = "a longer text that is worth sharing between checkpoints " * 3

items = st.lists(
    st.one_of(st.integers(-5, 5), st.sampled_from([LONG, LONG + "!", {"k": [1, LONG]}])), max_size=6
)
write_values = st.lists(
    st.tuples(
        st.sampled_from(["delta", "items", "__interrupt__", "__resume__", "__error__"]),
        st.one_of(st.integers(-9, 9), st.just([LONG])),
    ),
    min_size=1,
    max_size=4,
)


def seen(found: CheckpointTuple) -> dict[str, Any]:
    """What a saver says of one checkpoint, as plain values."""
    parent = found.parent_config
    return {
        "config": found.config["configurable"],
        "checkpoint": dict(found.checkpoint),
        "metadata": dict(found.metadata),
        "parent": None if parent is None else parent["configurable"],
        "writes": [tuple(write) for write in found.pending_writes or []],
    }


class SaverMachine(RuleBasedStateMachine):
    """Random puts, writes, forks, deletions and reopenings."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.model = Model()
        self.named = 0
        self.version = 0
        self.stores: list[Any] = []
        self.savers: list[Any] = []
        self.options: dict[str, Any] = {}
        self.shared = False
        self.early: dict[str, list[Key]] = {}

    @initialize(compress=st.booleans(), shared=st.booleans())
    def open_stores(self, compress: bool, shared: bool) -> None:
        self.options = {"compress": compress, "durability": "normal"}
        self.shared = shared
        self._open()

    def _open(self) -> None:
        path = str(self.directory / "agent.db")
        self.stores = [fp.open(path, **self.options) for _ in range(2)]
        self.savers = [store.saver(share_values=self.shared) for store in self.stores]

    def _close(self) -> None:
        for store in self.stores:
            store.close()

    def teardown(self) -> None:
        try:
            if self.stores:
                self._close()
                self._open()
                for name in self.model.threads:
                    self._check(name, self.savers[0], every_delta=True)
        finally:
            self._close()
            shutil.rmtree(self.directory, ignore_errors=True)

    # -- choosing -----------------------------------------------------------------------------

    def _saver(self, data: st.DataObject) -> Any:
        return self.savers[data.draw(st.integers(0, 1), label="store")]

    def _thread(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.model.threads)), label="thread")

    def _record(self, data: st.DataObject, thread: Thread, namespace: str | None) -> Record:
        shown = thread.visible(namespace)
        index = data.draw(st.one_of(st.just(0), st.integers(0, len(shown) - 1)), label="record")
        return shown[index]

    def _new_name(self, kind: str) -> str:
        self.named += 1
        return f"{kind} {self.named}"

    def _has_roots(self) -> bool:
        return any(thread.visible("") for thread in self.model.threads.values())

    def _thread_with_roots(self, data: st.DataObject) -> str:
        names = [name for name, thread in self.model.threads.items() if thread.visible("")]
        return data.draw(st.sampled_from(sorted(names)), label="thread")

    def _checkpoint(
        self, data: st.DataObject, parent: Record | None, early: list[str]
    ) -> dict[str, Any]:
        fresh = data.draw(st.sampled_from([True, True, False]), label="new id")
        identity = str(uuid6(clock_seq=0)) if fresh or not early else early[0]
        values: dict[str, Any] = {}
        versions: dict[str, int] = {}
        if parent is not None:
            values = dict(parent.checkpoint["channel_values"])
            # LangGraph names a delta channel's value only where it makes a snapshot.
            values.pop("delta", None)
            versions = dict(parent.checkpoint["channel_versions"])
        for channel in data.draw(st.lists(st.sampled_from(CHANNELS), unique=True)):
            self.version += 1
            versions[channel] = self.version
            if channel == "number":
                values[channel] = data.draw(st.one_of(st.none(), st.booleans(), st.integers(-9, 9)))
            elif channel == "delta":
                if data.draw(st.integers(0, 3)) == 0:
                    values[channel] = _DeltaSnapshot(data.draw(items))
            else:
                values[channel] = self._list(data, values.get("items", []))
        return {
            "v": 4,
            "id": identity,
            "ts": "2026-01-02T03:04:05.000006+00:00",
            "channel_values": values,
            "channel_versions": versions,
            "versions_seen": {"node": dict(versions), "__input__": {}},
            "updated_channels": sorted(versions) or None,
        }

    def _list(self, data: st.DataObject, old: list[Any]) -> list[Any]:
        """What becomes of a list: mostly it grows, as a conversation does."""
        match data.draw(st.sampled_from(["append", "append", "edit", "cut", "new"])):
            case "append":
                return old + data.draw(items)
            case "edit":
                return [*old[:1], "edited", *old[2:]]
            case "cut":
                return old[: len(old) // 2]
            case _:
                return data.draw(items)

    def _put(
        self,
        data: st.DataObject,
        name: str,
        namespace: str,
        parent: Record | None,
        root: str | None,
    ) -> None:
        early = [key[1] for key in self.early.get(name, []) if key[0] == namespace]
        checkpoint = self._checkpoint(data, parent, early)
        self.early[name] = [key for key in self.early.get(name, []) if key[1] != checkpoint["id"]]
        metadata: dict[str, Any] = {
            "source": "loop",
            "step": data.draw(st.integers(-2, 4)),
            "parents": {} if root is None else {"": root},
        }
        if "delta" in checkpoint["channel_versions"]:
            metadata["counters_since_delta_snapshot"] = {"delta": [1, data.draw(st.integers(0, 9))]}
        if data.draw(st.booleans()):
            metadata["run_id"] = data.draw(st.sampled_from(RUNS))
        versions = checkpoint["channel_versions"]
        before = parent.checkpoint["channel_versions"] if parent else {}
        changed = {
            channel: number for channel, number in versions.items() if before.get(channel) != number
        }
        self._saver(data).put(
            place(name, parent.id if parent else None, namespace), checkpoint, metadata, changed
        )
        self.model.put(name, namespace, parent.id if parent else None, checkpoint, metadata)

    # -- what happens -------------------------------------------------------------------------

    @rule(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        """A first checkpoint: of a new thread, or of one that was deleted."""
        if len(self.model.threads) >= 7:
            return
        again = sorted(self.model.deleted)
        name = again[0] if again and data.draw(st.booleans()) else self._new_name("thread")
        self._put(data, name, "", None, None)

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data())
    def go_on(self, data: st.DataObject) -> None:
        """A checkpoint on the head, or a branch from an older one."""
        name = self._thread_with_roots(data)
        self._put(data, name, "", self._record(data, self.model.threads[name], ""), None)

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data(), namespace=st.sampled_from(SUBSPACES))
    def run_subgraph(self, data: st.DataObject, namespace: str) -> None:
        """A checkpoint in a sub-namespace, belonging to a root checkpoint."""
        name = self._thread_with_roots(data)
        thread = self.model.threads[name]
        root = self._record(data, thread, "")
        line = {root.id, *(record.id for record in thread.ancestors(root.key))}
        usable = [record for record in thread.visible(namespace) if record.root in line]
        self._put(data, name, namespace, usable[0] if usable else None, root.id)

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data(), writes=write_values, task=st.sampled_from(sorted(TASKS)))
    def write(self, data: st.DataObject, writes: list[tuple[str, Any]], task: str) -> None:
        """Writes on a checkpoint, mostly the head."""
        name = self._thread_with_roots(data)
        record = self._record(
            data, self.model.threads[name], data.draw(st.sampled_from([None, ""]))
        )
        where = place(name, record.id, record.namespace)
        self._saver(data).put_writes(where, writes, task, TASKS[task])
        self.model.put_writes(name, record.key, writes, task, TASKS[task])

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data(), writes=write_values, task=st.sampled_from(sorted(TASKS)))
    def write_early(self, data: st.DataObject, writes: list[tuple[str, Any]], task: str) -> None:
        """Writes on a checkpoint that is not there yet."""
        name = self._thread_with_roots(data)
        key = (data.draw(st.sampled_from(["", *SUBSPACES])), str(uuid6(clock_seq=0)))
        self._saver(data).put_writes(place(name, key[1], key[0]), writes, task, TASKS[task])
        self.model.put_writes(name, key, writes, task, TASKS[task])
        self.early.setdefault(name, []).append(key)

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data())
    def put_again(self, data: st.DataObject) -> None:
        """The same checkpoint once more changes nothing; another under its id is refused."""
        name = self._thread_with_roots(data)
        record = self._record(data, self.model.threads[name], "")
        if record.inherited or (
            record.parent is not None
            and (self.model.threads[name].records[("", record.parent)].hidden)
        ):
            return
        saver = self._saver(data)
        where = place(name, record.parent)
        versions = record.checkpoint["channel_versions"]
        saver.put(where, record.checkpoint, record.metadata, versions)
        other = {
            **record.checkpoint,
            "channel_values": {"number": "another"},
            "channel_versions": {"number": 77},
        }
        with pytest.raises(fp.ConflictError):
            saver.put(where, other, record.metadata, {"number": 77})

    @precondition(lambda self: self._has_roots() and len(self.model.threads) < 9)
    @rule(data=st.data(), pending=st.sampled_from(["auto", "auto", "reask", "keep", "drop"]))
    def fork(self, data: st.DataObject, pending: Any) -> None:
        """A fork of any checkpoint, of a fork too."""
        source = self._thread_with_roots(data)
        point = self._record(data, self.model.threads[source], "")
        name = self._new_name("fork")
        outcome = self._saver(data).fork_session(source, point.id, name, pending=pending)
        assert outcome.created
        assert outcome.origin.session_id == source
        assert outcome.origin.checkpoint_id == point.id
        assert outcome.origin.run_id == point.metadata.get("run_id")
        assert outcome.superseded == self.model.threads[source].has_child(point.key)
        self.model.fork(source, point.id, name, pending)

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data())
    def fork_wrongly(self, data: st.DataObject) -> None:
        """An occupied destination, an unknown checkpoint, an unknown session."""
        source = self._thread_with_roots(data)
        point = self._record(data, self.model.threads[source], "")
        saver = self._saver(data)
        with pytest.raises(fp.DestinationNotEmptyError):
            saver.fork_session(source, point.id, self._thread_with_roots(data))
        with pytest.raises(fp.CheckpointNotFoundError):
            saver.fork_session(source, str(uuid6()), "nowhere")
        with pytest.raises(fp.SessionNotFoundError):
            saver.fork_session("nobody", point.id, "nowhere")
        assert saver.get_tuple(place("nowhere")) is None

    @precondition(lambda self: self._has_roots() and len(self.model.threads) < 9)
    @rule(data=st.data())
    def copy_thread(self, data: st.DataObject) -> None:
        """A whole copy."""
        source = self._thread_with_roots(data)
        name = self._new_name("copy")
        self._saver(data).copy_thread(source, name)
        self.model.copy_thread(source, name)

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data())
    def detach(self, data: st.DataObject) -> None:
        """A fork stands on its own; what it and its forks show stays as it is."""
        name = self._thread_with_roots(data)
        store = self.stores[data.draw(st.integers(0, 1), label="store")]
        store.detach(name)
        assert not store.detach(name).detached
        self.model.detach(name)

    @precondition(lambda self: self._has_roots() and len(self.model.threads) < 9)
    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        """A thread goes into a file, and comes out of it under another name."""
        source = self._thread_with_roots(data)
        name = self._new_name("moved")
        archive = self.directory / "archive"
        self.stores[data.draw(st.integers(0, 1), label="from")].export(source, archive)
        self.stores[data.draw(st.integers(0, 1), label="to")].import_session(archive, name)
        archive.unlink()
        self.model.copy_thread(source, name)
        self.model.detach(name)

    @precondition(lambda self: len(self.model.threads) > 1)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """The end of a thread, and a writer that has not heard of it."""
        name = self._thread(data)
        self._saver(data).delete_thread(name)
        self.model.delete(name)
        self.early.pop(name, None)
        saver = self._saver(data)
        for namespace, identity in self.model.deleted[name][:2]:
            with pytest.raises(fp.SessionDeletedError):
                saver.put_writes(place(name, identity, namespace), [("a", 1)], "task")
            late = {
                "v": 4,
                "id": str(uuid6()),
                "ts": "",
                "channel_values": {},
                "channel_versions": {},
                "versions_seen": {},
            }
            with pytest.raises(fp.SessionDeletedError):
                saver.put(place(name, identity, namespace), late, {"step": 1}, {})

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data())
    def prune(self, data: st.DataObject) -> None:
        """Only the latest of each namespace stays."""
        name = self._thread_with_roots(data)
        self._saver(data).prune([name], strategy="keep_latest")
        self.model.keep_latest(name)

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data(), runs=st.lists(st.sampled_from(RUNS), min_size=1, max_size=2))
    def delete_for_runs(self, data: st.DataObject, runs: list[str]) -> None:
        """What some runs made goes, in every thread."""
        self._saver(data).delete_for_runs(runs)
        self.model.delete_for_runs(runs)

    @rule()
    def reopen(self) -> None:
        """Close the file and open it again."""
        self._close()
        self._open()

    # -- what is seen -------------------------------------------------------------------------

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data(), limit=st.integers(0, 4))
    def page(self, data: st.DataObject, limit: int) -> None:
        """A page of a listing below a checkpoint, with a filter or without."""
        name = self._thread_with_roots(data)
        thread = self.model.threads[name]
        before = self._record(data, thread, "")
        wanted = data.draw(st.sampled_from([None, {"step": 1}, {"run_id": "run-1"}]))
        expected = [
            record.id
            for record in thread.visible("")
            if record.order < before.order
            and all(record.metadata.get(k) == v for k, v in (wanted or {}).items())
        ][:limit]
        found = self._saver(data).list(
            place(name), before=place(name, before.id), limit=limit, filter=wanted
        )
        assert [item.checkpoint["id"] for item in found] == expected

    @invariant()
    def everything_is_as_the_model_says(self) -> None:
        for number, name in enumerate(sorted(self.model.threads)):
            self._check(name, self.savers[number % 2])
        for name in self.model.deleted:
            assert list(self.savers[0].list({"configurable": {"thread_id": name}})) == []

    def _check(self, name: str, saver: Any, *, every_delta: bool = False) -> None:
        thread = self.model.threads[name]
        everything = [seen(item) for item in saver.list({"configurable": {"thread_id": name}})]
        # Between namespaces a fork's own copy of the fork point counts as written last.
        everything.sort(key=lambda item: item["config"]["checkpoint_ns"])
        shown = sorted(thread.visible(), key=lambda record: record.namespace)
        assert [item["config"]["checkpoint_id"] for item in everything] == [
            record.id for record in shown
        ]
        for item, record in zip(everything, shown, strict=True):
            expected = self._expected(name, thread, record)
            if record.parent and thread.records[(record.namespace, record.parent)].hidden:
                item.pop("parent")
                expected.pop("parent")
            assert item == expected
            by_id = saver.get_tuple(place(name, record.id, record.namespace))
            assert by_id is not None
            again = seen(by_id)
            again.update({} if "parent" in item else {"parent": None})
            assert again == {"parent": None, **item}
        for namespace in ["", *SUBSPACES]:
            head = thread.head(namespace)
            found = saver.get_tuple(place(name, namespace=namespace))
            assert (found and found.checkpoint["id"]) == (head and head.id)
            if head is not None:
                self._check_delta(name, saver, thread, head)
        if every_delta:
            for record in shown:
                self._check_delta(name, saver, thread, record)
        for record in thread.records.values():
            if record.hidden:
                assert saver.get_tuple(place(name, record.id, record.namespace)) is None

    def _expected(self, name: str, thread: Thread, record: Record) -> dict[str, Any]:
        address = {"thread_id": name, "checkpoint_ns": record.namespace}
        return {
            "config": {**address, "checkpoint_id": record.id},
            "checkpoint": record.checkpoint,
            "metadata": record.metadata,
            "parent": {**address, "checkpoint_id": record.parent} if record.parent else None,
            "writes": [
                (write.task, write.channel, write.value) for write in thread.pending(record.key)
            ],
        }

    def _check_delta(self, name: str, saver: Any, thread: Thread, record: Record) -> None:
        pruned = any(above.hidden for above in thread.ancestors(record.key))
        # Of a pruned past only what delta channels are rebuilt from is kept.
        channels = (
            CHANNELS
            if not pruned
            else [
                channel
                for channel in record.checkpoint["channel_versions"]
                if channel == "delta" and channel not in record.checkpoint["channel_values"]
            ]
        )
        found = saver.get_delta_channel_history(
            config=place(name, record.id, record.namespace), channels=channels
        )
        assert {
            channel: {**entry, "writes": [tuple(write) for write in entry["writes"]]}
            for channel, entry in found.items()
        } == thread.delta_history(record.key, channels)


CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
TestSaver = SaverMachine.TestCase
TestSaver.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=CHECKS
)


@pytest.mark.soak
class TestSaverAtLength(SaverMachine.TestCase):  # type: ignore[misc, name-defined]
    """The same, for long."""

    settings = settings(
        max_examples=1500, stateful_step_count=60, deadline=None, suppress_health_check=CHECKS
    )
