"""Two ways to carry out a plan: on the caller's thread, and on an event loop.

A driver knows how to ask a checkpointer and nothing else. Both hold the same list of requests; all
that differs is ``await``.

A checkpointer that belongs to an event loop (AsyncSqliteSaver, AsyncPostgresSaver) can be used
from another thread only while that loop runs and is not waiting for that thread. Whether it does
cannot be known from here, and guessing wrong hangs for ever, so the sync driver refuses it. A
checkpointer without async methods (SqliteSaver, PostgresSaver) is called in a worker thread.
"""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar, assert_never

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from forkpoint.errors import CapabilityError
from forkpoint.timetravel.requests import (
    Call,
    DeltaHistory,
    Emit,
    Invoke,
    List,
    Native,
    Plan,
    Put,
    PutWrites,
    Read,
    Request,
)

T = TypeVar("T")


def checkpoint_config(
    thread_id: str, namespace: str | None = "", checkpoint_id: str | None = None
) -> RunnableConfig:
    """A config that names a place and nothing else.

    Savers copy other scalar entries into the metadata, so nothing else may be in it.
    """
    configurable: dict[str, Any] = {"thread_id": thread_id}
    if namespace is not None:
        configurable["checkpoint_ns"] = namespace
    if checkpoint_id is not None:
        configurable["checkpoint_id"] = checkpoint_id
    return {"configurable": configurable}


class SyncDriver:
    """Carries out plans with a checkpointer's sync methods."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        self._saver = saver

    def run(self, plan: Plan[T]) -> T:
        """Carry out a plan and return its result."""
        for item in self._steps(plan):
            if isinstance(item, _Result):
                return item.value  # type: ignore[no-any-return]
        raise AssertionError("a plan ended without a result")

    def stream(self, plan: Plan[None]) -> Iterator[Any]:
        """Carry out a plan, yielding the items it emits."""
        for item in self._steps(plan):
            if not isinstance(item, _Result):
                yield item

    def _steps(self, plan: Plan[Any]) -> Iterator[Any]:
        self._refuse_a_saver_that_needs_a_loop()
        try:
            request = next(plan)
            while True:
                if isinstance(request, Emit):
                    yield request.item
                    request = plan.send(None)
                    continue
                try:
                    answer = self._perform(request)
                except Exception as error:
                    request = plan.throw(error)
                else:
                    request = plan.send(answer)
        except StopIteration as stop:
            yield _Result(stop.value)
        finally:
            plan.close()

    def _refuse_a_saver_that_needs_a_loop(self) -> None:
        if isinstance(getattr(self._saver, "loop", None), asyncio.AbstractEventLoop):
            raise CapabilityError(
                f"{type(self._saver).__name__} works on an event loop only: use the twin of this "
                "method whose name begins with 'a' (aget_state, afork, ...)"
            )

    def _perform(self, request: Request) -> Any:
        try:
            return self._ask(request)
        except NotImplementedError as error:
            raise CapabilityError(_lacks(self._saver, request, "sync")) from error

    def _ask(self, request: Request) -> Any:
        saver = self._saver
        match request:
            case Read():
                return saver.get_tuple(_config(request))
            case List():
                return _sync_list(saver, request)
            case Put():
                return saver.put(*_put_arguments(request))
            case PutWrites():
                return saver.put_writes(*_write_arguments(saver.put_writes, request))
            case DeltaHistory():
                return saver.get_delta_channel_history(
                    config=request.config, channels=request.channels
                )
            case Native():
                return getattr(saver, request.method)(*request.arguments, **request.keywords)
            case Call():
                answer = request.function(*request.arguments)
                if inspect.isawaitable(answer):
                    _discard(answer)
                    raise CapabilityError(
                        f"{request.function!r} is a coroutine function: use the twin of this "
                        "method whose name begins with 'a'"
                    )
                return answer
            case Invoke():
                return request.runnable.invoke(request.value, request.config)
            case Emit():
                raise AssertionError("emitted items are handled by the loop")
            case _:
                assert_never(request)


class AsyncDriver:
    """Carries out plans with a checkpointer's async methods."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        self._saver = saver
        self._in_threads = False

    async def run(self, plan: Plan[T]) -> T:
        """Carry out a plan and return its result."""
        steps = self._steps(plan)
        try:
            async for item in steps:
                if isinstance(item, _Result):
                    return item.value  # type: ignore[no-any-return]
        finally:
            await steps.aclose()  # type: ignore[attr-defined]
        raise AssertionError("a plan ended without a result")

    async def stream(self, plan: Plan[None]) -> AsyncIterator[Any]:
        """Carry out a plan, yielding the items it emits."""
        async for item in self._steps(plan):
            if not isinstance(item, _Result):
                yield item

    async def _steps(self, plan: Plan[Any]) -> AsyncIterator[Any]:
        try:
            request = next(plan)
            while True:
                if isinstance(request, Emit):
                    yield request.item
                    request = plan.send(None)
                    continue
                try:
                    answer = await self._perform(request)
                except Exception as error:
                    request = plan.throw(error)
                else:
                    request = plan.send(answer)
        except StopIteration as stop:
            yield _Result(stop.value)
        finally:
            plan.close()

    async def _perform(self, request: Request) -> Any:
        if isinstance(request, (Call, Invoke, Emit)):
            return await self._ask(request)
        if not self._in_threads:
            try:
                return await self._ask(request)
            except NotImplementedError:
                self._in_threads = True
        try:
            return await asyncio.to_thread(SyncDriver(self._saver)._ask, request)
        except NotImplementedError as error:
            raise CapabilityError(_lacks(self._saver, request, "sync or async")) from error
        except sqlite3.ProgrammingError as error:
            raise CapabilityError(
                f"{type(self._saver).__name__} has no async methods and its connection is bound "
                "to one thread: open it with check_same_thread=False, or use the sync methods"
            ) from error

    async def _ask(self, request: Request) -> Any:
        saver = self._saver
        match request:
            case Read():
                return await saver.aget_tuple(_config(request))
            case List():
                return await _async_list(saver, request)
            case Put():
                return await saver.aput(*_put_arguments(request))
            case PutWrites():
                return await saver.aput_writes(*_write_arguments(saver.aput_writes, request))
            case DeltaHistory():
                return await saver.aget_delta_channel_history(
                    config=request.config, channels=request.channels
                )
            case Native():
                method = getattr(saver, f"a{request.method}")
                return await method(*request.arguments, **request.keywords)
            case Call():
                answer = request.function(*request.arguments)
                return await answer if inspect.isawaitable(answer) else answer
            case Invoke():
                return await request.runnable.ainvoke(request.value, request.config)
            case Emit():
                raise AssertionError("emitted items are handled by the loop")
            case _:
                assert_never(request)


class _Result:
    """What a plan returned, told apart from what it emitted."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _config(request: Read) -> RunnableConfig:
    return checkpoint_config(request.thread_id, request.namespace, request.checkpoint_id)


def _list_arguments(request: List) -> tuple[RunnableConfig, dict[str, Any]]:
    options: dict[str, Any] = {}
    if request.filter is not None:
        options["filter"] = dict(request.filter)
    if request.before is not None:
        options["before"] = checkpoint_config(request.thread_id, request.namespace, request.before)
    if request.limit is not None:
        options["limit"] = request.limit
    return checkpoint_config(request.thread_id, request.namespace), options


def _sync_list(saver: BaseCheckpointSaver[Any], request: List) -> list[Any]:
    config, options = _list_arguments(request)
    return [request.pick(saved) for saved in saver.list(config, **options)]


async def _async_list(saver: BaseCheckpointSaver[Any], request: List) -> list[Any]:
    config, options = _list_arguments(request)
    listing: AsyncIterator[CheckpointTuple] = saver.alist(config, **options)
    try:
        return [request.pick(saved) async for saved in listing]
    finally:
        # An open listing of AsyncSqliteSaver blocks every write until it is closed.
        close = getattr(listing, "aclose", None)
        if close is not None:
            await close()


def _put_arguments(request: Put) -> tuple[Any, ...]:
    config = checkpoint_config(request.thread_id, request.namespace, request.parent_id)
    return config, request.checkpoint, request.metadata, request.new_versions


def _write_arguments(method: Callable[..., Any], request: PutWrites) -> tuple[Any, ...]:
    config = checkpoint_config(request.thread_id, request.namespace, request.checkpoint_id)
    if "task_path" not in inspect.signature(method).parameters:
        return config, request.writes, request.task_id
    return config, request.writes, request.task_id, request.task_path


def _discard(awaitable: Any) -> None:
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def _lacks(saver: BaseCheckpointSaver[Any], request: Request, face: str) -> str:
    asked = type(request).__name__
    return f"{type(saver).__name__} has no {face} method for {asked!r}"
