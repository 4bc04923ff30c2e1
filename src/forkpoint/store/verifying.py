"""Reading an archive from end to end before anything of it is used.

Checksums say that the file is the one that was written. That it also makes sense (every row names
only texts, rows and values that are there) is seen to here, so that a file made by anybody can do
no more than be refused. Nothing is decoded beyond the store's own rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

import ormsgpack

from forkpoint.errors import ArchiveError, InvalidArgumentError, NewerArchiveError
from forkpoint.store.archive import ArchiveReader, must_be_known
from forkpoint.store.cells import (
    COMPRESSED,
    INLINE_LIMIT,
    LIST_WRITTEN_OUT,
    MAPPING,
    SEALED,
    Reference,
)
from forkpoint.store.checks import (
    check_checkpoint_id,
    check_namespace,
    check_optional_text,
    check_session_id,
)
from forkpoint.store.labels import check_label
from forkpoint.store.lineage import NEVER
from forkpoint.store.origins import Origin
from forkpoint.store.records import WAITING_FOR_ROOT, cid_bytes, cid_text
from forkpoint.store.whole import GONE

_DIGEST_BYTES = 16
_NUMBERS = 2**32
_NO_ITEM = "a part of a value is none that the store would write"

Report = Callable[[int, int], Any]


class Head(NamedTuple):
    """What an archive says of the session itself."""

    name: str
    created: int
    touched: int
    tick: int
    depth: int
    root: str
    workspace: str | None
    agent: str | None
    pending: str | None
    origins: list[Origin]
    threads: list[tuple[str, int | None]]
    """Namespace and head, in the order in which rows count them."""
    next: int
    """The first number of the family that no value has."""


@dataclass(slots=True)
class Contents:
    """An archive that is sound."""

    head: Head
    key: bytes | None = None
    """The key of the digests, encrypted, when values are."""
    sealed: bool = False
    """Whether any value is encrypted."""
    checkpoints: int = 0
    writes: int = 0
    values: int = 0
    labels: list[tuple[str, bytes, int]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    digest: bytes = b""


class _WrongError(Exception):
    """Something in a part is not as it must be."""


def verify(reader: ArchiveReader, path: str, report: Report) -> Contents:
    """Read all of an archive. Raises `ArchiveError`."""
    checker: _Checker | None = None
    name = "HEAD"
    try:
        for name, payload in reader.parts():
            if checker is None:
                _require(name == "HEAD", "does not begin with HEAD")
                checker = _Checker(_head(payload))
            else:
                checker.part(name, payload)
            report(reader.position, 2 * reader.size)
        _require(checker is not None, "has no parts")
        assert checker is not None
        name = "DONE"
        checker.finish()
    except NewerArchiveError as error:
        raise NewerArchiveError(f"{path}: {error}") from None
    except InvalidArgumentError as error:
        raise _refusal(path, name, str(error)) from error
    except _WrongError as error:
        raise _refusal(path, name, str(error)) from None
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise _refusal(path, name, f"{type(error).__name__}: {error}") from error
    checker.contents.digest = reader.digest
    return checker.contents


def _refusal(path: str, name: str, problem: str) -> ArchiveError:
    return ArchiveError(f"{path}: part {name} makes no sense: {problem}. Nothing was imported")


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise _WrongError(problem)


def _whole_number(value: Any, low: int = -NEVER, high: int = NEVER) -> int:
    _require(type(value) is int and low <= value <= high, f"{value!r} is no number in range")
    number: int = value
    return number


def _optional_number(value: Any) -> int | None:
    return None if value is None else _whole_number(value)


def _bytes(value: Any) -> bytes:
    _require(type(value) is bytes, f"{value!r:.80} is not bytes")
    data: bytes = value
    return data


def _id(value: Any) -> bytes:
    """A checkpoint or task id as stored, in its one form."""
    stored = _bytes(value)
    _require(len(stored) > 1 and stored[0] < 2, f"{stored[:40]!r} is no id")
    text = check_checkpoint_id("id", cid_text(stored))
    _require(cid_bytes(text) == stored, f"{stored[:40]!r} is no id in its one form")
    return stored


def _head(payload: Any) -> Head:
    session = payload["session"]
    head = Head(
        check_session_id("session.name", session["name"]),
        _whole_number(session["created"], 0),
        _whole_number(session["touched"], 0),
        _whole_number(session["tick"], 0),
        _whole_number(session["depth"], 0),
        check_session_id("session.root", session["root"]),
        check_optional_text("session.workspace", session["workspace"]),
        check_optional_text("session.agent", session["agent"]),
        check_optional_text("session.pending", session["pending"]),
        [_origin(words) for words in payload["origins"]],
        [(check_namespace("threads", ns), _optional_number(n)) for ns, n in payload["threads"]],
        _whole_number(payload["next"], 1, _NUMBERS),
    )
    _whole_number(payload["exported"], 0)
    _require(len(dict(head.threads)) == len(head.threads), "a namespace is there twice")
    return head


def _origin(words: Any) -> Origin:
    session, checkpoint, at, by, reason, run = words
    return Origin(
        check_session_id("origins", session),
        _id(checkpoint),
        _whole_number(at, 0),
        check_optional_text("origins", by),
        check_optional_text("origins", reason),
        check_optional_text("origins", run),
    )


class _Checker:
    """What was seen of an archive so far."""

    def __init__(self, head: Head) -> None:
        self.contents = Contents(head)
        self._terms: dict[int, Any] = {}
        self._metadata: set[int] = set()
        self._rows: list[dict[int, tuple[bytes, bool]]] = [{} for _ in head.threads]
        self._ids: list[set[bytes]] = [set() for _ in head.threads]
        self._named: list[tuple[int, int]] = []
        self._placed: set[tuple[int, int, int]] = set()
        self._blobs: set[int] = set()
        self._wanted: set[int] = set()
        self._lists: dict[int, tuple[int | None, int]] = {}
        self._lengths: dict[int, int] = {}
        """How many items each list has, those of its base included."""
        self._asked: dict[int, int] = {}

    def part(self, name: str, payload: Any) -> None:
        read: dict[str, Callable[..., None]] = {
            "TERM": self._term,
            "META": self._described,
            "CKPT": self._checkpoint,
            "WRIT": self._write,
            "WAIT": self._waiting,
            "LABL": self._label,
            "LIST": self._list,
            "SLOT": self._slot,
            "VALU": self._value,
        }
        if name == "SEAL":
            _require(self.contents.key is None, "is there twice")
            self.contents.key = _bytes(payload)
        elif name in read:
            _require(type(payload) is list, "is no list of records")
            for record in payload:
                read[name](*record)
        elif name != "HEAD" and not must_be_known(name):
            self.contents.skipped.append(name)
        elif name == "HEAD":
            raise _WrongError("is there twice")
        else:
            raise NewerArchiveError(
                f"holds a part {name!r}, which this Forkpoint does not know and must not leave "
                "out. Upgrade Forkpoint to import it; nothing was imported"
            )

    def finish(self) -> None:
        """See to what can be said only when all is there."""
        for thread, n in self._named:
            _require(n in self._rows[thread], f"row {n} of namespace {thread} is named, not there")
        for thread, (_, head) in enumerate(self.contents.head.threads):
            shown = head is None or self._rows[thread].get(head, (b"", True))[1] is False
            _require(shown, f"the head of namespace {thread} is not there")
        roots = [space for space, _ in self.contents.head.threads]
        root = self._rows[roots.index("")] if "" in roots else {}
        shown_ids = {cid for cid, hidden in root.values() if not hidden}
        for name, cid, _ in self.contents.labels:
            _require(cid in shown_ids, f"label {name!r} is on a checkpoint that is not there")
        self._settle_lists()
        missing = self._wanted - self._blobs
        _require(not missing, f"value {min(missing, default=0)} is named and not there")
        _require(
            not self.contents.sealed or self.contents.key is not None,
            "values are encrypted, and the key of their digests is not there",
        )

    # -- rows ---------------------------------------------------------------------------------

    def _term(self, number: Any, body: Any) -> None:
        number = _whole_number(number, 0)
        _require(number not in self._terms, f"text {number} is there twice")
        self._terms[number] = ormsgpack.unpackb(_bytes(body))

    def _described(self, number: Any, body: Any) -> None:
        number = _whole_number(number)
        _require(number not in self._metadata, f"metadata {number} is there twice")
        _require(type(body) is str and type(json.loads(body)) is dict, "metadata is no JSON object")
        self._metadata.add(number)

    def _checkpoint(
        self,
        thread: Any,
        n: Any,
        cid: Any,
        lane: Any,
        parent: Any,
        root: Any,
        hidden: Any,
        step: Any,
        turn: Any,
        metadata: Any,
        size: Any,
        body: Any,
    ) -> None:
        thread = _whole_number(thread, 0, len(self._rows) - 1)
        n = _whole_number(n, high=self.contents.head.tick - 1)
        cid = _id(cid)
        _require(n != GONE and n not in self._rows[thread], f"row {n} is there twice")
        _require(cid not in self._ids[thread], f"checkpoint {cid_text(cid)} is there twice")
        hidden = _whole_number(hidden, 0, 2) > 0
        _require(metadata in self._metadata, f"metadata {metadata!r} is not there")
        self._rows[thread][n] = (cid, hidden)
        self._ids[thread].add(cid)
        self._named.append((thread, _whole_number(lane, high=n)))
        if _optional_number(parent) not in (None, GONE):
            self._named.append((thread, parent))
        for value in (root, step, turn):
            _optional_number(value)
        _whole_number(size, 0)
        self._body(body)
        self.contents.checkpoints += 1

    def _body(self, body: Any) -> None:
        names_term, versions, references, nodes_term, seen, _ = ormsgpack.unpackb(_bytes(body))
        names, nodes = self._terms[names_term], self._terms[nodes_term]
        _require(all(type(name) is str for name in names), "a channel's name is no text")
        _require(
            type(versions) is list and len(versions) <= len(names) == len(references),
            "channels and versions do not fit",
        )
        _require(all(map(_is_version, [*versions, *seen])), "a version is neither number nor text")
        channels = 0
        for node, some in nodes:
            _require(type(node) is str and all(type(c) is str for c in some), "a node has no name")
            channels += len(some)
        _require(channels == len(seen), "what nodes have seen does not fit")
        self._refer(references)

    def _write(self, thread: Any, n: Any, w: Any, task: Any, body: Any) -> None:
        thread = _whole_number(thread, 0, len(self._rows) - 1)
        self._named.append((thread, _whole_number(n)))
        w = _whole_number(w, high=self.contents.head.tick - 1)
        _require((thread, n, w) not in self._placed, "two writes are at one place")
        self._placed.add((thread, n, w))
        self._write_body(task, body)

    def _waiting(self, thread: Any, cid: Any, w: Any, task: Any, body: Any) -> None:
        thread = _whole_number(thread, 0, len(self._rows) - 1)
        _id(cid)
        _whole_number(w, high=self.contents.head.tick - 1)
        if task == WAITING_FOR_ROOT:
            of, n = ormsgpack.unpackb(_bytes(body))
            self._named.append((_whole_number(of, 0, len(self._rows) - 1), _whole_number(n)))
        else:
            self._write_body(task, body)

    def _write_body(self, task: Any, body: Any) -> None:
        _id(task)
        shape, references = ormsgpack.unpackb(_bytes(body))
        path, places = self._terms[shape]
        _require(type(path) is str and len(places) == len(references), "a write's shape is wrong")
        for index, channel in places:
            _require(type(index) is int and type(channel) is str, "a write names no channel")
        self._refer(references)
        self.contents.writes += 1

    def _label(self, name: Any, cid: Any, created: Any) -> None:
        label = (check_label("label", name), _id(cid), _whole_number(created, 0))
        _require(
            all(label[0] != other for other, _, _ in self.contents.labels), "a label is there twice"
        )
        self.contents.labels.append(label)

    # -- values -------------------------------------------------------------------------------

    def _refer(self, references: Iterable[Reference]) -> None:
        for reference in references:
            match reference:
                case None:
                    pass
                case bytes():
                    self._cell(reference)
                case int() if type(reference) is int:
                    self._wanted.add(self._number(reference))
                case [int() as first, *_] if first >= 0:
                    number, length, *mark = reference
                    length = _whole_number(length, 0)
                    _require(len(mark) < 2, "a reference to a list is too long")
                    self._asked[self._number(number)] = max(self._asked.get(number, 0), length)
                case [first, mark, *parts] if first == LIST_WRITTEN_OUT:
                    _whole_number(mark)
                    _require(all(type(part) in (bytes, int) for part in parts), _NO_ITEM)
                    self._refer(parts)
                case [first, term, *parts] if first == MAPPING:
                    keys = self._terms[term]
                    _require(
                        len(keys) == len(parts) and all(type(key) is str for key in keys),
                        "the keys of a mapping do not fit it",
                    )
                    for part in parts:
                        _require(part is not None and not _is_mapping(part), _NO_ITEM)
                    self._refer(parts)
                case _:
                    raise _WrongError(f"{reference!r:.80} refers to nothing")

    def _number(self, value: Any) -> int:
        return _whole_number(value, 1, self.contents.head.next - 1)

    def _cell(self, cell: bytes) -> None:
        _require(len(cell) > 0, "a value is empty")
        if cell[0] == SEALED:
            self.contents.sealed = True
        else:
            _require(len(cell) <= INLINE_LIMIT, "a value in a row is too long for it")

    def _list(self, number: Any, base: Any, base_length: Any) -> None:
        number = self._number(number)
        _require(number not in self._lists, f"list {number} is there twice")
        length = _whole_number(base_length, 0)
        if base is None:
            _require(length == 0, f"list {number} shares items with nothing")
        else:
            # A list stands on one that was there before it.
            _require(self._number(base) < number, f"list {number} stands on {base}")
        self._lists[number] = (base, length)
        self._lengths[number] = length

    def _slot(self, number: Any, i: Any, blob: Any, cell: Any) -> None:
        _require(self._lengths.get(number) == i, f"item {i!r} of list {number!r} is out of place")
        self._lengths[number] = _whole_number(i, 0) + 1
        if cell is None:
            self._wanted.add(self._number(blob))
        else:
            _require(blob is None, "an item of a list is two values")
            self._cell(_bytes(cell))

    def _value(self, number: Any, digest: Any, data: Any) -> None:
        number = self._number(number)
        _require(number not in self._blobs, f"value {number} is there twice")
        _require(len(_bytes(digest)) == _DIGEST_BYTES, f"value {number} has no digest")
        _require(len(_bytes(data)) > 0, f"value {number} is empty")
        self._blobs.add(number)
        self.contents.values += 1
        if data[0] == SEALED:
            self.contents.sealed = True
        elif data[0] != COMPRESSED:
            right = sha256(data).digest()[:_DIGEST_BYTES] == digest
            _require(right, f"value {number} is not what its digest says")

    def _settle_lists(self) -> None:
        for number in sorted(self._asked, reverse=True):
            _require(number in self._lists, f"list {number} is named and not there")
        for number in sorted(self._lists, reverse=True):
            base, shared = self._lists[number]
            asked = self._asked.get(number, 0)
            _require(asked <= self._lengths[number], f"list {number} lacks items")
            if base is not None:
                _require(base in self._lists, f"list {base} is named and not there")
                needed = min(asked, shared)
                self._asked[base] = max(self._asked.get(base, 0), needed)


def _is_mapping(reference: Reference) -> bool:
    return isinstance(reference, list) and reference[:1] == [MAPPING]


def _is_version(value: Any) -> bool:
    return value is None or type(value) in (int, float, str)
