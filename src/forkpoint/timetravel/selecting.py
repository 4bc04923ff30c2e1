"""Which checkpoints and writes a fork takes along from a checkpointer that cannot fork by itself.

The rules, each of which keeps something that a plain copy loses:

- the fork point keeps its id, and of its writes only what has not been overtaken;
- ancestors go along as asked for, and the oldest of them is made to stand alone: its delta
  channels are stored whole, or the chain is followed down to where they are;
- a sub-namespace's checkpoint goes along iff the root checkpoint it ran under is a strict ancestor
  of the fork point, or the fork point itself while that has no child;
- a fork from inside a subgraph takes, in each namespace around it, the checkpoint under which it
  ran, without the writes of the task that leads to it.

Nothing here reads or writes: the functions work on an outline, one light row per checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph._internal._constants import INTERRUPT, NULL_TASK_ID, RESUME
from langgraph.checkpoint.base import CheckpointTuple, PendingWrite

from forkpoint.errors import InvalidArgumentError
from forkpoint.model import Ancestors, PendingPolicy
from forkpoint.timetravel.lineage import ROLE, parent_id


@dataclass(frozen=True, slots=True)
class Row:
    """A checkpoint without its values."""

    namespace: str
    id: str
    parent: str | None
    parents: Mapping[str, str]
    """LangGraph's map: namespace around this one -> the checkpoint there that it ran under."""
    source: str
    copied: bool
    """Whether an earlier fork brought it here."""


def row(saved: CheckpointTuple) -> Row:
    """The row of a checkpoint."""
    metadata: Mapping[str, Any] = dict(saved.metadata)
    return Row(
        namespace=saved.config["configurable"].get("checkpoint_ns", ""),
        id=saved.checkpoint["id"],
        parent=parent_id(saved),
        parents=metadata.get("parents") or {},
        source=str(metadata.get("source", "")),
        copied=ROLE in metadata,
    )


@dataclass(slots=True)
class Outline:
    """Every checkpoint of a thread, by namespace and id."""

    by_namespace: dict[str, dict[str, Row]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Outline:
        """The outline of a thread from its rows, in any order."""
        outline = cls()
        for each in rows:
            outline.by_namespace.setdefault(each.namespace, {})[each.id] = each
        return outline

    def has_child(self, namespace: str, checkpoint_id: str) -> bool:
        """Whether something follows a checkpoint in its namespace."""
        rows = self.by_namespace.get(namespace, {}).values()
        return any(each.parent == checkpoint_id for each in rows)

    def path(self, namespace: str, checkpoint_id: str) -> list[Row]:
        """A checkpoint and its ancestors, newest first, as far as they are stored."""
        rows = self.by_namespace.get(namespace, {})
        path: list[Row] = []
        here = rows.get(checkpoint_id)
        while here is not None:
            path.append(here)
            here = rows.get(here.parent) if here.parent else None
        return path

    @property
    def is_fork(self) -> bool:
        """Whether the thread's beginning was copied from elsewhere."""
        return any(each.copied for each in self.by_namespace.get("", {}).values())


@dataclass(frozen=True, slots=True)
class Inside:
    """A fork point inside a subgraph."""

    namespace: str
    checkpoint_id: str
    around: tuple[tuple[str, str], ...]
    """The namespaces around it, root first, each with the checkpoint it ran under."""

    @property
    def root(self) -> str:
        return self.around[0][1]

    def writes_before(
        self, namespace: str, checkpoint_id: str, writes: Sequence[PendingWrite] | None
    ) -> list[PendingWrite]:
        """The writes of a checkpoint that were made before the fork point was left.

        On the checkpoint that the fork point ran under, in each namespace around it, that is all
        but those of the task that leads inside, and answers addressed to nobody in particular.
        """
        if (namespace, checkpoint_id) == (self.namespace, self.checkpoint_id):
            return []
        if (namespace, checkpoint_id) not in self.around:
            return list(writes or ())
        task = self._task_in(namespace)
        if task is None:
            # A namespace that keeps its history does not name its task: what it did is not known.
            return []
        return [write for write in writes or () if write[0] not in (task, NULL_TASK_ID)]

    def _task_in(self, namespace: str) -> str | None:
        levels = [*(name for name, _ in self.around), self.namespace]
        inner = levels[levels.index(namespace) + 1]
        rest = inner.removeprefix(namespace).removeprefix("|")
        return rest.split("|")[0].partition(":")[2] or None


def inside(saved: CheckpointTuple, namespace: str) -> Inside:
    """Where a subgraph's checkpoint stands.

    Raises `InvalidArgumentError` when its metadata does not say under which root checkpoint it ran.
    """
    parents = row(saved).parents
    if "" not in parents:
        raise InvalidArgumentError(
            "namespace",
            f"checkpoint {saved.checkpoint['id']!r} of {namespace!r} does not record the root "
            "checkpoint it ran under, so the graph around it cannot be forked",
        )
    levels = sorted((name for name in parents if name != namespace), key=len)
    around = [(name, parents[name]) for name in levels if _leads_to(name, namespace)]
    return Inside(namespace, saved.checkpoint["id"], tuple(around))


def _leads_to(outer: str, inner: str) -> bool:
    return outer == "" or inner.startswith(f"{outer}|")


def resolved_policy(
    policy: PendingPolicy, superseded: bool, within: Inside | None
) -> PendingPolicy:
    """``auto`` made plain.

    Beside a subgraph that is forked from inside, finished siblings stay finished also in the past.
    """
    if policy != "auto" or not superseded:
        return policy
    return "reask" if within is None else "keep"


def carried_writes(
    writes: Sequence[PendingWrite] | None, policy: PendingPolicy
) -> list[PendingWrite]:
    """The writes of a fork point that go along, in their order."""
    kept = list(writes or ())
    if policy == "drop":
        return []
    if policy == "reask":
        return [write for write in kept if write[1] == INTERRUPT]
    if policy == "keep":
        return [write for write in kept if write[1] != RESUME]
    return kept


def ancestors_to_copy(path: Sequence[Row], wanted: Ancestors) -> int:
    """How many rows of `path` after its first (the fork point) are asked for."""
    available = len(path) - 1
    if wanted == "all":
        return available
    if wanted == "turn":
        for index, each in enumerate(path):
            if each.source == "input":
                return min(index + 1, available)
        return available
    return min(wanted, available)


def sub_checkpoints(outline: Outline, fork_point: str, superseded: bool) -> list[Row]:
    """The rows of sub-namespaces that belong to the state of a root checkpoint, oldest first."""
    root = outline.by_namespace.get("", {})
    allowed = {each.id for each in outline.path("", fork_point)}
    if superseded:
        allowed.discard(fork_point)
    chosen = []
    for namespace, rows in outline.by_namespace.items():
        if not namespace:
            continue
        for each in rows.values():
            under = each.parents.get("", "")
            # Root checkpoints that an earlier fork left behind are older than all it took along.
            left_behind = outline.is_fork and under not in root
            if under in allowed or left_behind:
                chosen.append(each)
    return sorted(chosen, key=lambda each: each.id)


def sub_checkpoints_inside(
    outline: Outline, within: Inside, superseded: bool, policy: PendingPolicy
) -> list[Row]:
    """The same for a fork point inside a subgraph."""
    ended = {
        each.id: namespace
        for namespace, top in (*within.around[1:], (within.namespace, within.checkpoint_id))
        for each in outline.path(namespace, top)
    }
    levels = {name for name, _ in within.around[1:]} | {within.namespace}
    inner_path = {each.id for each in outline.path(within.namespace, within.checkpoint_id)[1:]}
    chosen = []
    for each in sub_checkpoints(outline, within.root, superseded=False):
        if each.namespace in levels:
            if each.id in ended or each.parents.get("") != within.root:
                chosen.append(each)
        elif each.parents.get("") != within.root:
            chosen.append(each)
        elif _leads_to(within.namespace, each.namespace):
            if each.parents.get(within.namespace) in inner_path:
                chosen.append(each)
        elif _is_beside(each.namespace, levels) and not superseded and policy != "drop":
            chosen.append(each)
    return chosen


def _is_beside(namespace: str, levels: set[str]) -> bool:
    """Whether a namespace belongs to a sibling of the tasks that lead inside."""
    return not any(_leads_to(level, namespace) for level in levels)
