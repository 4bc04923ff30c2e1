"""Bringing threads in: in order, many checkpoints to a transaction, and going on where it stopped.

A thread that is not here is written from its first checkpoint on. One that is here must be what an
earlier import left: then what has come since is added, checkpoints and writes. In the end both
sides are compared, every snapshot.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from forkpoint.checkpoints import new_checkpoint
from forkpoint.configs import check_checkpoint, check_metadata, check_name
from forkpoint.decoding import Decoder
from forkpoint.errors import DatabaseError
from forkpoint.model import RefusedThread, StockImport
from forkpoint.saver import ForkpointSaver
from forkpoint.stock.comparing import Comparer, DifferentError
from forkpoint.stock.sources import Key, Outline, Source, StockCheckpoint, StockWrite
from forkpoint.store.cells import Encoded
from forkpoint.store.checks import check_checkpoint_id, check_namespace, check_session_id
from forkpoint.store.database import Store
from forkpoint.store.records import NewWrite
from forkpoint.store.writing import Writer

logger = logging.getLogger(__name__)

_BATCH = 128
"""Checkpoints of one transaction."""

Report = Callable[[int, int], Any]
"""Given how many checkpoints are done, and how many there are."""


@dataclass(slots=True)
class _Counts:
    checkpoints: int = 0
    writes: int = 0
    already_there: int = 0
    without_parent: int = 0


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be done for one thread."""

    order: list[Outline]
    """Every checkpoint of the source, a parent before its children."""
    missing: list[Outline]
    late_writes: list[StockWrite]
    """On checkpoints that are here."""


class _RefusedError(Exception):
    """A thread cannot be brought in; the text says why."""


class Bringer:
    """Brings the threads of one source into a store."""

    def __init__(self, store: Store, source: Source, serde: SerializerProtocol) -> None:
        self._store = store
        self._source = source
        self._decoder = Decoder(store, serde, share_values=False)
        self._bulk = store.bulk()
        ours = ForkpointSaver(store, serde=serde)
        self._comparer = Comparer(source.saver, ours, self._decoder.codec)

    def bring(self, report: Report) -> StockImport:
        """Bring every thread in. One that cannot be is told of, and the others go on."""
        started = time.monotonic()
        threads = self._source.threads()
        total = sum(count for _, count in threads)
        counts = _Counts()
        refused: list[RefusedThread] = []
        done = 0
        for thread, count in threads:
            try:
                with self._source.moment():
                    self._bring_thread(thread, counts, partial(_tell, report, done, total))
            except DatabaseError:
                raise
            except Exception as error:
                # Whatever is wrong with one thread, the others are brought in.
                logger.info("thread %r was not brought in", thread, exc_info=True)
                reason = str(error)
                if not isinstance(error, _RefusedError):
                    reason = f"{type(error).__name__}: {error}"
                refused.append(RefusedThread(thread, reason))
            done += count
            report(done, total)
        return StockImport(
            threads=len(threads) - len(refused),
            checkpoints=counts.checkpoints,
            writes=counts.writes,
            already_there=counts.already_there,
            without_parent=counts.without_parent,
            refused=tuple(refused),
            seconds=time.monotonic() - started,
        )

    def _bring_thread(self, thread: str, counts: _Counts, tell: Callable[[int], Any]) -> None:
        check_session_id("thread_id", thread)
        outline = self._source.outline(thread)
        plan = self._plan(thread, outline)
        known = {item.key for item in outline}
        counts.already_there += len(outline) - len(plan.missing)
        counts.writes += self._write_late(thread, plan.late_writes)
        done = len(outline) - len(plan.missing)
        for start in range(0, len(plan.missing), _BATCH):
            batch = plan.missing[start : start + _BATCH]
            counts.writes += self._write_batch(thread, batch, known)
            counts.checkpoints += len(batch)
            tell(done + start + len(batch))
        counts.without_parent += sum(
            item.parent is not None and Key(item.key.namespace, item.parent) not in known
            for item in plan.missing
        )
        self._set_heads(thread, outline, plan.order)
        try:
            self._comparer.compare(thread, [item.key for item in outline])
        except DifferentError as difference:
            raise _RefusedError(
                f"it was written, and read back it differs from its source: {difference}. Delete "
                f"session {thread!r} here and import again; if it differs again, report it"
            ) from difference

    # -- what is here -------------------------------------------------------------------------

    def _plan(self, thread: str, outline: Sequence[Outline]) -> _Plan:
        order = _parents_first(outline)
        if not self._store.reader.exists(thread):
            return _Plan(order, order, [])
        if self._store.reader.origin(thread) is not None:
            raise _RefusedError(f"session {thread!r} is here already, as a fork of another")
        known = {item.key for item in outline}
        here: dict[Key, dict[tuple[str, int], Encoded | None]] = {}
        vault = self._decoder.vault
        for page in self._store.reader.checkpoints(thread, None, vault):
            for record in page:
                key = Key(record.namespace, record.id)
                if key not in known:
                    raise self._other_content(
                        thread, f"it has a checkpoint {record.id!r} that the source has not"
                    )
                assert record.cells is not None
                here[key] = {
                    (write.task_id, write.position): record.cells.resolve(write.value)
                    for write in record.writes
                }
        newest = {item.key.namespace: item.key for item in order if item.key in here}
        for key in newest.values():
            try:
                self._comparer.compare_one(thread, key, known)
            except DifferentError as difference:
                raise self._other_content(thread, str(difference)) from difference
        return _Plan(
            order,
            [item for item in order if item.key not in here],
            list(self._late_writes(thread, here)),
        )

    def _late_writes(
        self, thread: str, here: dict[Key, dict[tuple[str, int], Encoded | None]]
    ) -> Iterator[StockWrite]:
        """Writes of the source that are not here, or not as they are there."""
        keys = list(here)
        seen: dict[Key, set[tuple[str, int]]] = {}
        for start in range(0, len(keys), _BATCH):
            for write in self._source.writes(thread, keys[start : start + _BATCH]):
                place = (write.task_id, write.position)
                seen.setdefault(write.key, set()).add(place)
                there = here[write.key].get(place)
                if there is None:
                    yield write
                elif there != self._decoder.codec.encode(write.value):
                    if write.position >= 0:
                        raise self._other_content(
                            thread, f"a write on checkpoint {write.key.id!r} is another one"
                        )
                    yield write
        for key, places in here.items():
            if places.keys() - seen.get(key, set()):
                raise self._other_content(
                    thread, f"checkpoint {key.id!r} has writes that the source has not"
                )

    def _other_content(self, thread: str, what: str) -> _RefusedError:
        return _RefusedError(
            f"session {thread!r} is here already with other content ({what}), and was left as it "
            "is. Delete it, or import into another database"
        )

    # -- writing ------------------------------------------------------------------------------

    def _write_batch(self, thread: str, batch: Sequence[Outline], known: set[Key]) -> int:
        parents = {item.key: item.parent for item in batch}
        keys = list(parents)
        checkpoints = list(self._source.checkpoints(thread, keys))
        written: dict[Key, list[StockWrite]] = {}
        for write in self._source.writes(thread, keys):
            written.setdefault(write.key, []).append(write)

        def work(writer: Writer) -> None:
            for read in checkpoints:
                parent = parents[read.key]
                if parent is not None and Key(read.key.namespace, parent) not in known:
                    parent = None
                self._put(writer, thread, read, parent, known)
                self._put_writes(writer, thread, written.get(read.key, ()))

        self._bulk.write(work)
        return sum(map(len, written.values()))

    def _put(
        self,
        writer: Writer,
        thread: str,
        read: StockCheckpoint,
        parent: str | None,
        known: set[Key],
    ) -> None:
        check_namespace("checkpoint_ns", read.key.namespace)
        check_checkpoint(read.checkpoint)
        check_metadata(read.metadata)
        codec = self._decoder.codec
        # Of a checkpoint that is one value, only comparing tells what it shares with its parent.
        changed = (
            frozenset() if read.shares_values else frozenset(read.checkpoint["channel_values"])
        )
        new = new_checkpoint(
            read.checkpoint,
            read.metadata,
            parent=parent,
            changed=changed,
            to_cell=codec.cell,
            encode=codec.encode_channel,
        )
        if new.root is not None and Key("", new.root) not in known:
            new = replace(new, root=None)
        writer.put(thread, read.key.namespace, new, self._decoder.vault)

    def _write_late(self, thread: str, late: Sequence[StockWrite]) -> int:
        if late:
            self._bulk.write(lambda writer: self._put_writes(writer, thread, late))
        return len(late)

    def _put_writes(self, writer: Writer, thread: str, writes: Iterable[StockWrite]) -> None:
        tasks: dict[tuple[Key, str, str], list[StockWrite]] = {}
        for write in sorted(writes, key=lambda write: write.position):
            tasks.setdefault((write.key, write.task_id, write.task_path), []).append(write)
        for (key, task_id, task_path), some in tasks.items():
            check_checkpoint_id("task_id", task_id)
            check_namespace("task_path", task_path)
            for write in some:
                check_name("writes", write.channel)
            writer.put_writes(
                thread,
                key.namespace,
                key.id,
                task_id,
                task_path,
                [
                    NewWrite(
                        write.position,
                        write.channel,
                        self._decoder.codec.encode_channel(write.channel, write.value),
                    )
                    for write in some
                ],
                self._decoder.vault,
            )

    def _set_heads(self, thread: str, outline: Sequence[Outline], order: Sequence[Outline]) -> None:
        """The head is the checkpoint that the source takes for the newest."""
        heads = {item.key.namespace: item.key for item in outline}
        written_last = {item.key.namespace: item.key for item in order}
        for namespace, key in heads.items():
            if written_last[namespace] != key:
                self._bulk.move_head(thread, *key)


def _tell(report: Report, before: int, total: int, done: int) -> None:
    report(before + done, total)


def _parents_first(outline: Sequence[Outline]) -> list[Outline]:
    """The checkpoints of a thread in their order, but each after its parent."""
    by_key = {item.key: item for item in outline}
    order: list[Outline] = []
    placed: set[Key] = set()
    for item in outline:
        line: list[Outline] = []
        at: Outline | None = item
        while at is not None and at.key not in placed:
            placed.add(at.key)
            line.append(at)
            at = None if at.parent is None else by_key.get(Key(at.key.namespace, at.parent))
        order += line[::-1]
    return order
