"""Moving over: a database that LangGraph's own saver has written is brought in and compared."""

from __future__ import annotations

from functools import partial

import forkpoint as fp
from benchmarks import results as m
from benchmarks.measure import Bench, seconds
from benchmarks.measures.supersteps import THREAD
from benchmarks.places import Database, Place
from benchmarks.replay import prepare, replay
from benchmarks.savers import Role, contenders

_TOPIC = "import"


def measure_import(bench: Bench) -> None:
    """A file of `SqliteSaver` with the counter (W5), into each database."""
    recording = bench.recording("W5")
    (stock,) = contenders([Database.SQLITE], Role.STOCK)
    with bench.new_place(stock) as source:
        with stock.open(source) as saver:
            replay(saver, prepare(recording, saver, THREAD))
        for contender in bench.turns(_TOPIC, Role.OURS):
            with bench.new_place(contender) as place, fp.open(place.url) as store:
                taken = seconds(partial(_bring, store, source))
                bench.note(contender, _TOPIC, m.IMPORTED, len(recording.puts) / taken)


def _bring(store: fp.Store, source: Place) -> None:
    report = store.import_from_langgraph("sqlite", source.url)
    if report.refused:
        raise RuntimeError(f"the import refused: {report.refused[0]}")
