"""A session that was exported and imported is the session it was."""

from __future__ import annotations

from pathlib import Path

import pytest

import forkpoint as fp
from tests.langgraph.scenarios import SCENARIOS, Scenario
from tests.moving.seeing import THREAD, everything, ids, play_in, timeline

EVERY_SCENARIO = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda item: item.name)
Pair = tuple[fp.Store, fp.Store]


@EVERY_SCENARIO
def test_every_snapshot_comes_along(scenario: Scenario, pair: Pair, archive: Path) -> None:
    here, there = pair
    play_in(here, scenario)
    exported = here.export(THREAD, archive)
    imported = there.import_session(archive)
    assert everything(there, scenario) == everything(here, scenario)
    assert timeline(there) == timeline(here)
    assert imported.checkpoints == exported.checkpoints
    assert imported.sha256 == exported.sha256


@EVERY_SCENARIO
def test_a_fork_takes_what_it_inherits_along(
    scenario: Scenario, two_files: Pair, archive: Path
) -> None:
    here, there = two_files
    play_in(here, scenario)
    for number, point in enumerate(ids(here.saver())[::3]):
        name = f"fork {number}"
        here.saver().fork_session(THREAD, point, name)
        here.export(name, archive)
        there.import_session(archive)
        assert everything(there, scenario, name) == everything(here, scenario, name)
        assert timeline(there, name) == timeline(here, name)
        archive.unlink()
