"""Whether two values that were read from a checkpointer are the same value.

``==`` is not enough: arrays answer with an array, and objects without ``__eq__`` differ from their
own copy. Where it does not settle the matter the serialized forms are compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

_SERIALIZER = JsonPlusSerializer(pickle_fallback=False)


def same(left: Any, right: Any) -> bool:
    """Whether `left` and `right` are equal, or serialize to the same bytes."""
    if type(left) is not type(right):
        return False
    try:
        if bool(left == right):
            return True
    except Exception:  # an array's truth, or a foreign __eq__: the bytes decide
        pass
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, (str, bytes, int, float, bool, set, frozenset)):
        return left != left and right != right  # two NaNs are the same value
    try:
        return _SERIALIZER.dumps_typed(left) == _SERIALIZER.dumps_typed(right)
    except Exception:  # not serializable here, so nothing can be said of it beyond ``==``
        return vars(left) == vars(right) if hasattr(left, "__dict__") else False
