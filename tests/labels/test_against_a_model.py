"""Labels through many forks, against dictionaries."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import ids, put

NAMES = ("a", "b", "c")


@dataclass
class Model:
    """A session's labels: its own, and under them those of the sessions it came from, each as it
    was when the next one was forked from it."""

    own: dict[str, str] = field(default_factory=dict)
    below: list[dict[str, str]] = field(default_factory=list)

    def seen(self, ids: set[str]) -> dict[str, str]:
        """What is seen by whoever sees some checkpoints."""
        found: dict[str, str] = {}
        for layer in (self.own, *self.below):
            for name, at in layer.items():
                if at in ids:
                    found.setdefault(name, at)
        return found

    def forked(self) -> Model:
        """What a fork begins with."""
        return Model({}, [dict(self.own), *self.below])


class Run:
    """One random run."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store = store
        self.saver = store.saver()
        self.chance = random.Random(seed)
        self.models: dict[str, Model] = {}
        self.made = 0

    def step(self) -> None:
        """Do one thing, and compare."""
        often = (self.put, self.put, self.fork, self.fork, self.fork, *(self.label,) * 5)
        deed = self.chance.choice(
            (*often, self.begin, self.unlabel, self.unlabel, self.delete, self.detach, self.copy)
        )
        if deed == self.begin or self.models:
            deed()
        for session, model in self.models.items():
            seen = set(ids(self.saver, session))
            found = {label.name: label for label in self.store.labels(session)}
            expected = model.seen(seen)
            assert {name: label.checkpoint_id for name, label in found.items()} == expected
            assert {name for name, label in found.items() if not label.inherited} == {
                name for name in expected if model.own.get(name) in seen
            }
            for name in NAMES:
                by_label = self.saver.get_tuple(
                    {"configurable": {"thread_id": session, "checkpoint_id": name}}
                )
                at = None if by_label is None else by_label.checkpoint["id"]
                assert at == (found[name].checkpoint_id if name in found else None)

    def _session(self) -> str:
        return self.chance.choice(sorted(self.models))

    def _new(self) -> str:
        self.made += 1
        return f"s{self.made}"

    def _somewhere(self, session: str) -> str:
        return self.chance.choice(ids(self.saver, session))

    def begin(self) -> None:
        if len(self.models) < 3:
            session = self._new()
            put(self.saver, session)
            self.models[session] = Model()

    def put(self) -> None:
        session = self._session()
        self.made += 1
        put(self.saver, session, self._somewhere(session), {"n": self.made}, version=self.made)

    def fork(self) -> None:
        if len(self.models) < 12:
            source, fork = self._session(), self._new()
            self.saver.fork_session(source, self._somewhere(source), fork)
            self.models[fork] = self.models[source].forked()

    def label(self) -> None:
        session, name = self._session(), self.chance.choice(NAMES)
        at = self._somewhere(session)
        own = self.models[session].own
        taken = own.get(name, at) != at and own[name] in ids(self.saver, session)
        if taken and self.chance.random() < 0.5:
            with pytest.raises(fp.ConflictError):
                self.store.label(session, at, name)
            return
        self.store.label(session, at, name, replace=True)
        own[name] = at

    def unlabel(self) -> None:
        session, name = self._session(), self.chance.choice(NAMES)
        if self.models[session].own.pop(name, None) is None:
            with pytest.raises(fp.LabelNotFoundError):
                self.store.unlabel(session, name)
        else:
            self.store.unlabel(session, name)

    def delete(self) -> None:
        session = self._session()
        self.store.delete(session)
        del self.models[session]

    def detach(self) -> None:
        self.store.detach(self._session())

    def copy(self) -> None:
        source, copy = self._session(), self._new()
        self.saver.copy_thread(source, copy)
        model = self.models[source]
        self.models[copy] = Model(dict(model.own), list(model.below))


@pytest.mark.parametrize("seed", range(6))
def test_labels_are_what_dictionaries_say(seed: int) -> None:
    with fp.open("sqlite:///:memory:") as store:
        run = Run(store, seed)
        for _ in range(80):
            run.step()
        diagnosis = store.examine()
        assert diagnosis.sound, diagnosis
