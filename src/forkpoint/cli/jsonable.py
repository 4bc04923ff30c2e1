"""Values as JSON: what `--json` prints. Every command's document is made here."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Mapping
from datetime import date, datetime, time
from enum import Enum
from typing import Any

from pydantic import BaseModel


def jsonable(value: Any) -> Any:
    """`value` built from nothing but dicts, lists, strings, numbers, booleans and None.

    Bytes become base64 text; NaN, infinities and types without a plain form become their `repr`.

    >>> jsonable({1: (b"ab", None)})
    {'1': ['YWI=', None]}
    """
    match value:
        case float() if not math.isfinite(value):
            return repr(value)
        case None | bool() | int() | float() | str():
            return value
        case Enum():
            return jsonable(value.value)
        case bytes() | bytearray():
            return base64.b64encode(value).decode("ascii")
        case datetime() | date() | time():
            return value.isoformat()
        case BaseModel():
            return jsonable(value.model_dump())
        case Mapping():
            return {str(key): jsonable(item) for key, item in value.items()}
        case list() | tuple():
            return [jsonable(item) for item in value]
        case set() | frozenset():
            return sorted((jsonable(item) for item in value), key=repr)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {
                field.name: jsonable(getattr(value, field.name))
                for field in dataclasses.fields(value)
            }
        case _:
            return repr(value)
