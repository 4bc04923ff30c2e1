"""The process that gets killed: it writes, and says so after each call that returned."""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from typing import Any

import forkpoint as fp
from tests.checkpoints import place, put

PADDING = "a line of text, long enough to be worth sharing " * 4
TASK_A = "00000000-0000-0000-0000-00000000000a"
TASK_B = "00000000-0000-0000-0000-00000000000b"


def items_of(line: str, length: int) -> list[str]:
    """The list that a checkpoint of a line has at a length: what is read must be exactly this."""
    return [f"{line} {number} {PADDING}" for number in range(length)]


def writes_of(checkpoint_id: str) -> list[tuple[str, str, Any]]:
    """All writes that are stored on a checkpoint, in two calls, in their order."""
    return [
        (TASK_B, "alone", [checkpoint_id, "b", PADDING]),
        (TASK_A, "first", checkpoint_id),
        (TASK_A, "second", {"k": [checkpoint_id, PADDING]}),
    ]


class Acknowledgements:
    """Lines in a file, each written by one system call after the database call returned."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def say(self, **fact: Any) -> None:
        os.write(self._file, json.dumps(fact).encode() + b"\n")


def _store_writes(saver: Any, say: Any, thread: str, checkpoint_id: str) -> None:
    """All writes of a checkpoint, in two calls. Done again, it changes nothing."""
    (_, channel, value), *first = writes_of(checkpoint_id)
    where = place(thread, checkpoint_id)
    saver.put_writes(where, [(name, held) for _, name, held in first], TASK_A, "~2")
    say(did="write", thread=thread, id=checkpoint_id, task=TASK_A)
    saver.put_writes(where, [(channel, value)], TASK_B, "~1")
    say(did="write", thread=thread, id=checkpoint_id, task=TASK_B)


def _write_line(saver: Any, say: Any, thread: str, line: str, forks: bool) -> None:
    """Grow one thread for ever, and the forks taken from it a little."""
    found = saver.get_tuple(place(thread))
    parent = None if found is None else found.checkpoint["id"]
    length = 0 if found is None else int(found.metadata["length"])
    if parent is not None:
        # The process before this one may have been killed between the two calls.
        _store_writes(saver, say, thread, parent)
    while True:
        length += 1
        state = {"items": items_of(line, length), "length": length}
        parent = put(saver, thread, parent, state, version=length, length=length, line=line)
        say(did="put", thread=thread, id=parent, length=length, line=line)
        _store_writes(saver, say, thread, parent)
        if forks and length % 5 == 0:
            fork = f"{thread} > {length}"
            saver.fork_session(thread, parent, fork)
            say(did="fork", thread=fork, source=thread, id=parent, length=length)
            own = put(
                saver,
                fork,
                parent,
                {"items": items_of(line, length + 1), "length": length + 1},
                version=length + 1,
                length=length + 1,
                line=line,
            )
            say(did="put", thread=fork, id=own, length=length + 1, line=line)
            if length % 15 == 0:
                say(did="begin to delete", thread=fork)
                saver.delete_thread(fork)
                say(did="delete", thread=fork)


def _go_on_with_line(saver: Any, say: Any, thread: str, line: str, forks: bool) -> None:
    """Grow a thread although its server comes and goes: what was not acknowledged may be there."""
    while True:
        with suppress(fp.ConnectionLostError, fp.DatabaseBusyError):
            _write_line(saver, say, thread, line, forks)


def write_until_killed(path: str, acknowledgements: str, lines: list[str]) -> None:
    """Write several threads at once, the first of which was begun by processes before this one."""
    say = Acknowledgements(acknowledgements).say
    store = fp.open(path)
    saver = store.saver()
    workers = [
        threading.Thread(target=_go_on_with_line, args=(saver, say, line, line, number != 1))
        for number, line in enumerate(lines)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
