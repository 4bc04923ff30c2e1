"""`forkpoint label`: names for checkpoints."""

from __future__ import annotations

from typing import Annotated

import typer

from forkpoint.cli.arguments import find_checkpoint, open_database
from forkpoint.cli.options import Database, Json, Session
from forkpoint.cli.printer import printer_for
from forkpoint.errors import InvalidArgumentError


def label(
    session: Session,
    database: Database,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CHECKPOINT] NAME",
            help="What to name, and how; with --remove only the name. Without: list the labels.",
            show_default=False,
        ),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the name off.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the name off the checkpoint that has it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Name a checkpoint; the name is taken wherever a checkpoint is asked for."""
    given = names or []
    with open_database(database) as store:
        if remove:
            if len(given) != 1:
                raise InvalidArgumentError("label", "--remove takes SESSION and NAME")
            store.unlabel(session, given[0])
        elif len(given) == 2:
            ref = find_checkpoint(store, session, given[0])
            store.label(session, ref.checkpoint_id, given[1], replace=replace)
        elif given:
            raise InvalidArgumentError("label", "takes SESSION, CHECKPOINT and NAME")
        printer_for(as_json=as_json).labels(session, store.labels(session))
