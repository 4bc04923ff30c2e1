"""Recorded calls, made again on any saver.

Everything that is not the saver's work is prepared before the clock starts: configs, and channel
versions in the saver's own format. The recording has integers; stock savers mint strings of 51
characters whose order is the integers' order.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata

from benchmarks.savers import Durability, Saver
from benchmarks.workloads import Put, PutWrites, Recording
from benchmarks.workloads.recording import Operation

Renumber = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class PutCall:
    """The arguments of one `put`."""

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new_versions: ChannelVersions


@dataclass(frozen=True, slots=True)
class WritesCall:
    """The arguments of one `put_writes`."""

    config: RunnableConfig
    writes: Sequence[tuple[str, Any]]
    task_id: str
    task_path: str


Call = PutCall | WritesCall


def prepare(
    recording: Recording,
    saver: Saver,
    thread_id: str,
    *,
    durability: Durability = "sync",
    supersteps: int | None = None,
    configurable: dict[str, Any] | None = None,
) -> list[Call]:
    """The recording's calls for one thread of this saver; only the first `supersteps` if given."""
    renumber = renumbering(saver)
    extra = {"__pregel_durability": durability, **(configurable or {})}
    calls = [
        call_for(operation, thread_id, renumber, extra)
        for invocation in recording.invocations
        for operation in invocation
    ]
    return calls if supersteps is None else calls[: _end_of_superstep(calls, supersteps)]


def call_for(
    operation: Operation, thread_id: str, renumber: Renumber, extra: dict[str, Any]
) -> Call:
    """One recorded operation as a call on a thread."""
    configurable = {**extra, "thread_id": thread_id, "checkpoint_ns": operation.namespace}
    if isinstance(operation, PutWrites):
        configurable["checkpoint_id"] = operation.checkpoint_id
        return WritesCall(
            {"configurable": configurable},
            operation.writes,
            operation.task_id,
            operation.task_path,
        )
    if operation.parent_id is not None:
        configurable["checkpoint_id"] = operation.parent_id
    return PutCall(
        {"configurable": configurable},
        _with_versions(operation.checkpoint, renumber),
        operation.metadata,
        {channel: renumber(version) for channel, version in operation.new_versions.items()},
    )


def renumbering(saver: Saver) -> Renumber:
    """From the recording's integer versions to what this saver would have minted."""
    first: Any = saver.get_next_version(None, None)
    if isinstance(first, int):
        return lambda version: version
    rng = random.Random("versions")
    minted: dict[int, str] = {}

    def renumber(version: int) -> str:
        if version not in minted:
            minted[version] = f"{version:032}.{rng.random():016}"
        return minted[version]

    return renumber


def replay(saver: Saver, calls: Iterable[Call]) -> list[float]:
    """Makes the calls; returns seconds per superstep (a `put` and its `put_writes`).

    Under durability `async` writes are saved beside the run, as LangGraph does: in threads of
    their own, which are waited for at the end.
    """
    starts: list[float] = []
    beside: list[Future[None]] = []
    with ThreadPoolExecutor(max_workers=8) as pool:
        for call in calls:
            if isinstance(call, PutCall):
                starts.append(perf_counter())
                saver.put(call.config, call.checkpoint, call.metadata, call.new_versions)
            elif _is_beside(call):
                beside.append(pool.submit(saver.put_writes, *_arguments(call)))
            else:
                saver.put_writes(*_arguments(call))
        for future in beside:
            future.result()
    return _between(starts)


async def areplay(saver: Saver, calls: Iterable[Call]) -> list[float]:
    """`replay` through the asynchronous methods."""
    starts: list[float] = []
    beside: list[asyncio.Task[None]] = []
    for call in calls:
        if isinstance(call, PutCall):
            starts.append(perf_counter())
            await saver.aput(call.config, call.checkpoint, call.metadata, call.new_versions)
        elif _is_beside(call):
            beside.append(asyncio.create_task(saver.aput_writes(*_arguments(call))))
        else:
            await saver.aput_writes(*_arguments(call))
    await asyncio.gather(*beside)
    return _between(starts)


def _is_beside(call: WritesCall) -> bool:
    return call.config["configurable"].get("__pregel_durability") == "async"


def _arguments(
    call: WritesCall,
) -> tuple[RunnableConfig, Sequence[tuple[str, Any]], str, str]:
    return call.config, call.writes, call.task_id, call.task_path


def _between(starts: list[float]) -> list[float]:
    """Durations from each start to the next, the last one until now."""
    return [end - start for start, end in pairwise([*starts, perf_counter()])]


def _end_of_superstep(calls: Sequence[Call], supersteps: int) -> int:
    puts = [position for position, call in enumerate(calls) if isinstance(call, PutCall)]
    return puts[supersteps] if supersteps < len(puts) else len(calls)


def _with_versions(checkpoint: Checkpoint, renumber: Renumber) -> Checkpoint:
    renumbered = checkpoint.copy()
    renumbered["channel_versions"] = {
        channel: renumber(version) for channel, version in checkpoint["channel_versions"].items()
    }
    renumbered["versions_seen"] = {
        name: {channel: renumber(version) for channel, version in seen.items()}
        for name, seen in checkpoint["versions_seen"].items()
    }
    return renumbered


__all__ = [
    "Call",
    "Put",
    "PutCall",
    "WritesCall",
    "areplay",
    "call_for",
    "prepare",
    "renumbering",
    "replay",
]
