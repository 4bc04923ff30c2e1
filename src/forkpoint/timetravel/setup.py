"""What a `TimeTravel` was made with, as one value that every algorithm receives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from forkpoint.errors import InvalidArgumentError
from forkpoint.model import ForkOrigin
from forkpoint.timetravel.graphs import Blueprint

CreateForkedSession = Callable[[str, ForkOrigin], Any]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a session's checkpoints are."""

    session_id: str
    thread_id: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """A checkpointer, what is known of the graph, and how sessions are named in it."""

    saver: BaseCheckpointSaver[Any]
    blueprint: Blueprint
    native: bool
    """True for Forkpoint's own saver, which forks and lists timelines by itself."""
    create_forked_session: CreateForkedSession | None = None
    thread_of: Callable[[str], str] | None = None
    session_of: Callable[[str], str] | None = None

    def address(self, session_id: str, namespace: str = "") -> Address:
        """The address of a session."""
        return Address(session_id, _named("thread_id", self.thread_of, session_id), namespace)

    def address_of_thread(self, thread_id: str) -> Address:
        """The address of a thread whose session is known by its thread only."""
        return Address(_named("session_id", self.session_of, thread_id), thread_id)


def _named(argument: str, naming: Callable[[str], str] | None, given: str) -> str:
    if naming is None:
        return given
    name: object = naming(given)
    if not isinstance(name, str) or not name:
        raise InvalidArgumentError(
            argument, f"must return a non-empty string, returned {name!r} for {given!r}"
        )
    return name
