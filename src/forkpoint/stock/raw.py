"""A serializer that leaves alone what it need not understand.

LangGraph's msgpack names a class for everything that msgpack itself does not have, and its
serializer imports that class when it reads. Whoever only carries values from one place to another
neither needs the class nor should run its code. Here such a value stays the bytes that it is, and
is written again as the same bytes.

Rebuilt are only values that the store keeps in a form of its own (messages, delta snapshots), and
queued `Send`s, which tell a timeline which nodes ran.
"""

from __future__ import annotations

from typing import Any

import ormsgpack
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import (
    EXT_CONSTRUCTOR_POS_ARGS,
    EXT_DELTA_SNAPSHOT,
    EXT_PYDANTIC_V2,
    JsonPlusSerializer,
)
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Send

from forkpoint.codec import MESSAGE_CLASSES
from forkpoint.store.terms import Remembered

_OPTION = ormsgpack.OPT_NON_STR_KEYS
_MESSAGES = {(cls.__module__, cls.__name__): cls for cls in MESSAGE_CLASSES}
_REMEMBERED = 50_000


class _Hook:
    """What to make of an extension type."""

    def __init__(self) -> None:
        self._stock = JsonPlusSerializer()._unpack_ext_hook
        #: A growing conversation has the same messages in every checkpoint.
        self._messages: Remembered[bytes, Any] = Remembered(_REMEMBERED)

    def __call__(self, code: int, data: bytes) -> Any:
        if code == EXT_PYDANTIC_V2:
            known = self._messages.get(data)
            if known is None:
                known = self._message(data)
                self._messages.remember(data, known)
            return known
        if code == EXT_DELTA_SNAPSHOT:
            return _DeltaSnapshot(self._unpacked(data))
        if code == EXT_CONSTRUCTOR_POS_ARGS:
            content = self._unpacked(data)
            if content[:2] == ["langgraph.types", "Send"] and len(content[2]) == 2:
                return Send(*content[2])
        return ormsgpack.Ext(code, data)

    def _unpacked(self, data: bytes) -> Any:
        return ormsgpack.unpackb(data, ext_hook=self, option=_OPTION)

    def _message(self, data: bytes) -> Any:
        left_alone = ormsgpack.Ext(EXT_PYDANTIC_V2, data)
        try:
            module, name, *_ = ormsgpack.unpackb(data, option=_OPTION)
        except ValueError:
            return left_alone  # It holds something with a class of its own.
        if (module, name) not in _MESSAGES:
            return left_alone
        message = self._stock(EXT_PYDANTIC_V2, data)
        return message if isinstance(message, BaseMessage) else left_alone


def leaving_alone(serde: SerializerProtocol | None) -> SerializerProtocol:
    """A serializer that reads and writes the same bytes as another one and imports no classes.

    Only LangGraph's own is understood that far, bare or encrypting; any other is handed back, and
    does what it does.
    """
    if serde is None:
        return JsonPlusSerializer(__unpack_ext_hook__=_Hook())
    if isinstance(serde, EncryptedSerializer):
        return EncryptedSerializer(serde.cipher, leaving_alone(serde.serde))
    if type(serde) is JsonPlusSerializer and not serde._custom_unpack_ext_hook:
        return JsonPlusSerializer(
            pickle_fallback=serde.pickle_fallback, __unpack_ext_hook__=_Hook()
        )
    return serde
