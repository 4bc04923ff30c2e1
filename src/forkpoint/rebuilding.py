"""Rebuilding the types of LangGraph's msgpack format, or refusing by name.

The stock serializer hands out a plain payload (a dict, a list, a string, `None`) for a type that it
may not or cannot build. A session read that way and written back has lost the type for good. The
hook made here follows the same allowlist and the same extension codes and raises
`DeserializationError` instead; the caller adds which channel and checkpoint it was reading.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable
from typing import Any, Literal

import ormsgpack
from langgraph.checkpoint.serde import _msgpack as allowlists
from langgraph.checkpoint.serde.event_hooks import emit_serde_event
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from forkpoint.errors import DeserializationError

logger = logging.getLogger(__name__)

Allowlist = set[tuple[str, ...]] | Literal[True] | None
"""LangGraph's form: exact ``(module, name)`` pairs, True for everything, None for safe types
only."""

_OPTION = ormsgpack.OPT_NON_STR_KEYS
_SINGLE_ARGUMENT, _POSITIONAL, _KEYWORDS, _METHOD, _PYDANTIC_V1, _PYDANTIC_V2 = range(6)
_NUMPY_ARRAY = 6
_DELTA_SNAPSHOT = 7

_announced: set[tuple[str, str]] = set()


def strict_unpack(allowed: Allowlist) -> Callable[[bytes], Any]:
    """`ormsgpack.unpackb` for LangGraph's format, strict.

    The function made raises `DeserializationError` (with `type_name`) for a type that is not
    allowed, cannot be imported, or whose constructor refuses the stored fields.
    """
    # ormsgpack answers an exception in a hook with one of its own that does not name it.
    raised = threading.local()

    def unpack(data: bytes) -> Any:
        raised.error = None
        try:
            return ormsgpack.unpackb(data, ext_hook=hook, option=_OPTION)
        except Exception as error:
            cause: DeserializationError | None = raised.error
            if cause is not None:
                raise cause from None
            raise DeserializationError(f"the stored bytes do not decode: {error}") from error

    def hook(code: int, data: bytes) -> Any:
        try:
            return rebuilt(code, data)
        except DeserializationError as error:
            raised.error = raised.error or error
            raise

    def rebuilt(code: int, data: bytes) -> Any:
        content = ormsgpack.unpackb(data, ext_hook=hook, option=_OPTION)
        if code == _DELTA_SNAPSHOT:
            return _DeltaSnapshot(content)
        if code == _NUMPY_ARRAY:
            return _array(*content)
        if code > _NUMPY_ARRAY or not isinstance(content, list) or len(content) < 3:
            raise DeserializationError(f"extension code {code} is not known to this version")
        module, name, payload = content[:3]
        type_name = f"{module}.{name}"
        method = content[3] if code == _METHOD else None
        _check_allowed(allowed, module, name, method)
        try:
            target = getattr(importlib.import_module(module), name)
        except Exception as error:
            raise DeserializationError(
                f"the type cannot be imported ({error}); make it importable under this name again",
                type_name=type_name,
            ) from error
        try:
            return _build(code, target, payload, method)
        except Exception as error:
            raise DeserializationError(
                f"the type refuses what was stored ({type(error).__name__}: {error}); the stored "
                "bytes are unchanged, so a type that accepts them again reads them again",
                type_name=type_name,
            ) from error

    return unpack


def _check_allowed(allowed: Allowlist, module: str, name: str, method: str | None) -> None:
    key = (module, name)
    if method is not None:
        if (module, name, method) in allowlists.SAFE_MSGPACK_METHODS:
            return
    elif key in allowlists.SAFE_MSGPACK_TYPES or (isinstance(allowed, set) and key in allowed):
        return
    elif allowed is True:
        emit_serde_event({"kind": "msgpack_unregistered_allowed", "module": module, "name": name})
        if key not in _announced:
            _announced.add(key)
            logger.info("building %s.%s, which is not on an allowlist", module, name)
        return
    emit_serde_event({"kind": "msgpack_blocked", "module": module, "name": name})
    raise DeserializationError(
        "the type is not on the serializer's allowlist; add it with `with_allowlist` or "
        f"`JsonPlusSerializer(allowed_msgpack_modules=[({module!r}, {name!r})])`",
        type_name=f"{module}.{name}",
    )


def _build(code: int, target: Any, payload: Any, method: str | None) -> Any:
    if code == _POSITIONAL:
        if target.__module__ == "langgraph.types" and len(payload) == 3:
            return target(payload[0], payload[1], timeout=payload[2])
        return target(*payload)
    if code == _KEYWORDS:
        return target(**payload)
    if code == _METHOD and method is not None:
        return getattr(target, method)(payload)
    if code in (_PYDANTIC_V1, _PYDANTIC_V2):
        return _model(target, payload, "construct" if code == _PYDANTIC_V1 else "model_construct")
    if target in (set, frozenset):
        # Members of a set are hashable, so a list among them was a tuple when it was stored.
        return target(map(_as_tuples, payload))
    return target(payload)


def _model(target: Any, fields: dict[str, Any], unvalidated: str) -> Any:
    try:
        return target(**fields)
    except Exception:
        # A stored model was valid once; a validator that is stricter today, or one that expects
        # the input form of a field, must not make it unreadable.
        return getattr(target, unvalidated)(**fields)


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def _array(dtype: str, shape: list[int], order: Literal["C", "F"], buffer: bytes) -> Any:
    try:
        numpy = importlib.import_module("numpy")
    except ImportError as error:
        raise DeserializationError(
            "numpy is needed to read this value and is not installed", type_name="numpy.ndarray"
        ) from error
    return numpy.frombuffer(buffer, dtype=numpy.dtype(dtype)).reshape(shape, order=order)
