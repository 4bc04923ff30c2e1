"""LangGraph's checkpoint saver over a Forkpoint store: sync and async in one class.

    store = forkpoint.open("sqlite:///agent.db")
    graph = builder.compile(checkpointer=store.saver())

It does what LangGraph's own savers do, and where they differ from each other, or lose something, it
does one documented thing:

- "latest" is the head pointer of (thread, namespace), moved by the write of a checkpoint; no clock
  and no id decides. `list` is in order of writing, newest first.
- A checkpoint whose parent is not there, or whose id is taken by another one, is refused.
- A deleted thread stays deleted for the runs that were still writing to it.
- A metadata filter matches where the key is present with an equal JSON value: ``True`` is not
``1``, ``None`` matches only a stored null, nested values are compared whole.
- A value that cannot be rebuilt as what it was raises `DeserializationError`.
- A label of a checkpoint of the root namespace is taken wherever an id is; results name the id.
- What returned is durable, whatever the run's durability. Where LangGraph saves a task's writes
  beside the run (durability ``"async"`` and ``"exit"``), they wait up to a millisecond for the
  transaction of the next checkpoint, and both cost one commit.

The sync methods may be called on a running event loop: they block it for the time of the call, and
never wait for it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from random import random
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME

from forkpoint.checkpoints import new_checkpoint, timeline_entry
from forkpoint.configs import (
    Address,
    address_of,
    check_checkpoint,
    check_metadata,
    check_writes,
    config_of,
    configurable_of,
    id_text,
    id_texts,
    runs_beside,
    thread_id_of,
)
from forkpoint.decoding import Decoder
from forkpoint.errors import (
    CheckpointNotFoundError,
    DeltaHistoryError,
    DeserializationError,
    InvalidArgumentError,
)
from forkpoint.filters import Accept, all_of, in_namespace, metadata_filter
from forkpoint.model import ForkOrigin, PendingPolicy, TimelineEntry
from forkpoint.store.checks import (
    check_bool,
    check_checkpoint_id,
    check_choice,
    check_limit,
    check_namespace,
    check_optional_text,
    check_session_id,
    check_task_path,
)
from forkpoint.store.database import Store
from forkpoint.store.forking import InnerPoint
from forkpoint.store.labels import may_be_label
from forkpoint.store.records import (
    ALL_WRITES,
    NO_WRITES,
    Carry,
    NewWrite,
    StoredCheckpoint,
)
from forkpoint.store.terms import Remembered

T = TypeVar("T")

_NULL_TASK = "00000000-0000-0000-0000-000000000000"

_CARRIED: dict[str, tuple[Carry, Carry]] = {
    "auto": (ALL_WRITES, Carry(frozenset({INTERRUPT}), others=False)),
    "reask": (Carry(frozenset({INTERRUPT}), others=False),) * 2,
    "keep": (Carry(frozenset({RESUME})),) * 2,
    "drop": (NO_WRITES, NO_WRITES),
}
"""What of a fork point's writes goes along: at a live head, and at one that has a child."""


@dataclass(frozen=True, slots=True)
class ForkOutcome:
    """A fork on the store."""

    origin: ForkOrigin
    created: bool
    """False when the request id named a fork that existed already."""
    superseded: bool
    """True when the source had gone on past the fork point."""
    pending: PendingPolicy
    """The policy as applied: ``auto`` at a live head, else what ``auto`` came to."""


class ForkpointSaver(BaseCheckpointSaver[int]):
    """A checkpoint saver for LangGraph graphs.

    Made by `Store.saver` of `forkpoint.open`. `serde` is any LangGraph serializer; with an
    `EncryptedSerializer` values are encrypted at rest and still shared. `share_values` hands out
    the same decoded message objects to every reader instead of fresh ones each time: much faster
    for long conversations, and only right if no node changes a message in place.
    """

    def __init__(
        self,
        store: Store,
        *,
        serde: SerializerProtocol | None = None,
        share_values: bool = False,
    ) -> None:
        if serde is not None and not (
            hasattr(serde, "loads_typed") or (hasattr(serde, "dumps") and hasattr(serde, "loads"))
        ):
            raise InvalidArgumentError(
                "serde", f"must be a LangGraph serializer, not {type(serde).__name__}"
            )
        super().__init__(serde=serde)
        self.store = store
        self._share_values = check_bool("share_values", share_values)
        self._made: Decoder | None = None
        #: Delta channels of the threads that were written to lately.
        self._delta_channels: Remembered[str, frozenset[str]] = Remembered(1_000)
        self._executor = ThreadPoolExecutor(
            max_workers=min(16, (os.cpu_count() or 2) * 4), thread_name_prefix="forkpoint"
        )

    # -- serializer ---------------------------------------------------------------------------

    @property
    def _decoder(self) -> Decoder:
        # `with_allowlist` clones the saver and replaces `serde`: what depends on it is made anew.
        made = self._made
        if made is None or made.serde is not self.serde:
            made = Decoder(self.store, self.serde, share_values=self._share_values)
            self._made = made
        return made

    # -- reading ------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that the config names, or the head of its thread and namespace.

        None when there is none. Raises `DeserializationError` when a value cannot be rebuilt.
        """
        address = address_of(config)
        decoder = self._decoder
        record = self.store.reader.get(
            address.thread_id, address.namespace, address.checkpoint_id, decoder.vault
        )
        return None if record is None else decoder.tuple(record)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints in order of writing, newest first.

        Without a thread id: of every thread, each checkpoint once. Without a namespace: of all.
        `before` names a checkpoint that the listing begins below. One that is not stored raises
        `CheckpointNotFoundError`, unless it is a UUID with a time in it as LangGraph makes them:
        then what is older by its id is listed. Arguments are checked at the call, values are read
        page by page, and nothing is held between two items. A message that several checkpoints of
        one listing hold is one object in all of them.
        """
        pages = self._pages(config, filter, before, limit)
        decoder = self._decoder
        memo = decoder.listing()
        return (decoder.tuple(record, memo) for page in pages for record in page)

    def _pages(
        self,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Iterator[Sequence[StoredCheckpoint]]:
        configurable = configurable_of("config", config) if config is not None else {}
        thread_id = configurable.get("thread_id")
        if thread_id is not None:
            thread_id = thread_id_of("config", configurable)
        namespace = configurable.get("checkpoint_ns")
        if namespace is not None:
            check_namespace("checkpoint_ns", namespace)
        if limit is not None:
            limit = check_limit("limit", limit)
        holding, accept = metadata_filter(filter)
        start: tuple[str | None, str, str] | None = None
        if before is not None:
            spot = configurable_of("before", before)
            if spot.get("checkpoint_id"):
                start = (
                    thread_id_of("before", spot) if spot.get("thread_id") is not None else None,
                    check_namespace("before", spot.get("checkpoint_ns", namespace or "")),
                    check_checkpoint_id("before", spot["checkpoint_id"]),
                )
        checkpoint_id = configurable.get("checkpoint_id")
        if thread_id is None:
            if start is not None and start[0] is None:
                raise InvalidArgumentError("before", "needs a thread_id when config has none")
            return self.store.reader.everywhere(
                self._decoder.vault,
                before=cast(tuple[str, str, str] | None, start),
                holding=holding,
                accept=all_of(accept, in_namespace(namespace)),
                limit=limit,
            )
        wanted = None
        if checkpoint_id:
            wanted = check_checkpoint_id("checkpoint_id", checkpoint_id)
        return self._pages_of(thread_id, namespace, wanted, start, holding, accept, limit)

    def _pages_of(
        self,
        thread_id: str,
        namespace: str | None,
        wanted: str | None,
        start: tuple[str | None, str, str] | None,
        holding: Sequence[tuple[str, Any]],
        accept: Accept | None,
        limit: int | None,
    ) -> Iterator[Sequence[StoredCheckpoint]]:
        if wanted is not None:
            named = self._named(thread_id, namespace or "", wanted)
            accept = all_of(accept, lambda record: record.id == named)
        yield from self.store.reader.checkpoints(
            thread_id,
            namespace,
            self._decoder.vault,
            before=None if start is None else start[1:],
            holding=holding,
            accept=accept,
            limit=limit,
            # LangGraph also names a checkpoint that it has made and will store later, or never
            # (durability "exit"). Of such an id only the time in it can be compared.
            guess_before=True,
        )

    def _named(self, thread_id: str, namespace: str, checkpoint_id: str) -> str:
        """The id of the checkpoint that a text names, if it is a label; else the text."""
        if namespace:
            return checkpoint_id
        return self.store.labeller.resolved(thread_id, checkpoint_id)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Per channel the writes on the ancestors of a checkpoint, and the value they start from.

        The walk crosses fork edges. Raises `DeltaHistoryError` when the chain is broken before it
        reaches a stored value or the conversation's beginning.
        """
        address = address_of(config)
        decoder = self._decoder
        if isinstance(channels, str | bytes) or not isinstance(channels, Sequence):
            raise InvalidArgumentError("channels", "must be a list of channel names")
        if not all(isinstance(channel, str) for channel in channels):
            raise InvalidArgumentError("channels", "must hold names only")
        histories, cells = self.store.reader.channel_histories(
            address.thread_id, address.namespace, address.checkpoint_id, channels, decoder.vault
        )
        result: dict[str, DeltaChannelHistory] = {}
        for channel, history in histories.items():
            if not history.whole:
                raise DeltaHistoryError(
                    f"channel {channel!r} of thread {address.thread_id!r}: the chain of writes is "
                    "broken before it reaches a stored value"
                )
            try:
                entry: DeltaChannelHistory = {
                    "writes": [
                        (
                            write.task_id,
                            write.channel,
                            decoder.value(cells.resolve(write.value)),
                        )
                        for write in history.writes
                        if cells is not None
                    ]
                }
                if history.seed is not None and cells is not None:
                    entry["seed"] = decoder.value(cells.resolve(history.seed))
            except DeserializationError as error:
                raise DeserializationError(
                    error.problem,
                    channel=channel,
                    checkpoint_id=address.checkpoint_id,
                    type_name=error.type_name,
                ) from error
            result[channel] = entry
        return result

    # -- writing ------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint as a child of the one the config names; it becomes the head.

        Raises `CheckpointNotFoundError` (no such parent), `ConflictError` (the id is taken),
        `SessionDeletedError`, `SerializationError`; nothing is written then.
        """
        address = address_of(config)
        check_checkpoint(checkpoint)
        check_metadata(metadata)
        if not isinstance(new_versions, Mapping):
            raise InvalidArgumentError("new_versions", "must be a dict of channel versions")
        decoder = self._decoder
        codec = decoder.codec
        checkpoint_id = checkpoint["id"]
        entries = get_checkpoint_metadata(config, metadata)
        counters = entries.get("counters_since_delta_snapshot")
        if isinstance(counters, Mapping) and counters:
            self._delta_channels.remember(address.thread_id, frozenset(counters))
        new = new_checkpoint(
            checkpoint,
            entries,
            parent=address.checkpoint_id,
            changed=frozenset(new_versions),
            to_cell=codec.cell,
            encode=codec.encode_channel,
        )
        store = partial(self.store.writer.put, address.thread_id, address.namespace)
        try:
            store(new, decoder.vault)
        except CheckpointNotFoundError:
            parent = self._named(address.thread_id, address.namespace, new.parent or "")
            if parent == new.parent:
                raise
            store(replace(new, parent=parent), decoder.vault)
        return config_of(address.thread_id, address.namespace, checkpoint_id)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store the writes of a task on a checkpoint.

        The checkpoint may arrive later (LangGraph saves both side by side). A task's write at the
        same position is kept as it was first stored; errors, interrupts and answers are replaced.
        """
        check_writes(writes)
        address = address_of(config)
        if not self._may_join_next(config, address, writes):
            self._queue_writes(address, writes, task_id, task_path, None)
            return
        durable = threading.Event()
        failures: list[BaseException | None] = []

        def done(error: BaseException | None) -> None:
            failures.append(error)
            durable.set()

        self._queue_writes(address, writes, task_id, task_path, done)
        durable.wait()
        if failures[0] is not None:
            raise failures[0]

    def _may_join_next(
        self, config: RunnableConfig, address: Address, writes: Sequence[tuple[str, Any]]
    ) -> bool:
        """Whether a task's writes may wait a moment for the next checkpoint's transaction.

        LangGraph saves them beside the run, so waiting costs the run nothing; except that it holds
        a checkpoint back until the writes to its delta channels are stored.
        """
        if not runs_beside(config):
            return False
        if address.checkpoint_id is None or may_be_label(address.checkpoint_id):
            return False
        deltas = self._delta_channels.get(config["configurable"].get("thread_id", ""))
        return deltas is None or all(channel not in deltas for channel, _ in writes)

    def _queue_writes(
        self,
        address: Address,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
        done: Callable[[BaseException | None], None] | None,
    ) -> None:
        checkpoint_id = check_checkpoint_id("checkpoint_id", address.checkpoint_id)
        checkpoint_id = self._named(address.thread_id, address.namespace, checkpoint_id)
        check_checkpoint_id("task_id", task_id)
        check_task_path("task_path", task_path)
        decoder = self._decoder
        encoded = [
            NewWrite(
                WRITES_IDX_MAP.get(channel, position),
                channel,
                decoder.codec.encode_channel(channel, value),
            )
            for position, (channel, value) in enumerate(writes)
        ]
        self.store.writer.put_writes(
            address.thread_id,
            address.namespace,
            checkpoint_id,
            task_id,
            task_path,
            encoded,
            decoder.vault,
            done=done,
        )

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread with everything in it. Forks of it keep working. Runs that are still
        writing to it get `SessionDeletedError`; a new conversation may use the id again."""
        self.store.remover.delete_session(check_session_id("thread_id", id_text(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs wrote, in every thread. Heads move back to the
        newest checkpoint that is left; forks and delta channels keep what they stand on."""
        self.store.remover.delete_holding("run_id", id_texts("run_ids", run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread whole, values by reference. Nothing happens when there is no source.

        Raises `DestinationNotEmptyError`. To branch off a conversation use `fork_session`.
        """
        self.store.remover.copy_session(
            check_session_id("source_thread_id", id_text(source_thread_id)),
            check_session_id("target_thread_id", id_text(target_thread_id)),
        )

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Drop the past of some threads: ``keep_latest`` leaves the head of every namespace (and,
        unseen, what delta channels and forks still stand on), ``delete`` leaves nothing."""
        check_choice("strategy", strategy, ("keep_latest", "delete"))
        for thread_id in [
            check_session_id("thread_ids", id_text(item))
            for item in id_texts("thread_ids", thread_ids)
        ]:
            if strategy == "delete":
                self.store.remover.delete_session(thread_id)
            else:
                self.store.remover.keep_latest(thread_id)

    def get_next_version(self, current: int | str | None, channel: None) -> int:
        """Integers; on a thread that was copied from a stock saver, its own text form goes on."""
        if isinstance(current, str):
            number = int(current.split(".", 1)[0]) + 1
            return cast(int, f"{number:032}.{random():016}")
        return 1 if current is None else int(current) + 1

    # -- forks and time travel ----------------------------------------------------------------

    def fork_session(
        self,
        source: str,
        checkpoint_id: str,
        destination: str,
        *,
        pending: PendingPolicy = "auto",
        namespace: str = "",
        by: str | None = None,
        reason: str | None = None,
        request_id: str | None = None,
    ) -> ForkOutcome:
        """Begin a new thread at a checkpoint of another: same id, same values, nothing copied.

        Takes the same time at every depth, in one transaction, and writes nothing to the source.
        With a `namespace` the checkpoint is one of that sub-namespace, and the fork goes on inside
        the subgraph. `request_id` makes the call repeatable: the same fork comes back.

        Raises `SessionNotFoundError`, `CheckpointNotFoundError`, `DestinationNotEmptyError`,
        `ConflictError` (the request id was used for another fork), `InvalidArgumentError`.
        """
        check_session_id("source", source)
        check_checkpoint_id("checkpoint_id", checkpoint_id)
        check_session_id("destination", destination)
        check_choice("pending", pending, tuple(_CARRIED))
        check_namespace("namespace", namespace)
        check_optional_text("by", by)
        check_optional_text("reason", reason)
        if request_id is not None:
            check_checkpoint_id("request_id", request_id)
        live, past = _CARRIED[pending]
        checkpoint_id = self._named(source, namespace, checkpoint_id)
        root_id, without, inner = checkpoint_id, frozenset[str](), tuple[InnerPoint, ...]()
        if namespace:
            root_id, without, inner = self._inside(source, checkpoint_id, namespace)
            live = past = ALL_WRITES
        made = self.store.forker.fork(
            source,
            root_id,
            destination,
            live=live,
            past=past,
            pending=pending,
            without_tasks=without,
            inner=inner,
            sub_namespaces=pending in ("auto", "keep"),
            by=by,
            reason=reason,
            request_id=request_id,
        )
        applied: PendingPolicy = "reask" if pending == "auto" and made.superseded else pending
        return ForkOutcome(made.origin, made.created, made.superseded, applied)

    def _inside(
        self, source: str, checkpoint_id: str, namespace: str
    ) -> tuple[str, frozenset[str], tuple[InnerPoint, ...]]:
        """What to take so that a fork goes on inside a subgraph: the root checkpoint without the
        task that the subgraph is, and each namespace on the way at the checkpoint it was at."""
        selected = self.get_tuple(config_of(source, namespace, checkpoint_id))
        if selected is None:
            raise CheckpointNotFoundError(
                f"session {source!r} has no checkpoint {checkpoint_id!r} in namespace {namespace!r}"
            )
        parents = selected.metadata.get("parents") or {}
        if "" not in parents:
            raise InvalidArgumentError(
                "checkpoint_id", f"{checkpoint_id!r} does not say which root checkpoint it is of"
            )
        parts = namespace.split("|")
        steps = [_task_of(part) for part in parts]
        inner = [
            InnerPoint(
                "|".join(parts[:level]),
                parents["|".join(parts[:level])],
                ALL_WRITES,
                frozenset({steps[level], _NULL_TASK}),
            )
            for level in range(1, len(parts))
            if "|".join(parts[:level]) in parents
        ]
        inner.append(InnerPoint(namespace, checkpoint_id, NO_WRITES))
        return parents[""], frozenset({steps[0], _NULL_TASK}), tuple(inner)

    def timeline(
        self,
        thread_id: str,
        *,
        limit: int = 50,
        before: str | None = None,
        source: str | None = None,
    ) -> Sequence[TimelineEntry]:
        """A thread's history without its values, newest first; inherited ancestors included.

        `before` is a checkpoint id to begin below; `source` keeps the checkpoints of one source
        (``input``, ``loop``, ...) or those that one node made. Raises `SessionNotFoundError`.
        """
        check_session_id("thread_id", thread_id)
        limit = check_limit("limit", limit)
        if before is not None:
            check_checkpoint_id("before", before)
        check_optional_text("source", source)
        entries: list[TimelineEntry] = []
        pages = self.store.reader.timeline(
            thread_id,
            before=before,
            limit=limit if source is None else None,
        )
        for page in pages:
            for row in page:
                entry = timeline_entry(row)
                if source is None or source == entry.source or source in entry.nodes:
                    entries.append(entry)
            if len(entries) >= limit:
                break
        return entries[:limit]

    def origin(self, thread_id: str) -> ForkOrigin | None:
        """Where a thread was forked from; None when it was not. Raises `SessionNotFoundError`."""
        return self.store.reader.origin(check_session_id("thread_id", thread_id))

    def has_child(self, thread_id: str, checkpoint_id: str) -> bool:
        """Whether a thread has gone on past one of its root checkpoints (forks do not count).

        Raises `SessionNotFoundError`, `CheckpointNotFoundError`.
        """
        return self.store.reader.has_child(
            check_session_id("thread_id", thread_id),
            check_checkpoint_id("checkpoint_id", checkpoint_id),
        )

    # -- async --------------------------------------------------------------------------------

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`get_tuple`, without blocking the event loop."""
        return await self._in_thread(partial(self.get_tuple, config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """`list`, without blocking the event loop."""
        pages = self._pages(config, filter, before, limit)
        decoder = self._decoder
        memo = decoder.listing()

        def following() -> Sequence[CheckpointTuple] | None:
            page = next(pages, None)
            return None if page is None else [decoder.tuple(record, memo) for record in page]

        while (page := await self._in_thread(following)) is not None:
            for item in page:
                yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """`put`, without blocking the event loop."""
        return await self._in_thread(partial(self.put, config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """`put_writes`, without blocking the event loop."""
        check_writes(writes)
        address = address_of(config)
        if not self._may_join_next(config, address, writes):
            await self._in_thread(partial(self.put_writes, config, writes, task_id, task_path))
            return
        loop = asyncio.get_running_loop()
        durable: asyncio.Future[None] = loop.create_future()

        def settle(error: BaseException | None) -> None:
            if durable.done():
                return
            if error is None:
                durable.set_result(None)
            else:
                durable.set_exception(error)

        def done(error: BaseException | None) -> None:
            # A loop that was closed meanwhile has nobody left who waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, error)

        self._queue_writes(address, writes, task_id, task_path, done)
        await durable

    async def adelete_thread(self, thread_id: str) -> None:
        """`delete_thread`, without blocking the event loop."""
        await self._in_thread(partial(self.delete_thread, thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`delete_for_runs`, without blocking the event loop."""
        await self._in_thread(partial(self.delete_for_runs, run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`copy_thread`, without blocking the event loop."""
        await self._in_thread(partial(self.copy_thread, source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`prune`, without blocking the event loop."""
        await self._in_thread(partial(self.prune, thread_ids, strategy=strategy))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """`get_delta_channel_history`, without blocking the event loop."""
        return await self._in_thread(
            partial(self.get_delta_channel_history, config=config, channels=channels)
        )

    async def afork_session(
        self,
        source: str,
        checkpoint_id: str,
        destination: str,
        *,
        pending: PendingPolicy = "auto",
        namespace: str = "",
        by: str | None = None,
        reason: str | None = None,
        request_id: str | None = None,
    ) -> ForkOutcome:
        """`fork_session`, without blocking the event loop."""
        return await self._in_thread(
            partial(
                self.fork_session,
                source,
                checkpoint_id,
                destination,
                pending=pending,
                namespace=namespace,
                by=by,
                reason=reason,
                request_id=request_id,
            )
        )

    async def atimeline(
        self,
        thread_id: str,
        *,
        limit: int = 50,
        before: str | None = None,
        source: str | None = None,
    ) -> Sequence[TimelineEntry]:
        """`timeline`, without blocking the event loop."""
        return await self._in_thread(
            partial(self.timeline, thread_id, limit=limit, before=before, source=source)
        )

    async def aorigin(self, thread_id: str) -> ForkOrigin | None:
        """`origin`, without blocking the event loop."""
        return await self._in_thread(partial(self.origin, thread_id))

    async def ahas_child(self, thread_id: str, checkpoint_id: str) -> bool:
        """`has_child`, without blocking the event loop."""
        return await self._in_thread(partial(self.has_child, thread_id, checkpoint_id))


def _task_of(part: str) -> str:
    return part.rsplit(":", 1)[1] if ":" in part else ""
