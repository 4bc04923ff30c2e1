"""What the commands that keep house and move sessions have done, as lines of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forkpoint.model import (
    CollectionReport,
    DetachReport,
    ErasureReport,
    ExportReport,
    ImportReport,
    StockImport,
)

Report = CollectionReport | ErasureReport | DetachReport | ExportReport | ImportReport | StockImport
Lines = list[tuple[Any, ...]]
"""Each a line: what it is about, and figures with their names."""


def report_lines(report: Report) -> Lines:
    """A report as lines, the sum last."""
    return _LINES[type(report)](report)


def _collection(report: CollectionReport) -> Lines:
    lines: Lines = [
        ("session", it.session_id, f"{it.checkpoints} checkpoints", f"{it.rows} rows", _size(it))
        for it in report.sessions
    ]
    lines += [
        ("values", it.root, f"{it.values} values", _size(it)) for it in report.families if it.values
    ]
    done = "would go" if report.dry_run else "gone"
    lines.append(
        (
            done,
            f"{report.checkpoints} checkpoints",
            f"{report.rows} rows",
            f"{report.values} values",
            _size(report),
        )
    )
    if not report.dry_run:
        free = () if report.free is None else (f"{report.free} bytes free inside",)
        lines.append(("given back", f"{report.given_back} bytes", *free))
    return lines


def _erasure(report: ErasureReport) -> Lines:
    lines: Lines = [
        (
            "erased",
            report.session_id,
            f"{report.rows} rows",
            f"{report.values} values",
            _size(report),
        )
    ]
    lines += [
        ("still held by", it.session_id, f"{it.values} values", _size(it)) for it in report.held
    ]
    lines += [
        ("still read by", ", ".join(it.forks), it.checkpoint_id, it.namespace)
        for it in report.standing
    ]
    lines.append(("bytes", "gone from the files" if report.gone else "not yet overwritten"))
    return lines


def _detachment(report: DetachReport) -> Lines:
    if not report.detached:
        return [("stands on its own already", report.session_id)]
    figures = (f"{report.checkpoints} checkpoints", f"{report.writes} writes")
    return [("detached", report.session_id, *figures)]


def _export(report: ExportReport) -> Lines:
    return [("exported", report.session_id, report.path, *_moved(report))]


def _import(report: ImportReport) -> Lines:
    lines: Lines = [("imported", report.session_id, *_moved(report))]
    return lines + [("left out", part) for part in report.skipped]


def _moved(report: ExportReport | ImportReport) -> tuple[str, ...]:
    return (
        f"{report.checkpoints} checkpoints",
        f"{report.writes} writes",
        f"{report.values} values",
        _size(report),
        report.sha256,
    )


def _stock(report: StockImport) -> Lines:
    lines: Lines = [("refused", it.thread_id, it.reason) for it in report.refused]
    speed = report.checkpoints / report.seconds if report.seconds else 0.0
    lines.append(
        (
            "imported",
            f"{report.threads} threads",
            f"{report.checkpoints} checkpoints",
            f"{report.writes} writes",
            f"{report.already_there} there already",
            f"{speed:.0f} checkpoints/s",
        )
    )
    return lines


def _size(it: Any) -> str:
    return f"{it.bytes} bytes"


_LINES: dict[type[Any], Callable[[Any], Lines]] = {
    CollectionReport: _collection,
    ErasureReport: _erasure,
    DetachReport: _detachment,
    ExportReport: _export,
    ImportReport: _import,
    StockImport: _stock,
}
