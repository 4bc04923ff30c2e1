"""Chat messages in a state: finding them, and giving their text in one line.

A message is a LangChain message object, or a mapping with an ``id`` and a ``role``, ``type`` or
``content``. Nothing here depends on which channel it is in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import Checkpoint

TITLE_LENGTH = 80


def is_message(value: object) -> bool:
    """Whether a value is a chat message."""
    if isinstance(value, BaseMessage):
        return True
    if not isinstance(value, Mapping) or "content" not in value:
        return False
    return "role" in value or "type" in value


def message_id(value: Any) -> str | None:
    """A message's id, if it has one."""
    found = value.get("id") if isinstance(value, Mapping) else getattr(value, "id", None)
    return found if isinstance(found, str) else None


def messages_in(value: object) -> Iterator[Any]:
    """The messages in a channel's value: itself, a list's items, or those of a mapping's lists."""
    if is_message(value):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            if isinstance(each, (list, tuple)) or is_message(each):
                yield from messages_in(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            if is_message(each):
                yield each


def contains(values: object, wanted: str) -> bool:
    """Whether a state, or a channel's value, holds the message with this id."""
    if isinstance(values, Mapping) and not is_message(values):
        return any(contains_directly(value, wanted) for value in values.values())
    return contains_directly(values, wanted)


def contains_directly(value: object, wanted: str) -> bool:
    """Whether one channel's value holds the message with this id."""
    return any(message_id(message) == wanted for message in messages_in(value))


def are_messages(value: object) -> bool:
    """Whether a value is a list of messages that can be aligned by id."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, (str, bytes))
        and all(is_message(each) and message_id(each) for each in value)
    )


def text_of(message: Any) -> str:
    """A message's text on one line, shortened to `TITLE_LENGTH` characters."""
    content = message.get("content") if isinstance(message, Mapping) else message.content
    return shortened(_plain(content))


def shortened(text: str) -> str:
    """One line of at most `TITLE_LENGTH` characters."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"


def text_of_input(checkpoint: Checkpoint) -> str | None:
    """What the user said in an input checkpoint; None when it holds no input."""
    given = checkpoint["channel_values"].get("__start__")
    if given is None:
        return None
    if isinstance(given, str):
        return shortened(given) or None
    said = [text_of(message) for message in messages_in(given) if _is_from_user(message)]
    if said:
        return said[-1] or None
    return _first_text(given)


def _first_text(given: object) -> str | None:
    """Input that is not made of message objects: pairs of role and text, or plain fields."""
    if isinstance(given, Mapping):
        for value in given.values():
            text = _first_text(value)
            if text:
                return text
    elif isinstance(given, (list, tuple)) and given:
        last = given[-1]
        return _first_text(last)
    elif isinstance(given, str):
        return shortened(given) or None
    return None


def _is_from_user(message: Any) -> bool:
    if isinstance(message, Mapping):
        return (message.get("role") or message.get("type")) in ("user", "human")
    return bool(message.type == "human")


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        parts = [each if isinstance(each, str) else _block(each) for each in content]
        return " ".join(part for part in parts if part)
    return "" if content is None else str(content)


def _block(block: object) -> str:
    if isinstance(block, Mapping):
        text = block.get("text")
        return text if isinstance(text, str) else f"[{block.get('type', 'part')}]"
    return str(block)
