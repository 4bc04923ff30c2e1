"""LangGraph's public conformance suite, in full: none of its capabilities may be skipped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from itertools import count
from pathlib import Path

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES
from langgraph.checkpoint.conformance.report import CapabilityReport

import forkpoint as fp

CAPABILITIES = sorted(capability.value for capability in ALL_CAPABILITIES)


async def _report(new_url: Callable[[], str], share_values: bool) -> CapabilityReport:
    """Run the suite; each capability gets a fresh store, as the suite asks for."""

    @checkpointer_test(name=f"ForkpointSaver({new_url()}, share_values={share_values})")
    async def checkpointer() -> AsyncGenerator[BaseCheckpointSaver[int], None]:
        async with fp.open(new_url()) as store:
            yield store.saver(share_values=share_values)

    return await validate(checkpointer)


@pytest.mark.parametrize("share_values", [False, True], ids=["copied", "shared"])
@pytest.mark.parametrize("place", ["file", "memory", "postgres", "older_postgres"])
def test_all_eight_capabilities_pass(
    place: str, share_values: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    numbers = count()
    new_url: Callable[[], str]
    if place == "file":
        new_url = lambda: f"sqlite:///{tmp_path}/{next(numbers)}.db"  # noqa: E731
    elif place == "memory":
        new_url = lambda: "sqlite:///:memory:"  # noqa: E731
    else:
        new_url = request.getfixturevalue(place).url
    report = asyncio.run(_report(new_url, share_values))
    assert len(CAPABILITIES) == 8
    assert sorted(report.results) == CAPABILITIES
    for name in CAPABILITIES:
        result = report.results[name]
        assert result.detected, f"{name} was not recognised as implemented"
        assert result.tests_skipped == 0, f"{name} was skipped"
        assert result.failures == []
        assert result.passed is True
        assert result.tests_passed > 0, f"{name} ran no test"
