"""Clean-up: of a long conversation all but the last checkpoint goes, and the values of the rest."""

from __future__ import annotations

from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

import forkpoint as fp
from benchmarks import results as m
from benchmarks.measure import Bench, seconds
from benchmarks.measures.supersteps import THREAD
from benchmarks.places import Place
from benchmarks.replay import prepare, replay
from benchmarks.savers import Contender, Role

_WORKLOADS = ("W1", "W5")


def measure_collection(bench: Bench) -> None:
    """Ours by `collect`, beside the stock savers that can prune."""
    for name in _WORKLOADS:
        recording, topic = bench.recording(name), f"collect {name}"
        for contender in bench.turns(topic, Role.STOCK, Role.OURS):
            with bench.new_place(contender) as place:
                with contender.open(place) as saver:
                    if not contender.ours and not _prunes(saver):
                        continue
                    replay(saver, prepare(recording, saver, THREAD))
                taken = _collect(place) if contender.ours else _prune(contender, place)
                rate = (len(recording.root_ids) - 1) / taken
                bench.note(contender, topic, m.COLLECTED, rate)
                bench.note(contender, topic, m.COLLECTED_DISK, place.megabytes())


def _collect(place: Place) -> float:
    with fp.open(place.url) as store:
        return seconds(partial(store.collect, fp.RetentionPolicy(keep_last=1)))


def _prune(contender: Contender, place: Place) -> float:
    with contender.open(place) as saver:
        return seconds(partial(saver.prune, [THREAD]))


def _prunes(saver: BaseCheckpointSaver[Any]) -> bool:
    return type(saver).prune is not BaseCheckpointSaver.prune
