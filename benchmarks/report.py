"""The report: Rich tables on a terminal, aligned plain text in a pipe, JSON in a file."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.places import Database
from benchmarks.plan import Plan
from benchmarks.results import Results
from benchmarks.savers import Role, name_of
from benchmarks.targets import Verdict, verdicts
from benchmarks.workloads import WORKLOADS


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table before it is drawn; the first column is text, the others are numbers."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def print_report(results: Results, plan: Plan) -> None:
    """Writes all tables to stdout."""
    console = Console()
    draw = _draw_rich if console.is_terminal else _draw_plain
    judged = [verdict for verdict in verdicts(results, plan) if verdict.value is not None]
    for topic in results.samples:
        draw(console, _topic_sheet(results, topic))
        own = [verdict for verdict in judged if verdict.target.topic == topic]
        if own:
            draw(console, _targets_sheet(f"{topic}: targets", own))
    if not judged:
        return
    met = sum(verdict.met is True for verdict in judged)
    title = f"All targets: {met} of {len(judged)} met"
    if plan.quick:
        title += " (quick sizes: too small for the ratios of growing states)"
    draw(console, _targets_sheet(title, judged))


def write_json(results: Results, plan: Plan, path: Path, databases: Mapping[str, str]) -> None:
    """Writes every sample and verdict, with the versions they belong to."""
    document: dict[str, Any] = {
        "machine": {
            "python": platform.python_version(),
            "databases": dict(databases),
            "platform": platform.platform(),
            "langgraph": version("langgraph"),
            "langgraph-checkpoint-sqlite": version("langgraph-checkpoint-sqlite"),
            "langgraph-checkpoint-postgres": version("langgraph-checkpoint-postgres"),
        },
        "quick": plan.quick,
        "rounds": plan.rounds,
        "samples": results.samples,
        "targets": [
            {
                "topic": verdict.target.topic,
                "target": verdict.target.text,
                "bound": verdict.target.bound,
                "at_least": verdict.target.at_least,
                "unit": verdict.target.unit,
                "value": verdict.value,
                "met": verdict.met,
            }
            for verdict in verdicts(results, plan)
        ],
    }
    path.write_text(json.dumps(document, indent=2) + "\n")


def _topic_sheet(results: Results, topic: str) -> Sheet:
    database = next(one for one in Database if topic.endswith(one.topic("")))
    ours, stock = name_of(database, Role.OURS), name_of(database, Role.STOCK)
    savers = results.savers(topic)
    rows = []
    for measure, medians in results.rows(topic):
        cells = [_number(medians.get(saver)) for saver in savers]
        ratio = _ratio(results.ratio(topic, measure, ours, stock))
        rows.append([measure, *cells, ratio])
    workload = WORKLOADS.get(topic.removesuffix(database.topic("")))
    title = f"{topic}: {workload.title}" if workload else topic
    header = ["median", *savers, f"{ours}/{stock}"]
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return Sheet(title, header, rows)


def _targets_sheet(title: str, judged: Sequence[Verdict]) -> Sheet:
    rows = [[_line(verdict), _bound(verdict), _value(verdict), _met(verdict)] for verdict in judged]
    return Sheet(title, ["target", "bound", "measured", "verdict"], rows)


def _line(verdict: Verdict) -> str:
    return f"{verdict.target.topic}, {verdict.target.text}"


def _bound(verdict: Verdict) -> str:
    target = verdict.target
    sign = ">=" if target.at_least else "<="
    return f"{sign} {_with_unit(target.bound, target.unit)}"


def _value(verdict: Verdict) -> str:
    return "" if verdict.value is None else _with_unit(verdict.value, verdict.target.unit)


def _met(verdict: Verdict) -> str:
    return {True: "met", False: "NOT MET", None: "not measured"}[verdict.met]


def _with_unit(value: float, unit: str) -> str:
    return _ratio(value) if unit == "x" else f"{_number(value)} {unit}"


def _ratio(value: float | None) -> str:
    """Ratios below a half read best as fractions."""
    if value is None:
        return ""
    return f"1/{1 / value:.3g}" if 0 < value < 0.5 else f"{value:.3g}x"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def _draw_rich(console: Console, sheet: Sheet) -> None:
    table = Table(title=sheet.title, title_justify="left")
    for position, name in enumerate(sheet.header):
        table.add_column(name, justify="right" if position else "left")
    for row in sheet.rows:
        style = {"met": "green", "NOT MET": "red"}.get(row[-1])
        table.add_row(*row, style=style)
    console.print(table)


def _draw_plain(console: Console, sheet: Sheet) -> None:
    lines = [sheet.header, *sheet.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(sheet.header))]
    out = [f"\n{sheet.title}\n"]
    for line in lines:
        first, *others = zip(line, widths, strict=True)
        cells = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]
        out.append("  ".join(cells).rstrip() + "\n")
    sys.stdout.writelines(out)
    sys.stdout.flush()
