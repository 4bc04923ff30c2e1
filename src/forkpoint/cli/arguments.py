"""Command-line arguments made into values: which database, which session, which checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import forkpoint as fp
from forkpoint.errors import (
    CheckpointNotFoundError,
    DatabaseError,
    InvalidArgumentError,
    SessionNotFoundError,
)
from forkpoint.model import CheckpointRef
from forkpoint.opening import Store
from forkpoint.timetravel import TimeTravel

SQLITE = "sqlite:///"
TURN = "turn:"
PAGE = 500
SHORTEST_PREFIX = 4
WHOLE_ID = 36


def open_database(name: str) -> Store:
    """The store that `name`, a path or a URL, stands for. It must exist: reading creates nothing.

    Raises:
        DatabaseError: there is no such file, or it is not a Forkpoint database.
    """
    path = name.removeprefix(SQLITE)
    if "://" not in path and not Path(path).exists():
        raise DatabaseError(
            f"no database at {path!r}; give one with --db or FORKPOINT_DB, "
            "or make one with `forkpoint demo`"
        )
    return fp.open(name, create=False)


def find_checkpoint(store: Store, session_id: str, text: str | None) -> CheckpointRef:
    """The checkpoint that `text` stands for in a session.

    None is the head, ``turn:3`` the last checkpoint of the third turn, anything else a
    checkpoint's id, a label or the beginning of an id, whichever there is first.

    Raises:
        SessionNotFoundError: there is no such session.
        CheckpointNotFoundError: no checkpoint of the session is meant by `text`.
        InvalidArgumentError: more than one is.
    """
    if text is None:
        return head(store, session_id)
    travel = TimeTravel(store.saver())
    if text.startswith(TURN):
        return travel.find_checkpoint(session_id, turn=_turn(text))
    with suppress(CheckpointNotFoundError):
        return CheckpointRef(session_id, store.resolve(session_id, text))
    if len(text) >= WHOLE_ID:
        return CheckpointRef(session_id, text)
    found = [id for id in _checkpoint_ids(travel, session_id) if id.startswith(text)]
    if not found or len(text) < SHORTEST_PREFIX:
        raise CheckpointNotFoundError(
            f"session {session_id!r} has no checkpoint {text!r}; "
            f"`forkpoint log {session_id}` lists those it has"
        )
    if len(found) > 1:
        raise InvalidArgumentError(
            "checkpoint", f"{len(found)} checkpoints begin with {text!r}; give more of the id"
        )
    return CheckpointRef(session_id, found[0])


def find_address(store: Store, text: str) -> CheckpointRef:
    """The checkpoint that ``SESSION`` (its head) or ``SESSION@CHECKPOINT`` stands for.

    A session id may itself have an ``@`` in it: a session of the whole name comes first.
    """
    session_id, at, checkpoint = text.rpartition("@")
    if not at or _exists(store, text):
        return find_checkpoint(store, text, None)
    return find_checkpoint(store, session_id, checkpoint)


def head(store: Store, session_id: str) -> CheckpointRef:
    """The head of a session.

    Raises:
        SessionNotFoundError: there is no such session.
    """
    return CheckpointRef(session_id, store.session(session_id).head)


def free_session_id(store: Store, wanted: str) -> str:
    """`wanted` if no session has this id, else ``wanted-2``, ``wanted-3`` and on."""
    name, number = wanted, 1
    while _exists(store, name):
        number += 1
        name = f"{wanted}-{number}"
    return name


def _checkpoint_ids(travel: TimeTravel, session_id: str) -> Iterator[str]:
    before = None
    while page := travel.get_timeline(session_id, limit=PAGE, before=before):
        for entry in page:
            yield entry.checkpoint_id
        before = page[-1].checkpoint_id


def _turn(text: str) -> int:
    number = text.removeprefix(TURN)
    if not number.isdecimal():
        raise InvalidArgumentError("checkpoint", f"{text!r} names no turn; write it as turn:3")
    return int(number)


def _exists(store: Store, session_id: str) -> bool:
    try:
        store.session(session_id)
    except SessionNotFoundError:
        return False
    return True
