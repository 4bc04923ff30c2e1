"""Whether two savers say the same of a thread, read through LangGraph's saver API.

Values are compared by the bytes that the store keeps of them, so a type is part of a value, and
whatever has no ``==`` can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from forkpoint.codec import Codec
from forkpoint.configs import config_of
from forkpoint.stock.sources import Key, Saver

_PAGE = 50
_COMPARED_BY_NAME = frozenset({"channel_values", "channel_versions", "versions_seen", "id"})


class DifferentError(Exception):
    """The two sides differ; the text says in what."""


class Comparer:
    """Compares threads of two savers."""

    def __init__(self, theirs: Saver, ours: Saver, codec: Codec) -> None:
        self._theirs = theirs
        self._ours = ours
        self._codec = codec

    def compare(self, thread: str, keys: Sequence[Key]) -> None:
        """Compare every checkpoint of a thread, and what its delta channels are rebuilt from.

        `keys` are those that the source has. Raises `DifferentError`.
        """
        known = set(keys)
        for namespace in sorted({key.namespace for key in keys}):
            there = 0
            for theirs, ours in self._pairs(thread, namespace):
                there += 1
                self.compare_tuples(theirs, ours, known)
            expected = sum(key.namespace == namespace for key in keys)
            if there != expected:
                raise DifferentError(
                    f"namespace {namespace!r} has {there} of {expected} checkpoints"
                )
            self._compare_heads(thread, namespace)

    def compare_one(self, thread: str, key: Key, known: set[Key]) -> None:
        """Compare one checkpoint, but for the writes on it. Raises `DifferentError`."""
        where = config_of(thread, *key)
        theirs, ours = self._theirs.get_tuple(where), self._ours.get_tuple(where)
        if theirs is None or ours is None:
            raise DifferentError(f"checkpoint {key.id!r} is not there")
        self.compare_tuples(theirs, ours, known, writes=False)

    def _pairs(
        self, thread: str, namespace: str
    ) -> Iterator[tuple[CheckpointTuple, CheckpointTuple]]:
        ours = _pages(self._ours, thread, namespace)
        for theirs in _pages(self._theirs, thread, namespace):
            mine = next(ours, None)
            if mine is None or mine.checkpoint["id"] != theirs.checkpoint["id"]:
                # Ancestry orders what ids do not.
                mine = self._ours.get_tuple(theirs.config)
            if mine is None:
                raise DifferentError(f"checkpoint {theirs.checkpoint['id']!r} is not there")
            yield theirs, mine

    def compare_tuples(
        self,
        theirs: CheckpointTuple,
        ours: CheckpointTuple,
        known: set[Key],
        *,
        writes: bool = True,
    ) -> None:
        """Compare what two savers say of one checkpoint. Raises `DifferentError`."""
        identity = theirs.checkpoint["id"]
        where = f"checkpoint {identity!r}"
        self._same(ours.checkpoint["id"] == identity, f"{where} has another id")
        self._compare_values(
            theirs.checkpoint["channel_values"], ours.checkpoint["channel_values"], where
        )
        for part in ("channel_versions", "versions_seen"):
            same = _strict(theirs.checkpoint[part]) == _strict(ours.checkpoint[part])
            self._same(same, f"{where}: {part} differ")
        for name in (theirs.checkpoint.keys() | ours.checkpoint.keys()) - _COMPARED_BY_NAME:
            mine, other = ours.checkpoint.get(name), theirs.checkpoint.get(name)
            same = mine == other or (name == "pending_sends" and not mine and not other)
            self._same(same, f"{where}: {name} differs")
        same = _strict(theirs.metadata) == _strict(ours.metadata)
        self._same(same, f"{where}: metadata differs")
        parent = _id_of(theirs.parent_config)
        namespace = theirs.config["configurable"].get("checkpoint_ns", "")
        if parent is not None and Key(namespace, parent) not in known:
            parent = None
        self._same(_id_of(ours.parent_config) == parent, f"{where} has another parent")
        if writes:
            same = self._written(theirs.pending_writes) == self._written(ours.pending_writes)
            self._same(same, f"{where}: pending writes differ")

    def _compare_values(
        self, theirs: Mapping[str, Any], ours: Mapping[str, Any], where: str
    ) -> None:
        self._same(theirs.keys() == ours.keys(), f"{where} has values in other channels")
        for channel, value in theirs.items():
            same = self._codec.encode(value) == self._codec.encode(ours[channel])
            self._same(same, f"{where}: channel {channel!r} differs")

    def _compare_heads(self, thread: str, namespace: str) -> None:
        where: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
        theirs, ours = self._theirs.get_tuple(where), self._ours.get_tuple(where)
        assert theirs is not None
        same = ours is not None and ours.checkpoint["id"] == theirs.checkpoint["id"]
        self._same(same, f"the head of namespace {namespace!r} is another one")
        channels = sorted(theirs.metadata.get("counters_since_delta_snapshot") or {})
        if not channels:
            return
        stock = self._theirs.get_delta_channel_history(config=theirs.config, channels=channels)
        mine = self._ours.get_delta_channel_history(config=theirs.config, channels=channels)
        for channel in channels:
            same = self._history(stock[channel]) == self._history(mine[channel])
            self._same(same, f"delta channel {channel!r} of namespace {namespace!r} differs")

    def _history(self, history: Mapping[str, Any]) -> Any:
        seed = [self._codec.encode(history["seed"])] if "seed" in history else []
        return seed, self._written(history["writes"])

    def _written(self, writes: Iterable[Any] | None) -> list[Any]:
        return [(task, channel, self._codec.encode(value)) for task, channel, value in writes or ()]

    def _same(self, holds: bool, problem: str) -> None:
        if not holds:
            raise DifferentError(problem)


def _pages(saver: Saver, thread: str, namespace: str) -> Iterator[CheckpointTuple]:
    """Every checkpoint of a namespace, newest first, so many at a time."""
    where: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
    before: RunnableConfig | None = None
    while True:
        page = list(saver.list(where, before=before, limit=_PAGE))
        yield from page
        if len(page) < _PAGE:
            return
        before = page[-1].config


def _id_of(config: RunnableConfig | None) -> str | None:
    if config is None:
        return None
    identity: str | None = config["configurable"].get("checkpoint_id")
    return identity


def _strict(value: Any) -> str:
    """JSON that tells ``1`` from ``1.0`` and from ``True``, whatever the order of the keys."""
    return json.dumps(value, sort_keys=True, default=repr)
