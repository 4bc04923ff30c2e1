"""A session's checkpoints in order, page by page, each page a read of its own.

Newest first: a session's own rows by order of writing, then, on a fork, what it inherits, nearest
session first. Between pages nothing is held: no lock, no cursor, no connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge

from forkpoint.store.driver import Connection
from forkpoint.store.lineage import NEVER, Base, Lineage, Segment, View, seen_through
from forkpoint.store.lookup import Found
from forkpoint.store.records import Row

_CHUNK = 64

Fetch = Callable[[Connection, int, int], list[Row]]
"""(connection, below which n, how many) -> the next rows of a stream, newest first."""


class _Stream:
    """Rows of one thread or lane below a position, fetched when they are asked for."""

    __slots__ = ("_below", "_done", "_fetch", "_rows", "namespace")

    def __init__(self, namespace: str, fetch: Fetch, below: int) -> None:
        self.namespace = namespace
        self._fetch = fetch
        self._below = below
        self._rows: list[Row] = []
        self._done = False

    def pull(self, db: Connection, count: int) -> Iterator[tuple[Row, str]]:
        """Rows from here on; those taken from the iterator do not come again."""
        while True:
            while self._rows:
                yield self._rows.pop(), self.namespace
            if self._done:
                return
            size = max(_CHUNK, count)
            rows = self._fetch(db, self._below, size)
            self._done = not rows
            if rows:
                self._below = rows[-1].n
                self._rows = rows[::-1]

    def put_back(self, row: Row) -> None:
        self._rows.append(row)


class Listing:
    """The rows of one session, in one namespace or all (None), from a position on.

    `after` is a checkpoint to begin below; `older_than` leaves out rows whose id is not smaller.
    """

    def __init__(
        self,
        lineage: Lineage,
        view: View,
        namespace: str | None,
        own_threads: list[tuple[int, str]],
        after: Found | None = None,
        after_owner: int | None = None,
        older_than: bytes | None = None,
    ) -> None:
        self._lineage = lineage
        self._view = view
        self._namespace = namespace
        self._own_threads = own_threads
        self._older_than = older_than
        self._level = 0
        self._below = NEVER
        if after is not None and after_owner is not None:
            self._below = after.n
            if after_owner != view.session:
                owners = [base.session for base in view.bases]
                self._level = owners.index(after_owner) + 1
        self._streams: list[_Stream] | None = None
        self._listed: set[tuple[str, bytes]] = set()

    def next(self, db: Connection, count: int) -> list[tuple[Row, str, bool]]:
        """Up to `count` more rows, each with its namespace and whether it is inherited; fewer
        than asked only at the end."""
        page: list[tuple[Row, str, bool]] = []
        while len(page) < count:
            if self._streams is None:
                if self._level > self._view.visible:
                    break
                self._streams = self._open(db, self._level)
            self._drain(db, self._streams, count, page)
            if len(page) < count:
                self._streams = None
                self._level += 1
                self._below = NEVER
        return page

    def _drain(
        self,
        db: Connection,
        streams: list[_Stream],
        count: int,
        page: list[tuple[Row, str, bool]],
    ) -> None:
        want = count - len(page)
        rows: Iterator[tuple[Row, str]]
        if len(streams) == 1:
            rows = streams[0].pull(db, want)
        else:
            rows = self._merged(db, streams, want)
        inherited = self._level > 0
        may_repeat = bool(self._view.bases)
        for row, namespace in rows:
            if self._older_than is not None and row.cid >= self._older_than:
                continue
            if may_repeat and namespace:
                # A fork that writes on an inherited row of a sub-namespace has a copy of its own.
                if (namespace, row.cid) in self._listed:
                    continue
                self._listed.add((namespace, row.cid))
            page.append((row, namespace, inherited))
            if len(page) >= count:
                return

    def _merged(
        self, db: Connection, streams: list[_Stream], count: int
    ) -> Iterator[tuple[Row, str]]:
        # heapq.merge looks one row ahead in every stream; what it has not handed out goes back.
        by_namespace = {stream.namespace: stream for stream in streams}
        ahead: dict[str, Row] = {}

        def tracked(stream: _Stream) -> Iterator[tuple[Row, str]]:
            for row, namespace in stream.pull(db, min(count, _CHUNK)):
                ahead[namespace] = row
                yield row, namespace

        merged = merge(*map(tracked, streams), key=lambda item: -item[0].n)
        try:
            for row, namespace in merged:
                if ahead.get(namespace) is row:
                    del ahead[namespace]
                yield row, namespace
        finally:
            for namespace, row in ahead.items():
                by_namespace[namespace].put_back(row)

    def _open(self, db: Connection, level: int) -> list[_Stream]:
        if level == 0:
            return [
                _Stream(namespace, _own_rows(thread), self._below)
                for thread, namespace in self._own_threads
            ]
        base = self._view.bases[level - 1]
        streams = []
        if self._namespace in (None, ""):
            streams.append(_Stream("", self._path_rows(db, base), self._below))
        if self._namespace != "":
            for thread, namespace, _ in db.all("threads", session=base.session):
                if namespace and self._namespace in (None, namespace):
                    fetch = self._sub_rows(base, thread, db)
                    streams.append(_Stream(namespace, fetch, self._below))
        return streams

    def _path_rows(self, db: Connection, base: Base) -> Fetch:
        segments = [
            segment
            for segment in self._view.path
            if self._lineage.owner(db, segment.thread) == base.session
        ]

        def fetch(db: Connection, below: int, count: int) -> list[Row]:
            rows: list[Row] = []
            for segment in segments:
                if segment.lane < below and len(rows) < count:
                    rows += lane_rows(db, segment, below, count - len(rows), base.cut)
            return rows

        return fetch

    def _sub_rows(self, base: Base, thread: int, db: Connection) -> Fetch:
        return sub_namespace_rows(self._lineage, self._view, base, thread, db)


def _own_rows(thread: int) -> Fetch:
    def fetch(db: Connection, below: int, count: int) -> list[Row]:
        return [Row(*row) for row in db.all("page", thread=thread, below=below, limit=count)]

    return fetch


def lane_rows(db: Connection, segment: Segment, below: int, count: int, cut: int) -> list[Row]:
    """Rows of a path segment below a position that show through a cut, newest first."""
    shown: list[Row] = []
    up_to = min(segment.up_to, below - 1)
    while len(shown) < count:
        rows = db.all(
            "lane_page", thread=segment.thread, lane=segment.lane, up_to=up_to, limit=count
        )
        shown += [row for row in map(Row._make, rows) if seen_through(row.hidden, row.n, cut)]
        if len(rows) < count:
            break
        up_to = rows[-1][1] - 1
    return shown[:count]


def sub_namespace_rows(
    lineage: Lineage, view: View, base: Base, thread: int, db: Connection
) -> Fetch:
    """Rows of one sub-namespace of a base that are seen, newest first."""
    root_thread: int = db.one("thread_of", session=base.session, namespace="")[0]

    def fetch(db: Connection, below: int, count: int) -> list[Row]:
        shown: list[Row] = []
        below = min(below, base.cut)
        root = NEVER if root_thread != base.thread else base.n
        while len(shown) < count:
            rows = db.all("sub_page", thread=thread, below=below, root=root, limit=count)
            shown += [
                row
                for row in map(Row._make, rows)
                if seen_through(row.hidden, row.n, base.cut)
                and lineage.shows_rooted(db, view, base, row, root_thread)
            ]
            if len(rows) < count:
                break
            below = rows[-1][1]
        return shown[:count]

    return fetch


def inherited_head(db: Connection, lineage: Lineage, view: View, namespace: str) -> Row | None:
    """The newest row of a sub-namespace that a fork sees without having written there."""
    if not namespace:
        return None
    for base in view.shown:
        below = db.one("thread_of", session=base.session, namespace=namespace)
        if below is not None:
            rows = sub_namespace_rows(lineage, view, base, below[0], db)(db, NEVER, 1)
            if rows:
                return rows[0]
    return None
