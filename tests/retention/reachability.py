"""Which values rows refer to, worked out from the tables alone and nothing of the store's code.

`walk` reads a whole database beside the store, follows every reference, and says what is missing
(referred to, and not there) and what is waste (there, and not referred to).
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import ormsgpack

TABLES = {
    "session": "id, name, family, deleted, base, base_thread, base_n",
    "thread": "id, session, namespace, head",
    "checkpoint": "thread, n, lane, parent, parent_thread, hidden, metadata, body",
    "pending": "thread, n, w, body",
    "early": "thread, cid, w, task, body",
    "metadata": "id",
    "metadata_item": "name, value, metadata",
    "metadata_thread": "metadata, thread",
    "family": "id, next, dirty",
    "blob": "id, data",
    "list": "id, base, base_length",
    "list_item": "list, i, blob, cell",
    "label": "session, name",
}
NUMBER = 0xFFFFFFFF


@dataclass
class Findings:
    """What a walk found; every entry is a table and a key."""

    missing: list[tuple[str, Any]] = field(default_factory=list)
    waste: list[tuple[str, Any]] = field(default_factory=list)


def read_tables(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, as committed, in one moment of the database."""
    if url.startswith("postgres"):
        return _read_postgres(url)
    path = url.removeprefix("sqlite:///")
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        connection.execute("BEGIN")
        return {
            table: connection.execute(f"SELECT {columns} FROM {table}").fetchall()
            for table, columns in TABLES.items()
        }
    finally:
        connection.close()


def _read_postgres(url: str) -> dict[str, list[tuple[Any, ...]]]:
    import psycopg

    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    schema = query.pop("schema")
    plain = urlunsplit(parts._replace(query="&".join(f"{k}={v}" for k, v in query.items())))
    with psycopg.connect(plain) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return {
            table: connection.execute(f'SELECT {columns} FROM "{schema}".{table}').fetchall()  # type: ignore[arg-type]
            for table, columns in TABLES.items()
        }


def walk(url: str) -> Findings:
    """Follow every reference in a database."""
    return walk_tables(read_tables(url))


def walk_tables(tables: dict[str, list[tuple[Any, ...]]]) -> Findings:
    """The same of rows that were read."""
    found = Findings()
    families = {row[0]: row[2] for row in tables["session"]}
    owners = {row[0]: row[1] for row in tables["thread"]}
    blobs: set[int] = set()
    lengths: dict[int, int] = {}

    def refer(family: int, reference: Any) -> None:
        if isinstance(reference, int):
            blobs.add(family << 32 | reference)
        elif isinstance(reference, list) and reference[0] < 0:
            for part in reference[2:]:
                refer(family, part)
        elif isinstance(reference, list):
            key = family << 32 | reference[0]
            lengths[key] = max(lengths.get(key, 0), reference[1])

    used: set[tuple[int, int]] = set()
    rows: set[tuple[int, int]] = set()
    for thread, n, _, _, _, _, metadata, body in tables["checkpoint"]:
        rows.add((thread, n))
        used.add((metadata, thread))
        if thread not in owners:
            found.waste.append(("checkpoint", (thread, n)))
            continue
        for reference in ormsgpack.unpackb(body)[2]:
            refer(families[owners[thread]], reference)
    for thread, n, w, body in tables["pending"]:
        if (thread, n) not in rows:
            found.waste.append(("pending", (thread, n, w)))
            continue
        for reference in ormsgpack.unpackb(body)[1]:
            refer(families[owners[thread]], reference)
    for thread, cid, w, task, body in tables["early"]:
        if thread not in owners:
            found.waste.append(("early", (thread, cid, w)))
        elif task != b"root":
            for reference in ormsgpack.unpackb(body)[1]:
                refer(families[owners[thread]], reference)
    _follow_values(tables, blobs, lengths, found)
    _follow_metadata(tables, used, owners, found)
    alive = {families[session] for session in owners.values()}
    found.waste += [("family", row[0]) for row in tables["family"] if row[0] not in alive]
    return found


def _follow_values(
    tables: dict[str, list[tuple[Any, ...]]],
    blobs: set[int],
    lengths: dict[int, int],
    found: Findings,
) -> None:
    lists = {row[0]: (row[1], row[2]) for row in tables["list"]}
    waiting = list(lengths)
    while waiting:
        key = waiting.pop()
        if key not in lists:
            found.missing.append(("list", key))
            continue
        base, base_length = lists[key]
        if base is not None and lengths.get(base, -1) < min(lengths[key], base_length):
            lengths[base] = min(lengths[key], base_length)
            waiting.append(base)
    slots: dict[int, set[int]] = defaultdict(set)
    for key, i, blob, _ in tables["list_item"]:
        slots[key].add(i)
        if i >= lengths.get(key, 0):
            found.waste.append(("list_item", (key, i)))
        elif blob is not None:
            blobs.add(blob)
    for key, length in lengths.items():
        first = lists.get(key, (None, 0))[1]
        found.missing += [
            ("list_item", (key, i)) for i in range(first, length) if i not in slots[key]
        ]
    found.waste += [("list", key) for key in lists if key not in lengths]
    there = {row[0] for row in tables["blob"]}
    found.missing += [("blob", key) for key in blobs - there]
    found.waste += [("blob", key) for key in there - blobs]


def _follow_metadata(
    tables: dict[str, list[tuple[Any, ...]]],
    used: set[tuple[int, int]],
    owners: dict[int, int],
    found: Findings,
) -> None:
    noted = {(row[0], row[1]) for row in tables["metadata_thread"]}
    found.missing += [("metadata_thread", pair) for pair in used - noted]
    found.waste += [("metadata_thread", pair) for pair in noted - used]
    there = {row[0] for row in tables["metadata"]}
    wanted = {metadata for metadata, _ in used}
    found.missing += [("metadata", number) for number in wanted - there]
    found.waste += [("metadata", number) for number in there - wanted]
    found.waste += [
        ("metadata_item", row) for row in tables["metadata_item"] if row[2] not in there
    ]


def unneeded_rows(url: str) -> list[tuple[int, int]]:
    """Rows of sessions that nothing was forked from and that replay nothing: those that are neither
    shown nor tell a shown row where it hangs. Deleted sessions without forks must hold none."""
    tables = read_tables(url)
    sessions = {row[0]: row for row in tables["session"]}
    bases = {row[4] for row in tables["session"] if row[4] is not None}
    owners = {row[0]: row[1] for row in tables["thread"]}
    threads: dict[int, dict[int, tuple[Any, ...]]] = defaultdict(dict)
    for row in tables["checkpoint"]:
        threads[row[0]][row[1]] = row
    found: list[tuple[int, int]] = []
    heads = {row[0]: row[3] for row in tables["thread"]}
    roots_of_subs = defaultdict(set)
    for thread, held in threads.items():
        session = sessions[owners[thread]]
        if session[0] in bases:
            continue
        shown = {n for n, row in held.items() if row[5] == 0} if session[3] == 0 else set()
        assert session[3] != 0 or heads[thread] is None or heads[thread] in shown
        needed = set(shown)
        waiting = list(shown)
        while waiting:
            _, n, lane, parent, parent_thread, *_ = held[waiting.pop()]
            for above in (lane, parent if n == lane and parent_thread is None else None):
                if above is not None and above in held and above not in needed:
                    needed.add(above)
                    waiting.append(above)
        found += [(thread, n) for n in held if n not in needed]
        roots_of_subs[session[0]].add(thread)
    return found
