"""LangGraph's public conformance suite, in full: none of its capabilities may be skipped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES
from langgraph.checkpoint.conformance.report import CapabilityReport

import forkpoint as fp

CAPABILITIES = sorted(capability.value for capability in ALL_CAPABILITIES)


async def _report(url_of: dict[str, Any], share_values: bool) -> CapabilityReport:
    """Run the suite; each capability gets a fresh store, as the suite asks for."""
    made = 0

    @checkpointer_test(name=f"ForkpointSaver({url_of}, share_values={share_values})")
    async def checkpointer() -> AsyncGenerator[BaseCheckpointSaver[int], None]:
        nonlocal made
        made += 1
        directory = url_of.get("directory")
        url = f"sqlite:///{directory}/{made}.db" if directory else "sqlite:///:memory:"
        async with fp.open(url) as store:
            yield store.saver(share_values=share_values)

    return await validate(checkpointer)


@pytest.mark.parametrize("share_values", [False, True], ids=["copied", "shared"])
@pytest.mark.parametrize("place", ["file", "memory"])
def test_all_eight_capabilities_pass(place: str, share_values: bool, tmp_path: Path) -> None:
    report = asyncio.run(_report({"directory": tmp_path} if place == "file" else {}, share_values))
    assert len(CAPABILITIES) == 8
    assert sorted(report.results) == CAPABILITIES
    for name in CAPABILITIES:
        result = report.results[name]
        assert result.detected, f"{name} was not recognised as implemented"
        assert result.tests_skipped == 0, f"{name} was skipped"
        assert result.failures == []
        assert result.passed is True
        assert result.tests_passed > 0, f"{name} ran no test"
