"""`forkpoint doctor`: whether a database is sound."""

from __future__ import annotations

from typing import Annotated

import typer

from forkpoint.cli.arguments import open_database
from forkpoint.cli.options import Database, Json
from forkpoint.cli.printer import printer_for
from forkpoint.cli.progress import progress_bar
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
    with progress_bar("examining") as progress:
        return store.examine(progress)
