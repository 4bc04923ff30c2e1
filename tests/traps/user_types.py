"""Classes such as a user keeps in a state, of each kind that LangGraph stores."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from pydantic import BaseModel


@dataclass
class Order:
    """A dataclass."""

    number: int
    items: list[str]


class NewOrder:
    """What `Order` became: its old fields are no longer accepted."""

    def __init__(self, *, reference: str) -> None:
        self.reference = reference


class Ticket(BaseModel):
    """A pydantic model."""

    title: str
    tags: set[str] = set()


class Colour(Enum):
    """An enumeration."""

    RED = "red"


class Row(NamedTuple):
    """A named tuple."""

    key: str
    text: str


@dataclass
class Profile:
    """A dataclass with a field that its constructor does not take."""

    name: str
    size: int = field(init=False, default=0)


def example(name: str) -> Any:
    """A value of the class of this name."""
    return {
        "Order": lambda: Order(1, ["x"]),
        "Ticket": lambda: Ticket(title="t", tags={"a"}),
        "Colour": lambda: Colour.RED,
        "Row": lambda: Row("k", "text"),
        "Profile": lambda: Profile("p"),
    }[name]()
