"""The exact `put` and `put_writes` calls of a run, kept for replay.

`RecordingSaver` keeps live objects and serializes nothing. Graphs run on it asynchronously, with
methods that never yield, so calls arrive in the order in which LangGraph made them: a background
thread pool would shuffle a checkpoint with the writes of its neighbours.

Recordings are cached in the system's temporary directory under a hash of this package's sources
and of LangGraph's version. Every invocation is pickled on its own: a run of a real application
begins by decoding the stored state, so objects of one invocation are never those of the last.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import pickle
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
)

from benchmarks.workloads.graph import Workload

RECORDED_THREAD = "recorded"


@dataclass(frozen=True, slots=True)
class Put:
    """One `put`."""

    namespace: str
    parent_id: str | None
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new_versions: ChannelVersions


@dataclass(frozen=True, slots=True)
class PutWrites:
    """One `put_writes`."""

    namespace: str
    checkpoint_id: str
    writes: tuple[tuple[str, Any], ...]
    task_id: str
    task_path: str


Operation = Put | PutWrites


@dataclass(frozen=True, slots=True)
class Recording:
    """What a workload wrote, one list of calls per invocation of its graph."""

    workload: Workload
    size: int
    invocations: tuple[tuple[Operation, ...], ...]

    @property
    def puts(self) -> list[Put]:
        """All checkpoints, oldest first."""
        return [op for ops in self.invocations for op in ops if isinstance(op, Put)]

    @property
    def root_ids(self) -> list[str]:
        """Ids of the root namespace's checkpoints, oldest first."""
        return [put.checkpoint["id"] for put in self.puts if not put.namespace]


class RecordingSaver(BaseCheckpointSaver[int]):
    """Notes what it is asked to store, and answers reads from its notes."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[Operation] = []
        self._puts: dict[tuple[str, str], Put] = {}
        self._heads: dict[str, str] = {}
        self._writes: dict[tuple[str, str], dict[tuple[str, int], tuple[str, PendingWrite]]] = {}

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        configurable = config["configurable"]
        namespace = configurable.get("checkpoint_ns", "")
        put = Put(
            namespace,
            configurable.get("checkpoint_id"),
            _frozen_copy(checkpoint),
            metadata.copy(),
            dict(new_versions),
        )
        self.operations.append(put)
        self._puts[namespace, checkpoint["id"]] = put
        self._heads[namespace] = checkpoint["id"]
        return _config(namespace, checkpoint["id"])

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        namespace = config["configurable"].get("checkpoint_ns", "")
        checkpoint_id = config["configurable"]["checkpoint_id"]
        self.operations.append(
            PutWrites(namespace, checkpoint_id, tuple(writes), task_id, task_path)
        )
        slots = self._writes.setdefault((namespace, checkpoint_id), {})
        for position, (channel, value) in enumerate(writes):
            slot = (task_id, WRITES_IDX_MAP.get(channel, position))
            if slot[1] < 0 or slot not in slots:
                slots[slot] = (task_path, (task_id, channel, value))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        configurable = config["configurable"]
        namespace = configurable.get("checkpoint_ns", "")
        checkpoint_id = configurable.get("checkpoint_id") or self._heads.get(namespace)
        put = self._puts.get((namespace, checkpoint_id)) if checkpoint_id else None
        if put is None or checkpoint_id is None:
            return None
        slots = self._writes.get((namespace, checkpoint_id), {})
        ordered = sorted(slots.items(), key=lambda item: (item[1][0], item[0]))
        return CheckpointTuple(
            _config(namespace, checkpoint_id),
            _frozen_copy(put.checkpoint),
            put.metadata.copy(),
            _config(namespace, put.parent_id) if put.parent_id else None,
            [write for _, (_, write) in ordered],
        )

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for namespace, checkpoint_id in reversed(list(self._puts)):
            found = await self.aget_tuple(_config(namespace, checkpoint_id))
            if found is not None:
                yield found


def record(workload: Workload, size: int, *, cache_dir: Path | None = None) -> Recording:
    """The workload's calls at this size, from the cache or by running its graph."""
    directory = cache_dir or Path(tempfile.gettempdir()) / "forkpoint-benchmarks"
    path = directory / f"{workload.name}-{size}-{_sources_digest()}.pickle"
    if path.exists():
        pickled: list[bytes] = pickle.loads(path.read_bytes())
    else:
        pickled = asyncio.run(_run(workload, size))
        directory.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(pickle.dumps(pickled))
        unfinished.replace(path)
    return Recording(workload, size, tuple(pickle.loads(one) for one in pickled))


async def _run(workload: Workload, size: int) -> list[bytes]:
    saver = RecordingSaver()
    graph = workload.build(saver, True)
    config: RunnableConfig = {
        "configurable": {"thread_id": RECORDED_THREAD},
        "recursion_limit": workload.recursion_limit,
    }
    pickled = []
    for value in workload.inputs(size):
        await graph.ainvoke(value, config, durability="sync")
        pickled.append(pickle.dumps(tuple(saver.operations)))
        saver.operations.clear()
    return pickled


def _sources_digest() -> str:
    digest = hashlib.sha256(version("langgraph").encode())
    for source in _package_sources():
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def _package_sources() -> Iterator[Path]:
    yield from sorted(Path(__file__).parent.glob("*.py"))


def _config(namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": RECORDED_THREAD,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
        }
    }


def _frozen_copy(checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint whose lists and mappings the running graph cannot change any more."""
    copied = checkpoint.copy()
    copied["channel_values"] = {
        channel: value.copy() if isinstance(value, list | dict) else value
        for channel, value in checkpoint["channel_values"].items()
    }
    copied["channel_versions"] = dict(checkpoint["channel_versions"])
    copied["versions_seen"] = {name: dict(v) for name, v in checkpoint["versions_seen"].items()}
    return copied
