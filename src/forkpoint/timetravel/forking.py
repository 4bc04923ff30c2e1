"""Forking a session at a checkpoint: plan, validate, carry out, check.

The work has two halves. A `Draft` says what the fork will be: the fork point, whether the source
has gone on past it, which writes go along, and how the fork must read back. It is made from reads
alone, so `fork_plan` can show it, and everything that can be refused is refused on it. Then the
fork is made: by Forkpoint's own saver in one transaction, or by copying on any other.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from langgraph.checkpoint.base import Checkpoint, CheckpointTuple

from forkpoint.errors import (
    AmbiguousNodeError,
    ConflictError,
    DeltaHistoryError,
    DestinationNotEmptyError,
    ForkpointError,
    GraphChangedError,
    InvalidArgumentError,
    NotFoundError,
    UnknownNodeError,
)
from forkpoint.model import (
    CheckpointRef,
    Fork,
    Forkability,
    ForkOrigin,
    ForkPlan,
    Write,
)
from forkpoint.timetravel import copying, drafting, updating
from forkpoint.timetravel.copying import Expected, Item
from forkpoint.timetravel.drafting import Draft, Order
from forkpoint.timetravel.graphs import (
    ChannelBlueprint,
    GraphBlueprint,
    delta_gaps,
    hydrate,
    is_bookkeeping,
)
from forkpoint.timetravel.history import get_state
from forkpoint.timetravel.lineage import (
    ANCESTOR,
    ROLE,
    Lineage,
    find_lineage,
    origin_metadata,
    require,
)
from forkpoint.timetravel.requests import (
    Call,
    Native,
    Plan,
    delta_history,
    listed,
    read,
)
from forkpoint.timetravel.selecting import (
    Row,
    ancestors_to_copy,
    carried_writes,
    inside,
    resolved_policy,
    row,
    sub_checkpoints,
    sub_checkpoints_inside,
)
from forkpoint.timetravel.setup import Address, Setup

logger = logging.getLogger("forkpoint.timetravel")


@dataclass(frozen=True, slots=True)
class Selection:
    """The checkpoints to copy, oldest first and the fork point last."""

    items: tuple[Item, ...]
    namespaces: tuple[str, ...]
    delta_chain: int


def fork(setup: Setup, order: Order) -> Plan[Fork]:
    """Fork, or return the fork that the same request made before."""
    as_node = _node_of_patch(setup, order)
    destination = setup.address(order.destination_id)
    earlier = yield from _made_before(setup, order, destination)
    if earlier is not None:
        return earlier
    if setup.native:
        order = yield from _repeated(setup, order, destination)
        made = yield from _fork_natively(setup, order, destination, as_node)
    else:
        made = yield from _fork_by_copying(setup, order, destination, as_node)
    if made.created:
        if made.update is not None:
            yield from updating.store(destination, made.update)
        yield from _announce(setup, destination, made.origin)
    shown = yield from get_state(setup, destination, None)
    return Fork(destination.session_id, made.root, made.origin, shown, made.created)


def fork_plan(setup: Setup, order: Order) -> Plan[ForkPlan]:
    """What `fork` would do."""
    draft = yield from drafting.draft(setup, order)
    items, namespaces, chain, size = 1, _native_namespaces(draft), 0, None
    writes = len(draft.carried)
    if draft.outline is not None:
        selection = yield from _select(setup, order, draft, {})
        items, namespaces, chain = (
            len(selection.items),
            selection.namespaces,
            selection.delta_chain,
        )
        writes, size = yield from _weigh(setup, order.source, selection.items)
    return ForkPlan(
        source=CheckpointRef(order.source.session_id, draft.asked),
        destination=order.new_session_id,
        pending=draft.policy,
        superseded=draft.superseded,
        checkpoints=items,
        writes=writes,
        namespaces=namespaces,
        bytes=size,
        delta_chain=chain,
        interrupts=draft.expected.interrupts,
        rerun=draft.expected.next,
    )


def forkable(setup: Setup, address: Address, checkpoint_id: str) -> Plan[Forkability]:
    """Whether a checkpoint can be forked, and what would be lost."""
    order = Order(address, checkpoint_id, None)
    try:
        draft = yield from drafting.draft(setup, order)
        if draft.outline is not None:
            yield from _select(setup, order, draft, {})
    except (NotFoundError, DeltaHistoryError) as error:
        return Forkability("no", (str(error),))
    missing = setup.blueprint.missing(draft.checkpoint)
    if missing:
        reasons = tuple(
            f"node {node!r} has pending work and is not in the graph: it would not run"
            for node in missing
        )
        return Forkability("with_loss", reasons)
    return Forkability("yes")


def _node_of_patch(setup: Setup, order: Order) -> str | None:
    """The node a patch counts as, checked before anything is created."""
    if order.values is None:
        if order.as_node is not None:
            raise InvalidArgumentError("as_node", "is given without values to apply")
        return None
    updating.require_channels(setup, "fork(values=...)")
    blueprint = setup.blueprint
    assert isinstance(blueprint, (GraphBlueprint, ChannelBlueprint))
    nodes = blueprint.nodes
    if order.as_node is not None:
        known = blueprint.graph.nodes if isinstance(blueprint, GraphBlueprint) else nodes
        if known and order.as_node not in known:
            raise UnknownNodeError(
                "as_node", f"the graph has no node {order.as_node!r}; it has {sorted(nodes)}"
            )
        return order.as_node
    if len(nodes) == 1:
        return nodes[0]
    if not nodes and isinstance(blueprint, ChannelBlueprint):
        # Without nodes there is nothing to count as: the values name their channels.
        return "values"
    raise AmbiguousNodeError(
        "as_node", f"say which node the values count as; the graph has {sorted(nodes)}"
    )


def _made_before(setup: Setup, order: Order, destination: Address) -> Plan[Fork | None]:
    if order.request_id is None or setup.native:
        return None
    lineage = yield from find_lineage(setup, destination.thread_id)
    if lineage is None or lineage.request_id != order.request_id:
        return None
    asked = lineage.inner_checkpoint or lineage.origin.checkpoint_id
    other_source = lineage.source.thread_id != order.source.thread_id
    if other_source or order.checkpoint_id not in (None, asked):
        raise ConflictError(
            f"request {order.request_id!r} already made session {destination.session_id!r} from "
            f"checkpoint {asked!r} of session {lineage.origin.session_id!r}; a different fork "
            "needs a request id of its own"
        )
    shown = yield from get_state(setup, destination, None)
    return Fork(destination.session_id, lineage.fork_point, lineage.origin, shown, created=False)


def _repeated(setup: Setup, order: Order, destination: Address) -> Plan[Order]:
    """`order`, naming the checkpoint that an earlier call with its request id took for the head."""
    whole = order.checkpoint_id is None and not order.source.namespace
    if order.request_id is None or not setup.native or not whole:
        return order
    lineage = yield from find_lineage(setup, destination.thread_id)
    if lineage is None or lineage.source.thread_id != order.source.thread_id:
        return order
    return replace(order, checkpoint_id=lineage.origin.checkpoint_id)


def _native_namespaces(draft: Draft) -> tuple[str, ...]:
    if draft.within is None:
        return ()
    return (*(name for name, _ in draft.within.around[1:]), draft.within.namespace)


def _refuse_changed_graph(setup: Setup, source: Address, checkpoint: Checkpoint) -> None:
    missing = setup.blueprint.missing(checkpoint)
    if missing:
        raise GraphChangedError(
            f"checkpoint {checkpoint['id']!r} of session {source.session_id!r} has pending "
            f"work for {list(missing)}, which the graph does not have: it would be dropped. "
            "Add the nodes back, or fork with TimeTravel(checkpointer) to take the checkpoint as "
            "it is"
        )


def _prepared_patch(
    setup: Setup, order: Order, draft: Draft, as_node: str | None
) -> Plan[updating.Update | None]:
    if as_node is None:
        return None
    saved = yield from read(order.source.thread_id, draft.root)
    if saved is None:
        raise ConflictError(f"checkpoint {draft.root!r} was deleted while it was forked")
    saved = saved._replace(pending_writes=list(draft.carried))
    steps = [[Write(as_node, order.values)]]
    try:
        return (yield from updating.prepare(setup, saved, steps, source="update", above=draft.root))
    except InvalidArgumentError as error:
        problem = str(error).partition(": ")[2]
        raise InvalidArgumentError("values", problem) from error


@dataclass(frozen=True, slots=True)
class _Made:
    """A fork that is stored and has been checked, its patch not applied yet."""

    root: str
    origin: ForkOrigin
    created: bool
    update: updating.Update | None


def _fork_natively(
    setup: Setup, order: Order, destination: Address, as_node: str | None
) -> Plan[_Made]:
    """Fork on Forkpoint's own store: one read of the source, one transaction, one read back."""
    asked = yield from require(setup, order.source, order.checkpoint_id)
    within = inside(asked, order.source.namespace) if order.source.namespace else None
    saved = asked
    if within is not None:
        root_address = Address(order.source.session_id, order.source.thread_id)
        saved = yield from require(setup, root_address, within.root)
    _refuse_changed_graph(setup, order.source, saved.checkpoint)
    update = None
    if as_node is not None:
        draft = yield from drafting.draft(setup, order)
        update = yield from _prepared_patch(setup, order, draft, as_node)
    outcome = yield Native(
        "fork_session",
        (order.source.thread_id, asked.checkpoint["id"], destination.thread_id),
        {
            "pending": order.pending,
            "namespace": order.source.namespace,
            "by": order.by,
            "reason": order.reason,
            "request_id": order.request_id,
        },
    )
    found: ForkOrigin = outcome.origin
    origin = replace(found, session_id=order.source.session_id)
    if outcome.created:
        carried = None
        if within is None:
            policy = resolved_policy(order.pending, outcome.superseded, None)
            carried = carried_writes(tuple(saved.pending_writes or ()), policy)
        # Values are the source's by reference: there is no second copy that could differ.
        yield from copying.verify_shape(destination, saved.checkpoint, carried)
    return _Made(saved.checkpoint["id"], origin, bool(outcome.created), update)


def _fork_by_copying(
    setup: Setup, order: Order, destination: Address, as_node: str | None
) -> Plan[_Made]:
    draft = yield from drafting.draft(setup, order)
    _refuse_changed_graph(setup, order.source, draft.checkpoint)
    update = yield from _prepared_patch(setup, order, draft, as_node)
    yield from _refuse_occupied(destination)
    origin = ForkOrigin(
        session_id=order.source.session_id,
        checkpoint_id=draft.root,
        at=datetime.now(UTC).isoformat(),
        by=order.by,
        reason=order.reason,
        run_id=_text_or_none(draft.metadata.get("run_id")),
    )
    lineage = Lineage(
        origin,
        Address(order.source.session_id, order.source.thread_id),
        draft.root,
        order.request_id,
        draft.asked if draft.within is not None else None,
    )
    selection = yield from _select(setup, order, draft, origin_metadata(lineage))
    yield from _refuse_running_source(order.source, draft)
    yield from copying.copy(order.source, destination, selection.items, order.progress)
    yield from _verify(setup, destination, draft)
    return _Made(draft.root, origin, True, update)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _refuse_occupied(destination: Address) -> Plan[None]:
    found = yield from listed(destination.thread_id, row, namespace=None, limit=1)
    if found:
        raise DestinationNotEmptyError(
            f"session {destination.session_id!r} already has checkpoints (such as "
            f"{found[0].id!r}); it was left as it is. Fork into a new session"
        )


def _refuse_running_source(source: Address, draft: Draft) -> Plan[None]:
    saved = yield from read(source.thread_id, draft.root)
    now = [write[:2] for write in (saved.pending_writes or ())] if saved is not None else None
    if now != [write[:2] for write in draft.stored]:
        raise ConflictError(
            f"session {source.session_id!r} changed while checkpoint {draft.root!r} was read for a "
            "fork: it is running. Nothing was written; fork again when it has stopped"
        )


def _select(
    setup: Setup, order: Order, draft: Draft, metadata: Mapping[str, Any]
) -> Plan[Selection]:
    """The checkpoints to copy."""
    outline = draft.outline
    assert outline is not None
    path = outline.path("", draft.root)
    depth = ancestors_to_copy(path, order.ancestors)
    depth, chain, snapshots = yield from _stand_alone(setup, order.source, path, depth)
    if draft.within is None:
        subs = sub_checkpoints(outline, draft.root, draft.superseded)
    else:
        subs = sub_checkpoints_inside(outline, draft.within, draft.superseded, draft.policy)
    items = [_sub_item(each, draft, subs) for each in subs]
    taken = path[: depth + 1]
    for position in range(depth, 0, -1):
        each = taken[position]
        items.append(
            Item(
                namespace="",
                checkpoint_id=each.id,
                parent_id=None if position == depth else each.parent,
                snapshots=snapshots if position == depth else {},
                metadata={ROLE: ANCESTOR},
            )
        )
    items.append(
        Item(
            namespace="",
            checkpoint_id=draft.root,
            parent_id=taken[0].parent if depth else None,
            writes=draft.carried,
            snapshots=snapshots if depth == 0 else {},
            metadata=metadata,
            task_paths=draft.expected.paths,
        )
    )
    names = tuple(dict.fromkeys(each.namespace for each in subs))
    return Selection(tuple(items), names, chain)


def _sub_item(each: Row, draft: Draft, subs: Sequence[Row]) -> Item:
    """A sub-namespace's checkpoint; inside a subgraph fork, cut where the fork point is."""
    present = {(other.namespace, other.id) for other in subs}
    parent = each.parent if (each.namespace, each.parent) in present else None
    return Item(each.namespace, each.id, parent, within=draft.within)


def _stand_alone(
    setup: Setup, source: Address, path: Sequence[Row], depth: int
) -> Plan[tuple[int, int, dict[str, Any]]]:
    """How deep to copy so that delta channels can be rebuilt: depth, chain length, snapshots.

    The oldest checkpoint that is copied must hold its delta channels whole. With known channels
    they are stored there; otherwise the copy is taken down to where they are stored, or began.
    """
    oldest = yield from read(source.thread_id, path[depth].id)
    if oldest is None:
        raise ConflictError(f"checkpoint {path[depth].id!r} was deleted while it was read")
    if setup.blueprint.knows_channels:
        specs = setup.blueprint.specs()
        gaps = delta_gaps(specs, oldest.checkpoint)
    else:
        specs = {}
        gaps = _possible_gaps(oldest)
    if not gaps:
        return depth, 0, {}
    histories = yield from delta_history(oldest.config, gaps)
    reaches_beginning = path[-1].parent is None
    lost = [name for name in gaps if "seed" not in histories[name] and not reaches_beginning]
    if lost:
        raise DeltaHistoryError(
            f"channels {lost} of session {source.session_id!r} cannot be rebuilt at checkpoint "
            f"{oldest.checkpoint['id']!r}: their chain of writes ends at {path[-1].id!r}, whose "
            f"parent {path[-1].parent!r} is gone"
        )
    if specs:
        channels = hydrate(specs, oldest.checkpoint, histories)
        return depth, 0, {name: channels[name].get() for name in gaps}
    remaining = set(gaps)
    end = depth
    while remaining and end + 1 < len(path):
        end += 1
        ancestor = yield from read(source.thread_id, path[end].id)
        if ancestor is not None:
            remaining -= ancestor.checkpoint["channel_values"].keys()
    return end, end - depth, {}


def _possible_gaps(saved: CheckpointTuple) -> list[str]:
    """Channels that may be delta channels, judged by the checkpoint alone.

    LangGraph counts the supersteps since each delta channel was stored whole.
    """
    metadata: Mapping[str, Any] = dict(saved.metadata)
    counted = metadata.get("counters_since_delta_snapshot") or {}
    return [
        name
        for name in counted
        if name in saved.checkpoint["channel_versions"]
        and name not in saved.checkpoint["channel_values"]
        and not is_bookkeeping(name)
    ]


def _weigh(setup: Setup, source: Address, items: Sequence[Item]) -> Plan[tuple[int, int | None]]:
    """How many writes a copy stores, and about how many bytes."""
    writes, size = 0, 0
    for item in items:
        saved = yield from read(source.thread_id, item.checkpoint_id, item.namespace)
        if saved is None:
            continue
        stored = item.writes_of(saved)
        writes += len(stored)
        try:
            size += len(setup.saver.serde.dumps_typed(saved.checkpoint)[1])
            size += sum(len(setup.saver.serde.dumps_typed(write[2])[1]) for write in stored)
        except Exception:  # a size is best effort; the fork itself reports what cannot be stored
            logger.debug("the size of a fork is unknown", exc_info=True)
            return writes, None
    return writes, size


def _verify(setup: Setup, destination: Address, draft: Draft) -> Plan[None]:
    expected = Expected(
        versions=draft.checkpoint["channel_versions"],
        stored=draft.checkpoint["channel_values"],
        writes=draft.carried,
        reading=draft.expected,
    )
    yield from copying.verify(setup, destination, draft.root, expected)


def _announce(setup: Setup, destination: Address, origin: ForkOrigin) -> Plan[None]:
    if setup.create_forked_session is None:
        return
    try:
        yield Call(setup.create_forked_session, (destination.session_id, origin))
    except Exception as error:  # the fork is stored and stands, whatever its announcement does
        logger.warning(
            "create_forked_session failed for session %r, forked from %r; the fork stands: %s",
            destination.session_id,
            origin.session_id,
            error,
            exc_info=not isinstance(error, ForkpointError),
        )
