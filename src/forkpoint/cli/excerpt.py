"""Values as text for a person: one line or whole, safe to send to a terminal.

What an agent stored may hold anything: line breaks, escape sequences that would drive the
terminal, lone surrogates that cannot be encoded. All of it is shown, none of it is acted on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from forkpoint.cli.jsonable import jsonable


def visible(text: str) -> str:
    r"""`text` with everything that is not printable escaped, line breaks kept.

    >>> print(visible("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


def one_line(value: Any, width: int | None = None) -> str:
    """`value` on one line, cut to `width` characters when given.

    >>> one_line({"question": "Pay?", "amount": 3}, width=20)
    'question: Pay?; amo…'
    """
    text = " ".join(visible(_text(value)).split())
    if width is not None and len(text) > width:
        return text[: width - 1] + "…"
    return text


def message_line(message: BaseMessage, width: int | None = None) -> str:
    """What a message says or calls, on one line.

    >>> message_line(AIMessage("", tool_calls=[{"name": "pay", "args": {"amount": 3}, "id": "1"}]))
    'pay(amount=3)'
    """
    return one_line(message_text(message), width)


def message_text(message: BaseMessage) -> str:
    """What a message says and calls, whole."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    lines = [message.text, *(call_text(call["name"], call["args"]) for call in calls)]
    return visible("\n".join(line for line in lines if line))


def call_text(name: str, args: dict[str, Any]) -> str:
    """A tool call as one would write it.

    >>> call_text("pay", {"amount": 3, "what": "tea"})
    "pay(amount=3, what='tea')"
    """
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})"


def speaker(message: BaseMessage) -> str:
    """Who wrote a message: its type, with the name of the tool where there is one."""
    if isinstance(message, ToolMessage) and message.name:
        return f"tool {visible(message.name)}"
    return visible(message.type)


def is_message_list(value: Any) -> bool:
    """Whether `value` is a list with nothing but messages in it, and at least one."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str | bytes)
        and len(value) > 0
        and all(isinstance(item, BaseMessage) for item in value)
    )


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case BaseMessage():
            return f"{speaker(value)}: {message_text(value)}"
        case list() if is_message_list(value):
            return "; ".join(_text(message) for message in value)
        case dict() if value and all(isinstance(item, str | int) for item in value.values()):
            return "; ".join(f"{key}: {item}" for key, item in value.items())
        case _:
            return json.dumps(jsonable(value), ensure_ascii=False)
