"""Collection under random histories, with writers at work in several threads and stores.

The saver's machine goes on as it does, and collections come in between and beside it. What is kept
is compared with the plain model, every reference is followed in the tables themselves, and after a
collection that had the database to itself nothing may be left that nobody refers to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test
from langgraph.checkpoint.base.id import uuid6

import forkpoint as fp
from tests.checkpoints import checkpoint, place
from tests.postgres import Postgres
from tests.properties.plain_model import Record, Thread
from tests.properties.test_saver_machine import CHECKS, LONG, SaverMachine
from tests.retention.reachability import read_tables, unneeded_rows, walk

policies = st.builds(
    fp.RetentionPolicy,
    keep_last=st.integers(1, 4),
    keep_fork_points=st.booleans(),
    keep_labelled=st.booleans(),
    keep_pending=st.booleans(),
)


class CollectionMachine(SaverMachine):
    """The saver's machine, and collections."""

    def __init__(self) -> None:
        super().__init__()
        #: By thread, the checkpoint that it was forked at: a row of its own, which counts as such.
        self.fork_points: dict[str, str] = {}
        #: Forks that no longer show what they inherit.
        self.alone: set[str] = set()

    @property
    def url(self) -> str:
        return f"sqlite:///{self.directory / 'agent.db'}"

    def _open(self) -> None:
        self.stores = [fp.open(self.url, **self.options) for _ in range(2)]
        self.savers = [store.saver(share_values=self.shared) for store in self.stores]

    # -- what the model does not know ---------------------------------------------------------

    @precondition(lambda self: self._has_roots() and len(self.model.threads) < 9)
    @rule(data=st.data(), pending=st.sampled_from(["auto", "auto", "reask", "keep", "drop"]))
    def fork(self, data: st.DataObject, pending: Any) -> None:
        """A fork, remembered with where it began."""
        before = set(self.model.threads)
        super().fork(data=data, pending=pending)  # type: ignore[misc]
        for name in set(self.model.threads) - before:
            first = next(
                record
                for record in self.model.threads[name].visible("")
                if record.id == self._origin(name)
            )
            self.fork_points[name] = first.id

    def _origin(self, name: str) -> str:
        origin = self.savers[0].origin(name)
        assert origin is not None
        return str(origin.checkpoint_id)

    @precondition(lambda self: self._has_roots() and len(self.model.threads) < 9)
    @rule(data=st.data())
    def copy_thread(self, data: st.DataObject) -> None:
        """A copy of a fork stands where the fork does."""
        before = set(self.model.threads)
        tables = read_tables(self.url)
        super().copy_thread(data=data)  # type: ignore[misc]
        for name in set(self.model.threads) - before:
            source = self._copied(tables)
            if source in self.fork_points:
                self.fork_points[name] = self.fork_points[source]
            if source in self.alone:
                self.alone.add(name)

    def _copied(self, before: dict[str, list[tuple[Any, ...]]]) -> str:
        """The source of the newest session: the one with the same checkpoints."""
        after = read_tables(self.url)
        known = {row[0] for row in before["session"]}
        [copy] = [row[0] for row in after["session"] if row[0] not in known]
        names = {row[0]: row[1] for row in after["session"] if row[3] == 0}
        threads = {row[0]: row[1] for row in after["thread"]}
        held: dict[int, set[tuple[Any, ...]]] = {}
        for thread, n, *_, body in after["checkpoint"]:
            held.setdefault(threads[thread], set()).add((n, body))
        same = {name for one, name in names.items() if held.get(one) == held[copy] and one != copy}
        # Two sessions that are equal in every row are equal here too.
        return min(same)

    @rule(data=st.data())
    @precondition(lambda self: self._has_roots())
    def prune(self, data: st.DataObject) -> None:
        """Pruning a fork ends what it inherits."""
        name = self._thread_with_roots(data)
        self._saver(data).prune([name], strategy="keep_latest")
        self.model.keep_latest(name)
        if name in self.fork_points:
            self.alone.add(name)

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data())
    def detach(self, data: st.DataObject) -> None:
        """A detached session is no fork any more."""
        name = self._thread_with_roots(data)
        self.stores[data.draw(st.integers(0, 1), label="store")].detach(name)
        self.model.detach(name)
        self.fork_points.pop(name, None)
        self.alone.discard(name)

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data(), name=st.sampled_from(["one", "two"]))
    def label(self, data: st.DataObject, name: str) -> None:
        """A name for a checkpoint that a session shows."""
        thread = self._thread_with_roots(data)
        record = self._record(data, self.model.threads[thread], "")
        store = self.stores[data.draw(st.integers(0, 1), label="store")]
        store.label(thread, record.id, name, replace=True)

    # -- collecting ---------------------------------------------------------------------------

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data(), policy=policies, everybody=st.booleans())
    def collect(self, data: st.DataObject, policy: fp.RetentionPolicy, everybody: bool) -> None:
        """A policy is applied to one session or all; the dry run had said what would go."""
        names = sorted(name for name, thread in self.model.threads.items() if thread.visible(""))
        if not everybody:
            names = [data.draw(st.sampled_from(names), label="thread")]
        expected = {name: self._outcome(name, policy) for name in names}
        store = self.stores[data.draw(st.integers(0, 1), label="store")]
        sessions = None if everybody else names
        foreseen = store.collect(policy, sessions=sessions, dry_run=True)
        done = store.collect(policy, sessions=sessions)
        assert (foreseen.sessions, foreseen.families) == (done.sessions, done.families)
        for hide in expected.values():
            hide()
        self._check_clean(store)

    @rule(data=st.data())
    def collect_garbage(self, data: st.DataObject) -> None:
        """Without a policy only what nobody needs goes."""
        self._check_clean(self.stores[data.draw(st.integers(0, 1), label="store")])

    @precondition(lambda self: len(self.model.threads) > 1)
    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        """A session goes with all that is only its own."""
        name = self._thread(data)
        store = self.stores[data.draw(st.integers(0, 1), label="store")]
        report = store.erase(name)
        assert report.gone or self.url.startswith("postgres")
        self.model.delete(name)
        self.early.pop(name, None)
        held = {item.session_id for item in report.held}
        assert held <= self.model.threads.keys()
        self._check_clean(store)

    @precondition(lambda self: self._has_roots())
    @rule(data=st.data(), policy=policies, steps=st.integers(1, 4))
    def collect_while_others_write(
        self, data: st.DataObject, policy: fp.RetentionPolicy, steps: int
    ) -> None:
        """Writers go on in threads of their own, on both stores, while two collections run."""
        names = [name for name, thread in self.model.threads.items() if thread.visible("")]
        writing = data.draw(
            st.lists(st.sampled_from(sorted(names)), min_size=1, max_size=3, unique=True)
        )
        left = [name for name in sorted(names) if name not in writing][:1]
        hides = [self._outcome(name, policy) for name in left]
        work: list[Callable[[], Any]] = []
        for number, name in enumerate(writing):
            thread = self.model.threads[name]
            made = self._planned_line(thread, steps)
            for parent, fresh, metadata in made:
                self.model.put(name, "", parent, fresh, metadata)
            saver = self.savers[number % 2]
            work.append(lambda saver=saver, name=name, made=made: _write(saver, name, made))
        work.append(lambda: self.stores[0].collect(policy, sessions=left))
        work.append(lambda: self.stores[1].collect())
        together(work)
        for hide in hides:
            hide()

    def _planned_line(self, thread: Thread, steps: int) -> list[tuple[Any, Any, Any]]:
        head = thread.head("")
        assert head is not None
        parent, values = head.id, dict(head.checkpoint["channel_values"])
        versions = dict(head.checkpoint["channel_versions"])
        made = []
        for _ in range(steps):
            self.version += 1
            values["items"] = [*values.get("items", []), LONG + str(self.version % 3)]
            values.pop("delta", None)
            versions["items"] = self.version
            fresh = checkpoint(values, str(uuid6(clock_seq=0)))
            fresh["channel_versions"] = dict(versions)
            fresh["versions_seen"] = {"node": dict(versions)}
            fresh["updated_channels"] = ["items"]
            metadata: dict[str, Any] = {"source": "loop", "step": 1, "parents": {}}
            if "delta" in versions:
                metadata["counters_since_delta_snapshot"] = {"delta": [1, 0]}
            made.append((parent, fresh, metadata))
            parent = fresh["id"]
        return made

    # -- what a policy does, by the model -----------------------------------------------------

    def _outcome(self, name: str, policy: fp.RetentionPolicy) -> Callable[[], None]:
        """What a policy is going to take from a thread, worked out before it does."""
        thread = self.model.threads[name]
        own = [record for record in thread.visible("") if self._is_own(name, record)]
        inherits = name in self.fork_points and name not in self.alone
        kept = {record.id for record in own[: policy.keep_last]}
        head = thread.head("")
        assert head is not None
        kept.add(head.id)
        labelled: set[str] = set()
        if policy.keep_labelled:
            labelled = {label.checkpoint_id for label in self.stores[0].labels(name)}
            kept |= labelled
        if policy.keep_fork_points:
            kept |= self._forked_at(name)
        if policy.keep_pending:
            kept |= self._waiting(thread, own)
        keep_inherited = inherits and (
            len(own) < (policy.keep_last or 0)
            or any(record.id in labelled for record in thread.visible("") if record not in own)
        )
        roots = {record.id for record in own} & kept
        hidden: list[Record] = []
        for record in thread.visible():
            if record.namespace == "":
                stays = record.id in roots if record in own else keep_inherited
            elif record is thread.head(record.namespace):
                stays = True
            elif record.inherited or self._has_inherited_root(name, thread, record):
                stays = keep_inherited
            else:
                stays = record.root in roots
            if not stays:
                hidden.append(record)

        def hide() -> None:
            for record in hidden:
                record.hidden = True
            if inherits and not keep_inherited:
                self.alone.add(name)

        return hide

    def _is_own(self, name: str, record: Record) -> bool:
        return not record.inherited or record.id == self.fork_points.get(name)

    def _has_inherited_root(self, name: str, thread: Thread, record: Record) -> bool:
        root = thread.records.get(("", record.root))
        return root is not None and not self._is_own(name, root)

    def _waiting(self, thread: Thread, own: list[Record]) -> set[str]:
        followed = {above.id for record in own for above in thread.ancestors(record.key)}
        return {
            record.id
            for record in own
            if record.id not in followed and thread.writes.get(record.key)
        }

    def _forked_at(self, name: str) -> set[str]:
        """Where live sessions stand on a thread, as the tables have it."""
        tables = read_tables(self.url)
        [session] = [row[0] for row in tables["session"] if row[1] == name and row[3] == 0]
        places = {
            (row[5], row[6]) for row in tables["session"] if row[4] == session and row[3] == 0
        }
        thread = self.model.threads[name]
        shown = {record.id for record in thread.visible("")}
        with self.stores[0]._driver.read() as db:
            found = {_text(db.one("identity", thread=t, n=n)[0]) for t, n in places}
        return found & shown

    # -- what must hold -----------------------------------------------------------------------

    def _check_clean(self, store: Any) -> None:
        report = store.collect()
        assert report.checkpoints == 0
        found = walk(self.url)
        assert found.missing == []
        assert found.waste == []
        if not self._replays():
            assert unneeded_rows(self.url) == []
        again = store.collect()
        assert (again.sessions, again.families) == ((), ())

    def _replays(self) -> bool:
        """Whether any thread has a delta channel, for which rows stay unseen."""
        return any(
            "delta" in record.checkpoint["channel_versions"]
            for thread in self.model.threads.values()
            for record in thread.records.values()
        )

    @invariant()
    def nothing_that_is_referred_to_is_missing(self) -> None:
        if self.stores:
            assert walk(self.url).missing == []

    def teardown(self) -> None:
        if self.stores:
            self._check_clean(self.stores[0])
            diagnosis = self.stores[0].examine()
            assert diagnosis.sound, diagnosis.findings
        super().teardown()


def _write(saver: Any, name: str, made: list[tuple[Any, Any, Any]]) -> None:
    for parent, fresh, metadata in made:
        versions = fresh["channel_versions"]
        saver.put(place(name, parent), fresh, metadata, {"items": versions["items"]})


def _text(cid: bytes) -> str:
    digits = bytes(cid)[1:].hex()
    assert cid[0] == 1
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def together(work: list[Callable[[], Any]]) -> None:
    """Run all at once, each in a thread; raise what the first that failed raised."""
    errors: list[BaseException] = []
    ready = threading.Barrier(len(work))

    def run(piece: Callable[[], Any]) -> None:
        try:
            ready.wait()
            piece()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(piece,)) for piece in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


TestCollection = CollectionMachine.TestCase
TestCollection.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=CHECKS
)


@pytest.mark.soak
class TestCollectionAtLength(CollectionMachine.TestCase):  # type: ignore[misc, name-defined]
    """The same, for long."""

    settings = settings(
        max_examples=1000, stateful_step_count=60, deadline=None, suppress_health_check=CHECKS
    )


@pytest.mark.parametrize(
    ("examples", "steps"), [(6, 20), pytest.param(150, 40, marks=pytest.mark.soak)]
)
def test_collection_on_postgres(postgres: Postgres, examples: int, steps: int) -> None:
    class OnPostgres(CollectionMachine):
        def __init__(self) -> None:
            super().__init__()
            self.place = postgres.url()

        @property
        def url(self) -> str:
            return self.place

    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        OnPostgres,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=CHECKS,
        ),
    )
