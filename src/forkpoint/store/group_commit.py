"""Group commit: writers of one process share a transaction.

Whoever holds the lock commits everything that has queued up behind it, so sixteen threads pay for
one commit. What "commit" means is the driver's business; here is only who waits for whom.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from forkpoint.store.driver import Connection

LINGER = 0.001
"""Seconds that work given to `join_next` waits for a transaction to join."""


class Piece:
    """A piece of work in the queue, and what became of it."""

    __slots__ = ("_after", "_notify", "committed", "done", "error", "result", "run")

    def __init__(
        self,
        run: Callable[[Any], Any],
        after: Callable[[Any], None] | None,
        notify: Callable[[BaseException | None], None] | None = None,
    ) -> None:
        self.run: Callable[[Connection], Any] = run
        self._after = after
        self._notify = notify
        self.committed = False
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def durable(self) -> None:
        """The work is committed, unless it has an error."""
        if self.error is None:
            self.committed = True
            if self._after is not None:
                self._after(self.result)

    def settle(self) -> None:
        """Nothing more happens to the piece: tell whoever waits."""
        self.done = True
        if self._notify is not None:
            self._notify(self.error)


class GroupCommit:
    """The queue of one process for one database.

    `commit` is called with the lock held and a list of pieces. It runs and commits them in order,
    gives each its result or its error, and calls `durable` on each that is; it may leave out a
    piece's error by raising, then every piece that is not durable fails so.
    """

    def __init__(self, commit: Callable[[list[Piece]], None]) -> None:
        self.lock = threading.Lock()
        self._commit = commit
        self._queue: deque[Piece] = deque()
        self._closed = False
        self._start = threading.Lock()
        self._flusher: threading.Thread | None = None
        self._wake = threading.Event()

    def run(self, piece: Piece) -> Any:
        """Queue a piece and wait for it; its result. Raises what it raised."""
        self._queue.append(piece)
        with self.lock:
            if not piece.done:
                self._commit_queue()
        if piece.error is not None:
            raise piece.error
        return piece.result

    def join_next(self, piece: Piece) -> None:
        """Queue a piece for the next transaction, which begins within a millisecond or so."""
        self._queue.append(piece)
        if self._closed:
            # Closed between the caller's check and the append: the piece must not wait for ever.
            with self.lock:
                self._commit_queue()
            return
        if self._flusher is None:
            with self._start:
                if self._flusher is None:
                    self._flusher = threading.Thread(
                        target=self._flush_lingering, name="forkpoint-flush", daemon=True
                    )
                    self._flusher.start()
        self._wake.set()

    def finish(self) -> None:
        """Commit what is queued."""
        with self.lock:
            self._commit_queue()

    def stop(self) -> None:
        """No more pieces are taken; the caller holds the lock."""
        self._closed = True
        self._wake.set()

    def _flush_lingering(self) -> None:
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            time.sleep(LINGER)
            if self._queue:
                with self.lock:
                    if not self._closed:
                        self._commit_queue()

    def _commit_queue(self) -> None:
        batch: list[Piece] = []
        with suppress(IndexError):
            while True:
                batch.append(self._queue.popleft())
        if not batch:
            return
        try:
            self._commit(batch)
        except BaseException as error:
            for piece in batch:
                if not piece.committed:
                    piece.error = piece.error or error
            if not isinstance(error, Exception):
                raise
        finally:
            for piece in batch:
                piece.settle()
