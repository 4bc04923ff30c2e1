"""A connection cut at any moment of an operation: it is carried out once, not twice, and not half.

Each operation is done again and again through a proxy that cuts the connection at another request
each time: before the request is sent, or after it was carried out but before the client heard of
it. What is in the tables then must be what an undisturbed run leaves there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple, get_args
from uuid import uuid4

import psycopg
import pytest

import forkpoint as fp
from tests.checkpoints import Saver, chain, head, put, write
from tests.postgres import Postgres
from tests.proxy import Moment, Proxy

LONG = "a value that is too long to lie in a row of its own, and so is stored apart "
EARLY = "1f0a0000-0000-6000-8000-00000000000e"

COUNTED = """
WITH family AS (SELECT family AS id FROM session WHERE name = %(name)s ORDER BY id DESC LIMIT 1),
    member AS (SELECT s.id, s.deleted FROM session s JOIN family f ON f.id = s.family),
    place AS (SELECT t.id FROM thread t JOIN member m ON m.id = t.session)
SELECT (SELECT count(*) FROM member WHERE deleted = 0), (SELECT count(*) FROM member),
    (SELECT count(*) FROM place),
    (SELECT count(*) FROM checkpoint c JOIN place p ON p.id = c.thread),
    (SELECT count(*) FROM checkpoint c JOIN place p ON p.id = c.thread WHERE c.hidden <> 0),
    (SELECT count(*) FROM pending w JOIN place p ON p.id = w.thread),
    (SELECT count(*) FROM early w JOIN place p ON p.id = w.thread),
    (SELECT count(*) FROM label l JOIN member m ON m.id = l.session),
    (SELECT count(*) FROM blob b JOIN family f ON b.id >> 32 = f.id),
    (SELECT count(*) FROM list b JOIN family f ON b.id >> 32 = f.id),
    (SELECT count(*) FROM list_item b JOIN family f ON b.list >> 32 = f.id)
"""


class Operation(NamedTuple):
    """Something done to a session that was prepared for it."""

    prepare: Callable[[Any, Saver, str], Any]
    act: Callable[[Any, Saver, str, Any], Any]


def _nothing(store: Any, saver: Saver, name: str) -> None:
    """For what begins a session."""


def _some(store: Any, saver: Saver, name: str) -> list[str]:
    made = chain(saver, name, 3)
    write(saver, name, made[-1], [("a", 1), ("b", LONG + name)])
    return made


def _waited_for(store: Any, saver: Saver, name: str) -> list[str]:
    made = _some(store, saver, name)
    write(saver, name, EARLY, [("a", LONG + "early")])
    return made


def _forked(store: Any, saver: Any, name: str) -> list[str]:
    made = _some(store, saver, name)
    saver.fork_session(name, made[1], f"{name} fork")
    put(saver, f"{name} fork", made[1], {"items": ["item 0", LONG]}, version=7)
    return made


def _items(name: str) -> dict[str, Any]:
    return {"items": ["item 0", "item 1", "item 2", LONG + name], "text": LONG, "n": 1}


OPERATIONS: dict[str, Operation] = {
    "the first put of a session": Operation(
        _nothing, lambda store, saver, name, _: put(saver, name, None, _items(name))
    ),
    "a put": Operation(
        _some, lambda store, saver, name, made: put(saver, name, made[-1], _items(name), version=9)
    ),
    "a put on an older parent": Operation(
        _some, lambda store, saver, name, made: put(saver, name, made[0], _items(name), version=9)
    ),
    "a put in a new namespace": Operation(
        _some,
        lambda store, saver, name, made: put(
            saver, name, None, {"text": LONG}, namespace="sub:1", parents={"": made[-1]}
        ),
    ),
    "a put that writes waited for": Operation(
        _waited_for,
        lambda store, saver, name, made: put(
            saver, name, made[-1], _items(name), version=9, checkpoint_id=EARLY
        ),
    ),
    "writes": Operation(
        _some, lambda store, saver, name, made: write(saver, name, made[-1], [("c", 1)], "t-2")
    ),
    "writes with values of their own": Operation(
        _some,
        lambda store, saver, name, made: write(
            saver, name, made[-1], [("c", LONG + "c"), ("d", LONG + "d")], "t-2"
        ),
    ),
    "writes in a new namespace": Operation(
        _some,
        lambda store, saver, name, made: write(
            saver, name, EARLY, [("c", LONG + "c")], "t-2", namespace="sub:2"
        ),
    ),
    "writes before their checkpoint": Operation(
        _some, lambda store, saver, name, made: write(saver, name, EARLY, [("c", LONG)], "t-2")
    ),
    "a fork": Operation(
        _some,
        lambda store, saver, name, made: saver.fork_session(name, made[1], f"{name} fork"),  # type: ignore[attr-defined]
    ),
    "a fork with a request id": Operation(
        _some,
        lambda store, saver, name, made: saver.fork_session(  # type: ignore[attr-defined]
            name, made[2], f"{name} fork", request_id=f"request {name}"
        ),
    ),
    "a copy": Operation(
        _some, lambda store, saver, name, made: saver.copy_thread(name, f"{name} copy")
    ),
    "a deletion": Operation(_some, lambda store, saver, name, made: saver.delete_thread(name)),
    "a deletion under a fork": Operation(
        _forked, lambda store, saver, name, made: saver.delete_thread(name)
    ),
    "the deletion of a fork": Operation(
        _forked, lambda store, saver, name, made: saver.delete_thread(f"{name} fork")
    ),
    "pruning": Operation(_forked, lambda store, saver, name, made: saver.prune([name])),
    "a label": Operation(
        _some, lambda store, saver, name, made: store.label(name, made[1], "good")
    ),
    "detaching": Operation(_forked, lambda store, saver, name, made: store.detach(f"{name} fork")),
}


class Disturbed:
    """A store behind a proxy, and a look at the tables beside it."""

    def __init__(self, stack: ExitStack, server: Postgres) -> None:
        self.proxy = Proxy(server.uri)
        stack.callback(self.proxy.close)
        self.raw: psycopg.Connection[Any] = stack.enter_context(server.connect())
        self.raw.execute("SET search_path = disturbed")
        self.store = stack.enter_context(fp.open(self.proxy.url("disturbed")))
        self.saver = self.store.saver()
        # What is begun once for a database must not differ between the sessions that are compared.
        made = chain(self.saver, "first of all", 3)
        write(self.saver, "first of all", made[0], [("a", 1), ("b", 1)])
        write(self.saver, "first of all", made[0], [("c", 1), ("d", 1)], "t-2")

    def counts(self, name: str) -> tuple[int, ...]:
        """How many rows of each kind belong to a session, its forks and copies."""
        row = self.raw.execute(COUNTED, {"name": name}).fetchone()
        assert row is not None
        return tuple(row)


@pytest.fixture(scope="module")
def disturbed(postgres: Postgres) -> Iterator[Disturbed]:
    """One store for every test here: it must go on after each cut."""
    with ExitStack() as stack:
        yield Disturbed(stack, postgres)


def cut_everywhere(
    disturbed: Disturbed, which: str, moment: Moment, some: Callable[[int], Iterable[int]]
) -> None:
    """Do an operation once in peace, and then with a cut at some of its requests, one each time."""
    store, saver, proxy = disturbed.store, disturbed.saver, disturbed.proxy
    operation = OPERATIONS[which]
    name = f"{which}, {moment}, {uuid4()}"
    prepared = operation.prepare(store, saver, name)
    proxy.count()
    operation.act(store, saver, name, prepared)
    requests, expected = proxy.requests, disturbed.counts(name)
    for request in some(requests):
        name = f"{which}, {request} {moment}, {uuid4()}"
        prepared = operation.prepare(store, saver, name)
        proxy.cut(request, moment)
        operation.act(store, saver, name, prepared)
        proxy.count()
        assert disturbed.counts(name) == expected, f"after a cut of request {request}/{requests}"


def _spread(requests: int) -> list[int]:
    """The first requests of an operation, the last ones, and some between."""
    between = range(4, requests - 2, max(1, requests // 5))
    return [
        request
        for request in range(1, requests + 1)
        if request < 4 or request in between or request > requests - 3
    ]


@pytest.mark.parametrize("moment", get_args(Moment))
@pytest.mark.parametrize("which", OPERATIONS)
def test_what_was_cut_is_done_once(disturbed: Disturbed, which: str, moment: Moment) -> None:
    cut_everywhere(disturbed, which, moment, _spread)


@pytest.mark.soak
@pytest.mark.parametrize("moment", get_args(Moment))
@pytest.mark.parametrize("which", OPERATIONS)
def test_what_was_cut_at_any_moment_is_done_once(
    disturbed: Disturbed, which: str, moment: Moment
) -> None:
    cut_everywhere(disturbed, which, moment, lambda requests: range(1, requests + 3))


def test_writers_go_on_after_a_cut(disturbed: Disturbed) -> None:
    saver = disturbed.saver
    made = chain(saver, "goes on", 2)
    for number in range(20):
        disturbed.proxy.cut(1 + number % 3, "before it is answered")
        made.append(put(saver, "goes on", made[-1], {"n": number}, version=9 + number))
        write(saver, "goes on", made[-1], [("a", number)])
        found = head(saver, "goes on")
        assert found.checkpoint["id"] == made[-1]
        assert [value for _, _, value in found.pending_writes or []] == [number]


def test_nothing_is_wrong_after_all_that(disturbed: Disturbed) -> None:
    assert [found for found in disturbed.store.examine().findings if found.severity != "info"] == []
