"""What an argument may be: one check for each kind, with an error that names the argument."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeGuard

from forkpoint.errors import InvalidArgumentError

LONGEST_SESSION_ID = 1024
"""UTF-8 bytes. This and the next two must fit a row of an index: PostgreSQL's hold 2,704 bytes."""
LONGEST_CHECKPOINT_ID = 1024
"""UTF-8 bytes."""
LONGEST_NAMESPACE = 2048
"""UTF-8 bytes: about forty subgraphs, each inside the one before."""
LONGEST_REMARK = 65_536
"""UTF-8 bytes."""
LONGEST_SCHEMA = 63
"""UTF-8 bytes: what PostgreSQL keeps of a name."""
MOST = 2**62
"""Limits above this are as good as none."""


def check_text(argument: str, value: object, most_bytes: int, *, empty: bool = False) -> str:
    """Text that every database can hold: UTF-8, no NUL, not too long."""
    if not isinstance(value, str):
        raise InvalidArgumentError(argument, f"must be text, not {type(value).__name__}")
    problem = _problem_with(value, most_bytes)
    if problem is not None and (value or not empty):
        raise InvalidArgumentError(argument, problem)
    return value


def is_text(value: object) -> TypeGuard[str]:
    """Whether a value is text that every database can hold."""
    return isinstance(value, str) and _problem_with(value, LONGEST_REMARK) is None


@lru_cache(4096)
def _problem_with(value: str, most_bytes: int) -> str | None:
    if not value:
        return "must not be empty"
    try:
        length = len(value.encode())
    except UnicodeEncodeError as error:
        return f"has a lone surrogate at position {error.start}, which is not text"
    if "\0" in value:
        return "must not contain NUL"
    if length > most_bytes:
        return f"is {length} bytes long; {most_bytes} is the most that is stored"
    return None


def check_session_id(argument: str, value: object) -> str:
    """A session or thread id."""
    return check_text(argument, value, LONGEST_SESSION_ID)


def check_checkpoint_id(argument: str, value: object) -> str:
    """A checkpoint, task or request id."""
    return check_text(argument, value, LONGEST_CHECKPOINT_ID)


def check_namespace(argument: str, value: object) -> str:
    """A checkpoint namespace; empty for the root."""
    return check_text(argument, value, LONGEST_NAMESPACE, empty=True)


def check_task_path(argument: str, value: object) -> str:
    """Where in the graph a task was."""
    return check_text(argument, value, LONGEST_REMARK, empty=True)


def check_optional_text(argument: str, value: object) -> str | None:
    """A remark: who, or why."""
    return None if value is None else check_text(argument, value, LONGEST_REMARK, empty=True)


def check_owner(argument: str, value: object) -> str | None:
    """A workspace or an agent, if one is given."""
    return None if value is None else check_text(argument, value, LONGEST_SESSION_ID, empty=True)


def check_limit(argument: str, value: object) -> int:
    """A number of things: 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgumentError(argument, f"must be a whole number, not {type(value).__name__}")
    if value < 0:
        raise InvalidArgumentError(argument, f"must be 0 or more, not {value}")
    return min(value, MOST)


def check_bool(argument: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise InvalidArgumentError(argument, f"must be True or False, not {type(value).__name__}")
    return value


def check_seconds(argument: str, value: object) -> float:
    """A time to wait."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgumentError(argument, f"must be seconds, not {type(value).__name__}")
    if not 0 <= value <= 86_400:
        raise InvalidArgumentError(argument, f"must be between 0 and 86400 seconds, not {value}")
    return float(value)


def check_choice(argument: str, value: object, choices: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgumentError(argument, f"must be one of {', '.join(choices)}, not {value!r}")
    return value


def check_path(argument: str, value: object) -> str:
    """The path of a file, as text."""
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        raise InvalidArgumentError(argument, f"must be a path, not {type(value).__name__}")
    if not path or "\0" in path:
        raise InvalidArgumentError(argument, "names no file")
    return path
