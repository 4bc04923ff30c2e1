"""`TimeTravel`: looking at, comparing, updating and forking the checkpoints of a session.

Every method exists twice, ``get_state`` and ``aget_state``, with the same arguments, results and
errors: the algorithms are written once, as plans, and each face hands its plan to a driver. What
the methods have in common:

- a session without checkpoints raises `NoCheckpointError`, an id that is not one of its checkpoints
  raises `CheckpointNotFoundError`, an argument of a wrong type or range raises
  `InvalidArgumentError` naming it;
- a checkpointer that lives on an event loop (AsyncSqliteSaver, AsyncPostgresSaver) has the ``a``
  methods only, the others raise `CapabilityError`; a checkpointer without async methods
  (SqliteSaver, PostgresSaver) has both, its work is done in a worker thread.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from langgraph.channels.base import BaseChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel

from forkpoint.errors import CapabilityError, InvalidArgumentError
from forkpoint.model import (
    Ancestors,
    CheckpointRef,
    Comparison,
    Fork,
    Forkability,
    ForkOrigin,
    ForkPlan,
    PendingPolicy,
    StateSnapshot,
    TimelineEntry,
    Write,
)
from forkpoint.saver import ForkpointSaver
from forkpoint.timetravel import (
    comparing,
    forking,
    history,
    lineage,
    searching,
    timeline,
    updating,
    validation,
)
from forkpoint.timetravel.drafting import Order
from forkpoint.timetravel.drivers import AsyncDriver, SyncDriver
from forkpoint.timetravel.graphs import (
    BareBlueprint,
    Blueprint,
    ChannelBlueprint,
    GraphBlueprint,
)
from forkpoint.timetravel.requests import Plan
from forkpoint.timetravel.setup import Address, CreateForkedSession, Setup

CreateChannels = Callable[[], Mapping[str, BaseChannel[Any, Any, Any]]]


class TimeTravel:
    """Time travel over the sessions in a checkpointer.

    Constructed in one of three ways:

    - ``TimeTravel(graph)``: a compiled graph with a checkpointer. `next`, tasks, interrupts and
      values are what the graph's own ``get_state`` says; patches follow its edges.
    - ``TimeTravel(checkpointer, create_channels, node_subscriptions={})``: channels made by a
      function that returns fresh ones by name, and which channels each node subscribes to.
    - ``TimeTravel(checkpointer)``: values as they are stored; nothing that needs a reducer.

    Args:
        create_forked_session: Called with ``(session_id, origin)`` after a fork is stored. If it
            raises, that is logged as a warning and the fork stands. May be a coroutine function for
            the ``a`` methods.
        thread_id: The thread id of a session id. By default they are the same.
        session_id: The inverse of `thread_id`. Only needed with Forkpoint's own store and a
            `thread_id` function, to name the sessions that forks came from.

    Raises:
        CapabilityError: The graph has no checkpointer.
        InvalidArgumentError: An argument is of the wrong kind.

    >>> from langgraph.checkpoint.memory import InMemorySaver
    >>> from langgraph.graph import START, MessagesState, StateGraph
    >>> def agent(state):
    ...     return {"messages": [("ai", "hello")]}
    >>> builder = StateGraph(MessagesState).add_node(agent).add_edge(START, "agent")
    >>> graph = builder.compile(checkpointer=InMemorySaver())
    >>> config = {"configurable": {"thread_id": "s1"}}
    >>> _ = graph.invoke({"messages": [("user", "hi")]}, config)
    >>> tt = TimeTravel(graph)
    >>> len(tt.get_state("s1").values["messages"])
    2
    >>> fork = tt.fork("s1", new_session_id="s2")
    >>> tt.get_state("s2").metadata.forked_from.session_id
    's1'
    """

    def __init__(
        self,
        graph_or_checkpointer: Pregel[Any, Any, Any, Any] | BaseCheckpointSaver[Any],
        create_channels: CreateChannels | None = None,
        node_subscriptions: Mapping[str, Sequence[str]] | None = None,
        create_forked_session: CreateForkedSession | None = None,
        *,
        thread_id: Callable[[str], str] | None = None,
        session_id: Callable[[str], str] | None = None,
    ) -> None:
        saver, blueprint = _described(graph_or_checkpointer, create_channels, node_subscriptions)
        self._setup = Setup(
            saver=saver,
            blueprint=blueprint,
            native=_is_native(saver),
            create_forked_session=validation.optional_function(
                "create_forked_session", create_forked_session
            ),
            thread_of=validation.optional_function("thread_id", thread_id),
            session_of=validation.optional_function("session_id", session_id),
        )
        self._sync = SyncDriver(saver)
        self._async = AsyncDriver(saver)

    @property
    def checkpointer(self) -> BaseCheckpointSaver[Any]:
        """The checkpointer that is travelled over."""
        return self._setup.saver

    # Reading

    def get_state(self, session_id: str, checkpoint_id: str | None = None) -> StateSnapshot:
        """The session's head as it is now, or a checkpoint of it as it was.

        Without an id, tasks that have finished are applied to the values and only what is left
        to do is in `next`; with an id (also the head's) the snapshot is a record: the values before
        the superstep and all of its tasks. LangGraph's ``get_state`` makes the same difference.
        """
        return self._sync.run(self._get_state(session_id, checkpoint_id))

    async def aget_state(self, session_id: str, checkpoint_id: str | None = None) -> StateSnapshot:
        """`get_state`, on an event loop."""
        return await self._async.run(self._get_state(session_id, checkpoint_id))

    def _get_state(self, session_id: str, checkpoint_id: str | None) -> Plan[StateSnapshot]:
        wanted = validation.optional_identifier("checkpoint_id", checkpoint_id)
        return history.get_state(self._setup, self._address(session_id), wanted)

    def get_state_history(
        self,
        session_id: str,
        limit: int = 50,
        before: str | None = None,
        source: str | None = None,
        across_forks: bool = False,
    ) -> Iterator[StateSnapshot]:
        """The session's own checkpoints, newest first.

        Args:
            session_id: The session.
            limit: At most this many; 0 gives none.
            before: A checkpoint id; only what is older is given.
            source: A `metadata.source`, or the name of the node that wrote the checkpoint.
            across_forks: Go on past the fork point into the sessions this one was forked from.

        Arguments are checked at once, everything is read while iterating; nothing is held in the
        checkpointer between two items.
        """
        plan = self._get_state_history(session_id, limit, before, source, across_forks)
        return self._sync.stream(plan)

    def aget_state_history(
        self,
        session_id: str,
        limit: int = 50,
        before: str | None = None,
        source: str | None = None,
        across_forks: bool = False,
    ) -> AsyncIterator[StateSnapshot]:
        """`get_state_history`, to be iterated with ``async for``."""
        plan = self._get_state_history(session_id, limit, before, source, across_forks)
        return self._async.stream(plan)

    def _get_state_history(
        self,
        session_id: str,
        limit: int,
        before: str | None,
        source: str | None,
        across_forks: bool,
    ) -> Plan[None]:
        return history.get_history(
            self._setup,
            self._address(session_id),
            validation.limit("limit", limit),
            validation.optional_identifier("before", before),
            validation.optional_identifier("source", source),
            validation.flag("across_forks", across_forks),
        )

    def get_timeline(
        self,
        session_id: str,
        limit: int = 50,
        before: str | None = None,
        source: str | None = None,
    ) -> list[TimelineEntry]:
        """The session's history without values, newest first.

        The arguments are those of `get_state_history`. Ancestors that a fork inherited, or took
        along as copies, are included and marked `inherited`.
        """
        return self._sync.run(self._get_timeline(session_id, limit, before, source))

    async def aget_timeline(
        self,
        session_id: str,
        limit: int = 50,
        before: str | None = None,
        source: str | None = None,
    ) -> list[TimelineEntry]:
        """`get_timeline`, on an event loop."""
        return await self._async.run(self._get_timeline(session_id, limit, before, source))

    def _get_timeline(
        self, session_id: str, limit: int, before: str | None, source: str | None
    ) -> Plan[list[TimelineEntry]]:
        return timeline.get_timeline(
            self._setup,
            self._address(session_id),
            validation.limit("limit", limit),
            validation.optional_identifier("before", before),
            validation.optional_identifier("source", source),
        )

    def origin(self, session_id: str) -> ForkOrigin | None:
        """Where a session was forked from; None when it is not a fork."""
        return self._sync.run(self._origin(session_id))

    async def aorigin(self, session_id: str) -> ForkOrigin | None:
        """`origin`, on an event loop."""
        return await self._async.run(self._origin(session_id))

    def _origin(self, session_id: str) -> Plan[ForkOrigin | None]:
        return lineage.origin_of(self._setup, self._address(session_id))

    # Finding

    def find_checkpoint(
        self,
        session_id: str,
        *,
        message_id: str | None = None,
        before_message: str | None = None,
        turn: int | None = None,
        side: Literal["after", "before"] = "after",
    ) -> CheckpointRef:
        """The checkpoint of a message or a turn. Exactly one of the three must be given.

        Args:
            session_id: The session; what is looked at is the path to its head, across forks.
            message_id: The first checkpoint that holds the message.
            before_message: The last checkpoint before the message was said. For a user's message
                that is before the input that brought it: fork there to say something else.
            turn: The checkpoint at the end of turn n, counted from 1; a turn begins with an input.
            side: With `turn` or `message_id`, ``"before"`` gives the checkpoint before it.

        Raises:
            CheckpointNotFoundError: No checkpoint on the path has the message, or there are fewer
                turns.

        >>> from langgraph.checkpoint.memory import InMemorySaver
        >>> from langgraph.graph import START, MessagesState, StateGraph
        >>> def agent(state):
        ...     return {"messages": [("ai", "hello")]}
        >>> builder = StateGraph(MessagesState).add_node(agent).add_edge(START, "agent")
        >>> graph = builder.compile(checkpointer=InMemorySaver())
        >>> config = {"configurable": {"thread_id": "s1"}}
        >>> for text in ("one", "two"):
        ...     _ = graph.invoke({"messages": [("user", text)]}, config)
        >>> tt = TimeTravel(graph)
        >>> end_of_first = tt.find_checkpoint("s1", turn=1)
        >>> end_of_first == tt.find_checkpoint("s1", turn=2, side="before")
        True
        """
        return self._sync.run(
            self._find_checkpoint(session_id, message_id, before_message, turn, side)
        )

    async def afind_checkpoint(
        self,
        session_id: str,
        *,
        message_id: str | None = None,
        before_message: str | None = None,
        turn: int | None = None,
        side: Literal["after", "before"] = "after",
    ) -> CheckpointRef:
        """`find_checkpoint`, on an event loop."""
        return await self._async.run(
            self._find_checkpoint(session_id, message_id, before_message, turn, side)
        )

    def _find_checkpoint(
        self,
        session_id: str,
        message_id: str | None,
        before_message: str | None,
        turn: int | None,
        side: Literal["after", "before"],
    ) -> Plan[CheckpointRef]:
        address = self._address(session_id)
        given = [
            name
            for name, value in (
                ("message_id", message_id),
                ("before_message", before_message),
                ("turn", turn),
            )
            if value is not None
        ]
        if len(given) != 1:
            raise InvalidArgumentError(
                given[-1] if given else "message_id",
                "give exactly one of message_id, before_message and turn",
            )
        if side not in ("after", "before"):
            raise InvalidArgumentError("side", f"expected 'after' or 'before', got {side!r}")
        if turn is not None:
            number = validation.positive("turn", turn)
            return searching.find_turn(self._setup, address, number, side)
        if before_message is not None:
            message_id, side = before_message, "before"
        wanted = validation.identifier(given[0], message_id)
        return searching.find_message(self._setup, address, wanted, side)

    def bisect(
        self, session_id: str, predicate: Callable[[StateSnapshot], Any]
    ) -> StateSnapshot | None:
        """The first checkpoint on the path to the head at which `predicate` holds.

        Found by halving, so the predicate must not become false again once it holds; about log2 of
        the path's length states are read. None when it does not hold at the head.
        """
        return self._sync.run(self._bisect(session_id, predicate))

    async def abisect(
        self, session_id: str, predicate: Callable[[StateSnapshot], Any]
    ) -> StateSnapshot | None:
        """`bisect`, on an event loop; `predicate` may be a coroutine function."""
        return await self._async.run(self._bisect(session_id, predicate))

    def _bisect(
        self, session_id: str, predicate: Callable[[StateSnapshot], Any]
    ) -> Plan[StateSnapshot | None]:
        return searching.bisect(
            self._setup, self._address(session_id), validation.function("predicate", predicate)
        )

    def compare(self, before: CheckpointRef, after: CheckpointRef) -> Comparison:
        """What lies between two checkpoints, of one session or of two.

        Channels are compared by value, lists of messages aligned by message id; the last common
        ancestor is found across forks. `format_comparison` gives the result as text.
        """
        return self._sync.run(self._compare(before, after))

    async def acompare(self, before: CheckpointRef, after: CheckpointRef) -> Comparison:
        """`compare`, on an event loop."""
        return await self._async.run(self._compare(before, after))

    def _compare(self, before: CheckpointRef, after: CheckpointRef) -> Plan[Comparison]:
        return comparing.compare(
            self._setup,
            validation.reference("before", before),
            validation.reference("after", after),
        )

    # Writing

    def bulk_update_state(
        self,
        session_id: str,
        supersteps: Sequence[Sequence[Write]],
        checkpoint_id: str | None = None,
    ) -> StateSnapshot:
        """Write state as if nodes had returned it, and store one checkpoint at the end.

        With a graph, each `Write` runs its node's writers: edges are followed, and pending tasks of
        the checkpoint that is updated give way, as with LangGraph's ``update_state``. With channels
        only, a `Write`'s values go to the channels that its keys name, or, if they name none, whole
        to the channel named like its node; nothing else moves.

        Args:
            session_id: The session. It must have a checkpoint.
            supersteps: Supersteps in order, each a list of writes that count as simultaneous.
            checkpoint_id: What to build on; the head by default.

        Returns:
            The new head. Its source is ``bulk_update``.

        Raises:
            NoCheckpointError: The session has no checkpoint.
            UnknownNodeError: The graph has no such node. Nothing was stored.
            InvalidArgumentError: A reducer refused a value. Nothing was stored.
            CapabilityError: The reducers are not known.
        """
        return self._sync.run(self._bulk_update(session_id, supersteps, checkpoint_id))

    async def abulk_update_state(
        self,
        session_id: str,
        supersteps: Sequence[Sequence[Write]],
        checkpoint_id: str | None = None,
    ) -> StateSnapshot:
        """`bulk_update_state`, on an event loop."""
        return await self._async.run(self._bulk_update(session_id, supersteps, checkpoint_id))

    def _bulk_update(
        self,
        session_id: str,
        supersteps: Sequence[Sequence[Write]],
        checkpoint_id: str | None,
    ) -> Plan[StateSnapshot]:
        return updating.bulk_update_state(
            self._setup,
            self._address(session_id),
            validation.supersteps("supersteps", supersteps),
            validation.optional_identifier("checkpoint_id", checkpoint_id),
        )

    def fork(
        self,
        source_session_id: str,
        checkpoint_id: str | None = None,
        new_session_id: str | None = None,
        *,
        pending: PendingPolicy = "auto",
        ancestors: Ancestors = "turn",
        values: Any = None,
        as_node: str | None = None,
        namespace: str = "",
        by: str | None = None,
        reason: str | None = None,
        request_id: str | None = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> Fork:
        """Begin a new session at a checkpoint of another. The source is not changed.

        The fork's first checkpoint keeps its id: questions that are open in the source are open in
        the fork, and what was finished is not run again.

        Args:
            source_session_id: The session to fork from.
            checkpoint_id: Where to fork; the head by default.
            new_session_id: The session to create; a new UUID by default. It must be empty.
            pending: What becomes of the writes on the fork point, see `PendingPolicy`.
            ancestors: How much history is copied, where history is copied at all: a number of
                checkpoints, ``"turn"`` (back to before the last input) or ``"all"``.
            values: A patch, applied to the fork after it is stored, through the reducers, as a
                checkpoint of its own. It takes the place of what was pending.
            as_node: The node that the patch counts as. A graph with a single node fills it in.
            namespace: The namespace of `checkpoint_id`, to fork from inside a subgraph: the fork
                goes on at that inner checkpoint, and siblings that have finished stay finished.
            by: Who forks, for the lineage.
            reason: Why, for the lineage.
            request_id: Makes the fork idempotent: the same id gives the same fork, with
                ``created=False``.
            progress: Called with (done, total) checkpoints while a copy is made.

        Raises:
            CheckpointNotFoundError, NoCheckpointError: There is nothing to fork.
            DestinationNotEmptyError: `new_session_id` has checkpoints. It was left as it is.
            AmbiguousNodeError, UnknownNodeError: `as_node` is missing or not in the graph; nothing
                was created.
            GraphChangedError: The checkpoint has pending work for nodes that the graph lacks.
            DeltaHistoryError: A delta channel cannot be rebuilt.
            ConflictError: The source changed while it was read, or `request_id` made another fork.
            ForkVerificationError: The fork was stored and reads back as something else.
        """
        return self._sync.run(
            forking.fork(
                self._setup,
                self._order(
                    source_session_id,
                    checkpoint_id,
                    new_session_id,
                    pending,
                    ancestors,
                    namespace,
                    values=values,
                    as_node=validation.optional_identifier("as_node", as_node),
                    by=validation.optional_text("by", by),
                    reason=validation.optional_text("reason", reason),
                    request_id=validation.optional_identifier("request_id", request_id),
                    progress=validation.optional_function("progress", progress),
                ),
            )
        )

    async def afork(
        self,
        source_session_id: str,
        checkpoint_id: str | None = None,
        new_session_id: str | None = None,
        *,
        pending: PendingPolicy = "auto",
        ancestors: Ancestors = "turn",
        values: Any = None,
        as_node: str | None = None,
        namespace: str = "",
        by: str | None = None,
        reason: str | None = None,
        request_id: str | None = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> Fork:
        """`fork`, on an event loop; `progress` may be a coroutine function."""
        return await self._async.run(
            forking.fork(
                self._setup,
                self._order(
                    source_session_id,
                    checkpoint_id,
                    new_session_id,
                    pending,
                    ancestors,
                    namespace,
                    values=values,
                    as_node=validation.optional_identifier("as_node", as_node),
                    by=validation.optional_text("by", by),
                    reason=validation.optional_text("reason", reason),
                    request_id=validation.optional_identifier("request_id", request_id),
                    progress=validation.optional_function("progress", progress),
                ),
            )
        )

    def fork_plan(
        self,
        source_session_id: str,
        checkpoint_id: str | None = None,
        new_session_id: str | None = None,
        *,
        pending: PendingPolicy = "auto",
        ancestors: Ancestors = "turn",
        namespace: str = "",
    ) -> ForkPlan:
        """What `fork` with the same arguments would do, without doing it."""
        order = self._order(
            source_session_id, checkpoint_id, new_session_id, pending, ancestors, namespace
        )
        return self._sync.run(forking.fork_plan(self._setup, order))

    async def afork_plan(
        self,
        source_session_id: str,
        checkpoint_id: str | None = None,
        new_session_id: str | None = None,
        *,
        pending: PendingPolicy = "auto",
        ancestors: Ancestors = "turn",
        namespace: str = "",
    ) -> ForkPlan:
        """`fork_plan`, on an event loop."""
        order = self._order(
            source_session_id, checkpoint_id, new_session_id, pending, ancestors, namespace
        )
        return await self._async.run(forking.fork_plan(self._setup, order))

    def forkable(self, session_id: str, checkpoint_id: str) -> Forkability:
        """Whether a checkpoint can be forked, and what would be lost.

        ``no``: it is not there, or a delta channel cannot be rebuilt. ``with_loss``: it has pending
        work for nodes that today's graph lacks; `fork` refuses to drop it.
        """
        return self._sync.run(self._forkable(session_id, checkpoint_id))

    async def aforkable(self, session_id: str, checkpoint_id: str) -> Forkability:
        """`forkable`, on an event loop."""
        return await self._async.run(self._forkable(session_id, checkpoint_id))

    def _forkable(self, session_id: str, checkpoint_id: str) -> Plan[Forkability]:
        wanted = validation.identifier("checkpoint_id", checkpoint_id)
        return forking.forkable(self._setup, self._address(session_id), wanted)

    def _order(
        self,
        source_session_id: str,
        checkpoint_id: str | None,
        new_session_id: str | None,
        pending: PendingPolicy,
        ancestors: Ancestors,
        namespace: str,
        **more: Any,
    ) -> Order:
        session = validation.identifier("source_session_id", source_session_id)
        checked_namespace = validation.namespace("namespace", namespace)
        return Order(
            source=self._setup.address(session, checked_namespace),
            checkpoint_id=validation.optional_identifier("checkpoint_id", checkpoint_id),
            new_session_id=validation.optional_identifier("new_session_id", new_session_id),
            pending=validation.pending_policy("pending", pending),
            ancestors=validation.ancestors("ancestors", ancestors),
            **more,
        )

    def _address(self, session_id: str) -> Address:
        return self._setup.address(validation.identifier("session_id", session_id))


def _described(
    given: object, create_channels: object, node_subscriptions: object
) -> tuple[BaseCheckpointSaver[Any], Blueprint]:
    if isinstance(given, Pregel):
        for name, value in (
            ("create_channels", create_channels),
            ("node_subscriptions", node_subscriptions),
        ):
            if value is not None:
                raise InvalidArgumentError(name, "is read off the graph and must not be given")
        saver = given.checkpointer
        if not isinstance(saver, BaseCheckpointSaver):
            raise CapabilityError(
                "the graph has no checkpointer, so there is nothing to travel over: compile it "
                "with checkpointer=..."
            )
        return saver, GraphBlueprint(given, saver)
    if not isinstance(given, BaseCheckpointSaver):
        raise InvalidArgumentError(
            "graph_or_checkpointer",
            f"expected a compiled graph or a checkpointer, got {type(given).__name__}"
            + (" (compile() it first)" if hasattr(given, "compile") else ""),
        )
    function = validation.optional_function("create_channels", create_channels)
    subscriptions = validation.subscriptions("node_subscriptions", node_subscriptions or {})
    if function is None:
        if subscriptions:
            raise InvalidArgumentError("node_subscriptions", "needs create_channels beside it")
        return given, BareBlueprint()
    return given, ChannelBlueprint(function, subscriptions)


def _is_native(saver: BaseCheckpointSaver[Any]) -> bool:
    return isinstance(saver, ForkpointSaver)
