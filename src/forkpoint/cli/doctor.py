"""`forkpoint doctor`: whether a database is sound."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from forkpoint.cli.arguments import open_database
from forkpoint.cli.options import Database, Json
from forkpoint.cli.printer import printer_for
from forkpoint.model import Diagnosis
from forkpoint.opening import Store


def doctor(
    database: Database,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what follows from the rest of the database.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check every invariant of a database, also in use; exit code 1 when one does not hold."""
    with open_database(database) as store:
        diagnosis = _examine(store)
        report = None
        if repair and not diagnosis.sound:
            report = store.repair(diagnosis)
            diagnosis = _examine(store)
    printer_for(as_json=as_json).diagnosis(diagnosis, report)
    if not diagnosis.sound:
        raise typer.Exit(1)


def _examine(store: Store) -> Diagnosis:
    if not sys.stderr.isatty():
        return store.examine()
    with _bar() as bar:
        task = bar.add_task("sessions", total=None)
        return store.examine(lambda done, total: bar.update(task, completed=done, total=total))


@contextmanager
def _bar() -> Iterator[Progress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield bar
