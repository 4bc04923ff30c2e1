"""Ids that are the same in every run, so that two savers' contents can be compared exactly."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from langgraph.checkpoint.base.id import UUID as UUID6

TICK_0 = 0x1F0_0000_0000_0000


class Clock:
    """Stands in for `uuid6`: one tick per id, starting over with each `reset`."""

    def __init__(self) -> None:
        self.ticks = 0
        self.messages = 0

    def reset(self) -> None:
        self.ticks = 0
        self.messages = 0

    def uuid6(self, node: int | None = None, clock_seq: int | None = None) -> UUID:
        self.ticks += 1
        stamp = TICK_0 + self.ticks
        number = ((stamp >> 12) << 80) | ((stamp & 0xFFF) << 64)
        number |= ((clock_seq or 0) & 0x3FFF) << 48
        return UUID6(int=number | 0x1234567890AB, version=6)

    def uuid4(self) -> UUID:
        self.messages += 1
        return UUID(int=self.messages, version=4)


@pytest.fixture
def ticking_ids(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make LangGraph's ids count up; the returned function starts them over."""
    clock = Clock()
    monkeypatch.setattr("langgraph.pregel._checkpoint.uuid6", clock.uuid6)
    monkeypatch.setattr("langgraph.graph.message.uuid", clock)
    return clock.reset
