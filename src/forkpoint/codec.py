"""LangGraph values to cells and back: exact, quick, and never silently something else.

A cell's first byte is its kind. Whatever has no kind of its own goes through the saver's LangGraph
serializer, so every type that the stock savers can store is stored here with the same bytes. The
six
message classes of langchain-core have kinds of their own: they are packed from their fields and
rebuilt without validation, because validating a message that was valid when it was stored is what
makes stock savers slow to read. Anything unusual in a message (an extra field, a nested model)
takes the serializer's path instead.

The stock serializer answers a type that it cannot rebuild with a plain dict or `None`. Here that is
a `DeserializationError`, and the stored bytes stay as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import ormsgpack
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from pydantic import BaseModel

from forkpoint.errors import DeserializationError, SerializationError
from forkpoint.rebuilding import strict_unpack
from forkpoint.store.cells import Encoded, Fields, Seq

LIST = 0
DELTA_SNAPSHOT = 1
"""Marks on a `Seq`: a plain list, or the list inside LangGraph's `_DeltaSnapshot`."""

_SERIALIZER_KINDS = {"null": 0, "bytes": 1, "bytearray": 2, "msgpack": 3, "json": 4, "pickle": 5}
_SERIALIZER_NAMES = {kind: name for name, kind in _SERIALIZER_KINDS.items()}
_MSGPACK = 3
_OTHER_KIND = 15
_FIRST_MESSAGE_KIND = 16
MESSAGE_CLASSES: tuple[type[BaseMessage], ...] = (
    HumanMessage,
    AIMessage,
    ToolMessage,
    SystemMessage,
    FunctionMessage,
    RemoveMessage,
    ChatMessage,
)
#: Appended to only: the position is stored.
_MESSAGE_PREFIX = {cls: bytes([_FIRST_MESSAGE_KIND + i]) for i, cls in enumerate(MESSAGE_CLASSES)}
_LAST_MESSAGE_KIND = _FIRST_MESSAGE_KIND + len(MESSAGE_CLASSES) - 1

_PACK_OPTION = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
)
_UNPACK_OPTION = ormsgpack.OPT_NON_STR_KEYS

_COMPOSITE_FROM = 256
"""Bytes from which a list or mapping is stored item by item."""
_ITEM_FLOOR = 24
"""Average item size in bytes below which one cell for the whole list is smaller and faster."""
_MOST_FIELDS = 32

_packb = ormsgpack.packb
_unpackb = ormsgpack.unpackb


class _UnusualError(Exception):
    """A message holds something that its quick form cannot carry."""


def _refuse(value: object) -> Any:
    raise _UnusualError(type(value).__name__)


class Codec:
    """One saver's view of values: its serializer, and the quick forms where they apply.

    `serde` is any LangGraph serializer. The quick forms are used only with LangGraph's own
    `JsonPlusSerializer` (bare, or inside an `EncryptedSerializer`, whose cipher is then applied by
    the store's vault and not here).
    """

    def __init__(self, serde: SerializerProtocol) -> None:
        inner = serde.serde if isinstance(serde, EncryptedSerializer) else serde
        self._serde: SerializerProtocol = inner
        self._quick = type(inner) is JsonPlusSerializer
        self._strict_unpack: Callable[[bytes], Any] | None = None
        if isinstance(inner, JsonPlusSerializer) and not inner._custom_unpack_ext_hook:
            self._strict_unpack = strict_unpack(inner._allowed_msgpack_modules)

    # -- to cells -----------------------------------------------------------------------------

    def encode(self, value: Any) -> Encoded:
        """A value as one cell, or in parts where parts can be shared.

        Raises `SerializationError` when the serializer cannot store the value.
        """
        kind = type(value)
        if kind is list:
            return self._encode_list(value, LIST)
        if kind is dict:
            return self._encode_dict(value)
        if kind is _DeltaSnapshot and type(value.value) is list:
            return self._encode_list(value.value, DELTA_SNAPSHOT)
        return self.cell(value)

    def encode_channel(self, channel: str, value: Any) -> Encoded:
        """`encode`, with the channel's name in the error."""
        try:
            return self.encode(value)
        except SerializationError as error:
            raise SerializationError(f"channel {channel!r}: {error}") from error

    def cell(self, value: Any) -> bytes:
        """A value as one cell."""
        prefix = _MESSAGE_PREFIX.get(type(value))
        if prefix is not None and self._quick:
            cell = _message_cell(prefix, value)
            if cell is not None:
                return cell
        try:
            name, data = self._serde.dumps_typed(value)
        except Exception as error:
            raise SerializationError(
                f"value of type {type(value).__module__}.{type(value).__qualname__} cannot be "
                f"stored by {type(self._serde).__name__}: {error}"
            ) from error
        known = _SERIALIZER_KINDS.get(name)
        if known is not None:
            return bytes((known,)) + data
        label = name.encode()
        if len(label) > 255:
            raise SerializationError(f"serializer type name of {len(label)} bytes is too long")
        return bytes((_OTHER_KIND, len(label))) + label + data

    def _encode_list(self, value: list[Any], mark: int) -> Encoded:
        if value:
            cells = self._cells(value)
            total = sum(map(len, cells))
            if total >= _COMPOSITE_FROM and total >= _ITEM_FLOOR * len(cells):
                return Seq(cells, mark)
        return self.cell(value if mark == LIST else _DeltaSnapshot(value))

    def _cells(self, values: list[Any]) -> list[bytes]:
        if not self._quick:
            return [self.cell(value) for value in values]
        cells: list[bytes] = []
        append = cells.append
        prefixes = _MESSAGE_PREFIX
        for value in values:
            prefix = prefixes.get(type(value))
            if prefix is not None and not value.__pydantic_extra__:
                try:
                    append(prefix + _packb(value.__dict__, _refuse, _PACK_OPTION))
                    continue
                except (_UnusualError, ormsgpack.MsgpackEncodeError):
                    pass
            append(self.cell(value))
        return cells

    def _encode_dict(self, value: dict[Any, Any]) -> Encoded:
        if 0 < len(value) <= _MOST_FIELDS and all(type(key) is str for key in value):
            parts: list[bytes | Seq] = []
            total = 0
            for item in value.values():
                part = self._encode_list(item, LIST) if type(item) is list else self.cell(item)
                assert not isinstance(part, Fields)
                parts.append(part)
                total += len(part) if isinstance(part, bytes) else sum(map(len, part.items))
            keys = tuple(value)
            if total >= _COMPOSITE_FROM and all(map(_is_utf8, keys)):
                return Fields(keys, parts)
        return self.cell(value)

    # -- from cells ---------------------------------------------------------------------------

    def decode(self, cell: bytes) -> Any:
        """The value of a cell. Raises `DeserializationError` (without channel and checkpoint)."""
        kind = cell[0]
        if _FIRST_MESSAGE_KIND <= kind <= _LAST_MESSAGE_KIND:
            return _build_message(
                MESSAGE_CLASSES[kind - _FIRST_MESSAGE_KIND],
                _unpackb(cell[1:], option=_UNPACK_OPTION),
            )
        if kind == _MSGPACK and self._strict_unpack is not None:
            return self._strict_unpack(cell[1:])
        if kind == _OTHER_KIND:
            start = 2 + cell[1]
            name, data = cell[2:start].decode(), cell[start:]
        else:
            name, data = _SERIALIZER_NAMES.get(kind, f"kind {kind}"), cell[1:]
        try:
            return self._serde.loads_typed((name, data))
        except Exception as error:
            raise DeserializationError(
                f"{type(self._serde).__name__} cannot read {name!r}: {error}"
            ) from error

    def decode_all(self, cells: Iterable[bytes]) -> list[Any]:
        """The values of many cells."""
        values: list[Any] = []
        append = values.append
        classes = MESSAGE_CLASSES
        for cell in cells:
            kind = cell[0]
            if _FIRST_MESSAGE_KIND <= kind <= _LAST_MESSAGE_KIND:
                append(
                    _build_message(
                        classes[kind - _FIRST_MESSAGE_KIND],
                        _unpackb(cell[1:], option=_UNPACK_OPTION),
                    )
                )
            else:
                append(self.decode(cell))
        return values

    @staticmethod
    def is_message(cell: bytes) -> bool:
        """Whether a cell is a message in its quick form."""
        return _FIRST_MESSAGE_KIND <= cell[0] <= _LAST_MESSAGE_KIND

    @staticmethod
    def wrap(items: list[Any], mark: int) -> Any:
        """A decoded list as what its mark says it was."""
        return _DeltaSnapshot(items) if mark == DELTA_SNAPSHOT else items


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _message_cell(prefix: bytes, message: BaseMessage) -> bytes | None:
    if message.__pydantic_extra__:
        return None
    try:
        return prefix + _packb(message.__dict__, _refuse, _PACK_OPTION)
    except (_UnusualError, ormsgpack.MsgpackEncodeError):
        return None


# A pydantic model's state is its __dict__ and three slots. Setting them directly is what skips
# validation, and the slots' own setters are the quick way past the model's __setattr__.
_set_fields = BaseModel.__dict__["__dict__"].__set__
_set_fields_set = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__
_new = object.__new__


def _build_message(cls: type[BaseMessage], fields: dict[str, Any]) -> BaseMessage:
    message = _new(cls)
    _set_fields(message, fields)
    _set_fields_set(message, set(fields))
    _set_extra(message, {})
    _set_private(message, None)
    return message
