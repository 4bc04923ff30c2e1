"""`forkpoint detach`, `export` and `import`: sessions on their own, and elsewhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import forkpoint as fp
from forkpoint.cli.arguments import open_database
from forkpoint.cli.options import Database, Json, Session
from forkpoint.cli.printer import printer_for
from forkpoint.cli.progress import progress_bar
from forkpoint.errors import InvalidArgumentError


class Stock(StrEnum):
    """LangGraph's own savers."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


def detach(session: Session, database: Database, as_json: Json = False) -> None:
    """Make a fork stand on its own, so that its source can go."""
    with open_database(database) as store:
        printer_for(as_json=as_json).report(store.detach(session))


def export(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Must not be there yet.")],
    database: Database,
    as_json: Json = False,
) -> None:
    """Write a session into one file, with its values and its lineage."""
    with open_database(database) as store, progress_bar("exporting") as progress:
        report = store.export(session, file, progress)
    printer_for(as_json=as_json).report(report)


def import_(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE|URL", help="What `export` wrote, or the database of a stock saver."
        ),
    ],
    database: Database,
    session: Annotated[
        str | None, typer.Option("--as", metavar="ID", help="The session's id here.")
    ] = None,
    from_langgraph: Annotated[
        Stock | None,
        typer.Option(help="Bring in every thread of LangGraph's own saver; again to go on."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Bring sessions in. The database is made if it is not there."""
    if from_langgraph is not None and session is not None:
        raise InvalidArgumentError("--as", "is for one session out of a file")
    with fp.open(database) as store, progress_bar("importing") as progress:
        if from_langgraph is None:
            printer_for(as_json=as_json).report(
                store.import_session(source, session, progress=progress)
            )
            return
        report = store.import_from_langgraph(from_langgraph.value, source, progress=progress)
    printer_for(as_json=as_json).report(report)
    if report.refused:
        raise typer.Exit(1)
