"""Arguments of the public methods, checked once, at the edge.

Each function returns its argument as the type the rest of the package relies on, or raises
`InvalidArgumentError` naming it. What is looked up in a checkpointer (does this checkpoint exist?)
is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forkpoint.errors import InvalidArgumentError
from forkpoint.model import Ancestors, CheckpointRef, PendingPolicy, Write

POLICIES: tuple[PendingPolicy, ...] = ("auto", "reask", "keep", "drop")


def identifier(argument: str, value: object) -> str:
    """A session, checkpoint or request id: non-empty text that every database can store."""
    if not isinstance(value, str):
        raise InvalidArgumentError(argument, f"expected a string, got {_shown(value)}")
    if not value:
        raise InvalidArgumentError(argument, "must not be empty")
    if "\x00" in value:
        raise InvalidArgumentError(argument, "must not contain a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(argument, "must not contain a lone surrogate") from error
    return value


def optional_identifier(argument: str, value: object) -> str | None:
    """An id, or None."""
    return None if value is None else identifier(argument, value)


def optional_text(argument: str, value: object) -> str | None:
    """Free text (a name, a reason), or None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidArgumentError(argument, f"expected a string or None, got {_shown(value)}")
    return value


def namespace(argument: str, value: object) -> str:
    """A checkpoint namespace; the empty string is the root."""
    if value == "":
        return ""
    return identifier(argument, value)


def limit(argument: str, value: object) -> int:
    """How many items at most; 0 means none."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgumentError(argument, f"expected a whole number, got {_shown(value)}")
    if value < 0:
        raise InvalidArgumentError(argument, f"must be 0 or more, got {value}")
    return value


def positive(argument: str, value: object) -> int:
    """A number counted from one."""
    number = limit(argument, value)
    if number == 0:
        raise InvalidArgumentError(argument, "is counted from 1, got 0")
    return number


def flag(argument: str, value: object) -> bool:
    """True or False, nothing that merely resembles it."""
    if not isinstance(value, bool):
        raise InvalidArgumentError(argument, f"expected True or False, got {_shown(value)}")
    return value


def pending_policy(argument: str, value: object) -> PendingPolicy:
    """One of `POLICIES`."""
    for policy in POLICIES:
        if isinstance(value, str) and value == policy:
            return policy
    raise InvalidArgumentError(argument, f"expected one of {list(POLICIES)}, got {_shown(value)}")


def ancestors(argument: str, value: object) -> Ancestors:
    """``"turn"``, ``"all"`` or a number of checkpoints."""
    if value == "turn" and isinstance(value, str):
        return "turn"
    if value == "all" and isinstance(value, str):
        return "all"
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidArgumentError(
            argument, f"expected 'turn', 'all' or a number of 0 or more, got {_shown(value)}"
        )
    return value


def reference(argument: str, value: object) -> CheckpointRef:
    """A `CheckpointRef` with usable ids."""
    if not isinstance(value, CheckpointRef):
        raise InvalidArgumentError(
            argument, f"expected CheckpointRef(session_id, checkpoint_id), got {_shown(value)}"
        )
    identifier(f"{argument}.session_id", value.session_id)
    identifier(f"{argument}.checkpoint_id", value.checkpoint_id)
    return value


def function(argument: str, value: object) -> Callable[..., Any]:
    """Something that can be called."""
    if not callable(value):
        raise InvalidArgumentError(argument, f"expected a function, got {_shown(value)}")
    return value


def optional_function(argument: str, value: object) -> Callable[..., Any] | None:
    """Something that can be called, or None."""
    return None if value is None else function(argument, value)


def supersteps(argument: str, value: object) -> tuple[tuple[Write, ...], ...]:
    """A sequence of supersteps, each a sequence of `Write`."""
    steps = tuple(_items(argument, value))
    if not steps:
        raise InvalidArgumentError(argument, "must hold at least one superstep")
    checked: list[tuple[Write, ...]] = []
    for number, step in enumerate(steps):
        where = f"{argument}[{number}]"
        writes = [_write(f"{where}[{i}]", each) for i, each in enumerate(_items(where, step))]
        if not writes:
            raise InvalidArgumentError(where, "must hold at least one Write")
        checked.append(tuple(writes))
    return tuple(checked)


def _write(argument: str, value: object) -> Write:
    if not isinstance(value, Write):
        raise InvalidArgumentError(argument, f"expected Write(node, values), got {_shown(value)}")
    identifier(f"{argument}.node", value.node)
    return value


def subscriptions(argument: str, value: object) -> dict[str, tuple[str, ...]]:
    """A mapping of node name to the channels it subscribes to."""
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(
            argument, f"expected a mapping of node to channels, got {_shown(value)}"
        )
    checked: dict[str, tuple[str, ...]] = {}
    for node, channels in value.items():
        name = identifier(argument, node)
        if isinstance(channels, str):
            raise InvalidArgumentError(
                f"{argument}[{name!r}]", f"expected a collection of channels, got {channels!r}"
            )
        try:
            names = tuple(channels)
        except TypeError as error:
            raise InvalidArgumentError(
                f"{argument}[{name!r}]",
                f"expected a collection of channels, got {_shown(channels)}",
            ) from error
        checked[name] = tuple(identifier(f"{argument}[{name!r}]", each) for each in names)
    return checked


def _items(argument: str, value: object) -> Sequence[object]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        raise InvalidArgumentError(argument, f"expected a list, got {_shown(value)}")
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 80 else text[:77] + '...'}"
