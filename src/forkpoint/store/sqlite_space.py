"""Room in an SQLite file: how much is free in it, and how the file system gets it back.

Pages that deletion freed are cut off the end of the file in small steps, each a write transaction
of its own, so that writers get their turn in between. What was written lies in the write-ahead log
too until a checkpoint has moved it, so the log is emptied at the end.
"""

from __future__ import annotations

import sqlite3
import time

from forkpoint.store.driver import Space

_PAGES = 256
"""Pages that one step cuts off."""
_INCREMENTAL = 2
_PATIENCE = 5.0
"""Seconds to wait for readers that keep the log from being emptied."""
_TRY_MILLISECONDS = 500


def free_space(raw: sqlite3.Connection) -> int:
    """Bytes that are free inside the file."""
    return _number(raw, "freelist_count") * _number(raw, "page_size")


def give_back(raw: sqlite3.Connection) -> Space:
    """Cut free pages off the file. One that was made without room for that keeps them."""
    before = _number(raw, "page_count")
    if _number(raw, "auto_vacuum") == _INCREMENTAL:
        for _ in range(_number(raw, "freelist_count") // _PAGES + 1):
            # Each page is a row without columns, which only a script is stepped through.
            raw.executescript(f"PRAGMA incremental_vacuum({_PAGES})")
    return _settled(raw, before)


def compact(raw: sqlite3.Connection) -> Space:
    """Write the file anew without its free pages; nobody else can write meanwhile."""
    before = _number(raw, "page_count")
    raw.execute("PRAGMA auto_vacuum = INCREMENTAL")
    raw.execute("VACUUM")
    return _settled(raw, before)


def _settled(raw: sqlite3.Connection, before: int) -> Space:
    settled = _empty_log(raw)
    size = _number(raw, "page_size")
    after = _number(raw, "page_count")
    return Space(max(0, before - after) * size, free_space(raw), settled)


def _empty_log(raw: sqlite3.Connection) -> bool:
    """Move what is in the write-ahead log to where it belongs; False when readers were in the way
    all the time."""
    # Writers wait as long as this does, so it tries briefly and lets them pass in between.
    raw.execute(f"PRAGMA busy_timeout = {_TRY_MILLISECONDS}")
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            busy = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            busy = 1
        if not busy:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)


def _number(raw: sqlite3.Connection, pragma: str) -> int:
    found: int = raw.execute(f"PRAGMA {pragma}").fetchone()[0]
    return found
