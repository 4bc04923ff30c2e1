"""A database with everything in it that a store can hold."""

from __future__ import annotations

from typing import Any

from langgraph.types import Command

from forkpoint.store import Store
from tests.checkpoints import Saver, chain, head, place, put, write
from tests.langgraph.graphs import delta
from tests.traps.conversations import Runs, head_id, history, id_of, on, remembering, two_levels

LONG = "a long text that is worth a row of its own " * 4


def plain(saver: Saver, thread: str, length: int) -> list[str]:
    """A run of checkpoints with values that are stored as such; their ids."""
    made: list[str] = []
    for number in range(length):
        items = [f"{LONG}{index}" for index in range(number + 1)]
        values = {"items": items, "note": f"{LONG} note {number}", "same": LONG}
        parent = made[-1] if made else None
        made.append(put(saver, thread, parent, values, version=number + 1, who=f"u{number % 3}"))
    write(saver, thread, made[-1], [("items", [LONG]), ("answer", 1)])
    return made


def everything(store: Store) -> None:
    """Sessions of every kind, forked, pruned, deleted, copied, labelled, and left in mid-write."""
    _lists_and_branches(store)
    _subgraphs(store)
    _deltas(store)
    _late_comers(store)


def _lists_and_branches(store: Store) -> None:
    saver = store.saver()
    ids = plain(saver, "talk", 12)
    branch = put(saver, "talk", ids[4], {"items": [LONG, "other"]}, version=20)
    put(saver, "talk", branch, {"items": [LONG, "other", "more"]}, version=21)
    store.label("talk", ids[2], "good")
    store.label("talk", branch, "other")
    store.label("talk", branch, "moved")
    source, at = "talk", ids[9]
    for number in range(4):
        fork = f"fork {number}"
        saver.fork_session(source, at, fork)
        write(saver, fork, at, [("note", LONG)])
        at = put(saver, fork, at, {"items": [LONG, fork]}, version=30 + number)
        store.label(fork, at, "own")
        source = fork
    saver.fork_session("fork 3", ids[3], "low")
    store.label("talk", ids[5], "moved", replace=True)
    store.unlabel("talk", "other")
    saver.copy_thread("fork 1", "copy")
    saver.delete_thread("fork 1")
    saver.prune(["fork 2"])
    saver.delete_for_runs(["nobody"])
    plain(saver, "gone", 3)
    saver.delete_thread("gone")
    plain(saver, "gone", 2)
    pruned = plain(saver, "pruned", 6)
    saver.fork_session("pruned", pruned[3], "of pruned")
    saver.prune(["pruned"])
    put(saver, "pruned", pruned[-1], {"items": [LONG]}, version=40)
    ran = chain(saver, "runs", 2, run_id="r1")
    put(saver, "runs", ran[-1], {"items": ["kept"]}, version=9, run_id="r2")
    put(saver, "runs", head(saver, "runs").checkpoint["id"], {"a": 1}, version=9, run_id="r3")
    saver.delete_for_runs(["r1", "r3"])


def _subgraphs(store: Store) -> None:
    saver = store.saver()
    graph = two_levels(saver, Runs())
    graph.invoke({"log": ["please"]}, on("nested"))
    saver.fork_session("nested", head_id(graph, "nested"), "nested fork")
    graph.invoke(Command(resume="yes"), on("nested"))
    graph.invoke(Command(resume="no"), on("nested fork"))
    for number, snapshot in enumerate(history(graph, "nested")):
        saver.fork_session("nested", id_of(snapshot), f"nested {number}")
    saver.prune(["nested"])
    saver.delete_thread("nested 1")
    memory = remembering(saver)
    for word in ("one", "two", "three"):
        memory.invoke({"word": word}, on("memory"))
    saver.fork_session("memory", id_of(history(memory, "memory")[2]), "memory fork")
    memory.invoke({"word": "other"}, on("memory fork"))
    saver.prune(["memory fork"])
    memory.invoke({"word": "after"}, on("memory fork"))


def _deltas(store: Store) -> None:
    saver = store.saver()
    graph = delta(3)(saver)
    for number in range(5):
        _turn(graph, "delta", f"turn {number}")
    points = history(graph, "delta")
    for number in (2, 7, 12):
        saver.fork_session("delta", id_of(points[number]), f"delta {number}")
        _turn(graph, f"delta {number}", "forked")
    saver.prune(["delta"])
    _turn(graph, "delta", "after")
    saver.prune(["delta 7"])
    _turn(graph, "delta 7", "after")


def _turn(graph: Any, thread: str, word: str) -> None:
    graph.invoke({"log": [word], "other": [], "plain": []}, on(thread))


def _late_comers(store: Store) -> None:
    """Writes before their checkpoint, and a subgraph's checkpoint before its root."""
    saver = store.saver()
    first = put(saver, "late")
    write(saver, "late", "1ef4f797-8335-6428-8001-8a1503f9b875", [("a", LONG)])
    put(saver, "late", namespace="sub:1", parents={"": "1ef4f797-8335-6428-8001-8a1503f9b876"})
    saver.fork_session("late", first, "late fork")
    second = put(saver, "late fork", first, version=2)
    saver.fork_session("late fork", second, "late fork fork")
    write(saver, "late fork fork", first, [("b", LONG)])
    assert saver.get_tuple(place("late fork fork", first)) is not None
