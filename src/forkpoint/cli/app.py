"""The commands. Each reads its arguments, calls the library once or twice, and prints.

An expected failure is one line on standard error: exit code 2 for an argument that cannot be
right, 1 for everything else.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from forkpoint.cli.arguments import find_address, find_checkpoint, free_session_id, open_database
from forkpoint.cli.deletion import delete
from forkpoint.cli.demo import run_demo
from forkpoint.cli.doctor import doctor
from forkpoint.cli.excerpt import one_line
from forkpoint.cli.forest import cut, plant
from forkpoint.cli.housekeeping import erase, gc
from forkpoint.cli.labelling import label
from forkpoint.cli.moving import detach, export, import_
from forkpoint.cli.options import Address, Checkpoint, Database, Json, Session
from forkpoint.cli.printer import printer_for
from forkpoint.errors import ForkpointError, InvalidArgumentError
from forkpoint.model import PendingPolicy
from forkpoint.timetravel import TimeTravel


class Commands(TyperGroup):
    """Turns the library's errors into a line of text and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ForkpointError as problem:
            typer.echo(f"forkpoint: {one_line(str(problem))}", err=True)
            raise typer.Exit(2 if isinstance(problem, InvalidArgumentError) else 1) from problem


app = typer.Typer(
    cls=Commands,
    help="Look at, compare and fork the conversations in a Forkpoint database.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line. Text that cannot be encoded is escaped instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"forkpoint {version('forkpoint')}")
        raise typer.Exit


@app.callback()
def forkpoint(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Look at, compare and fork the conversations in a Forkpoint database."""


@app.command()
def demo(
    database: Annotated[
        Path, typer.Option("--db", metavar="PATH", help="The database to make or add to.")
    ] = Path("forkpoint-demo.db"),
    as_json: Json = False,
) -> None:
    """Watch an agent's conversation being forked; needs no network and no key."""
    run_demo(database, as_json=as_json)


@app.command()
def tree(
    database: Database,
    session: Annotated[
        str | None,
        typer.Argument(metavar="SESSION", help="Only this session and what came of it."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show every session and where it was forked from."""
    with open_database(database) as store:
        forest = plant(store)
        if session is not None:
            store.session(session)
            forest = [branch for branch in [cut(forest, session)] if branch is not None]
        printer_for(as_json=as_json).tree(forest)


@app.command()
def log(
    session: Session,
    database: Database,
    limit: Annotated[int, typer.Option(help="How many checkpoints at most.")] = 20,
    before: Annotated[
        str | None,
        typer.Option(metavar="CHECKPOINT", help="Only what was written before this one."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(help="Only checkpoints of this source: input, loop, update, fork ..."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a session's timeline, newest checkpoint first."""
    with open_database(database) as store:
        edge = find_checkpoint(store, session, before).checkpoint_id if before else None
        entries = TimeTravel(store.saver()).get_timeline(
            session, limit=limit, before=edge, source=source
        )
        printer_for(as_json=as_json).timeline(
            store.session(session), entries, store.labels(session)
        )


@app.command()
def show(
    session: Session, database: Database, checkpoint: Checkpoint = None, as_json: Json = False
) -> None:
    """Show the state at a checkpoint: values, open questions, pending writes."""
    with open_database(database) as store:
        chosen = find_checkpoint(store, session, checkpoint).checkpoint_id if checkpoint else None
        snapshot = TimeTravel(store.saver()).get_state(session, chosen)
        printer_for(as_json=as_json).state(snapshot)


@app.command()
def diff(before: Address, after: Address, database: Database, as_json: Json = False) -> None:
    """Compare two checkpoints: changed channels, messages aligned by id."""
    with open_database(database) as store:
        comparison = TimeTravel(store.saver()).compare(
            find_address(store, before), find_address(store, after)
        )
        printer_for(as_json=as_json).comparison(comparison)


@app.command()
def fork(
    session: Session,
    database: Database,
    checkpoint: Checkpoint = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="NEW", help="The new session's id. [default: SESSION-fork]"),
    ] = None,
    pending: Annotated[
        PendingPolicy, typer.Option(help="What becomes of the checkpoint's pending writes.")
    ] = "auto",
    reason: Annotated[str | None, typer.Option(help="Why; kept with the fork.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what the fork would do.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Fork a checkpoint into a new session. The source is left as it is."""
    with open_database(database) as store:
        travel = TimeTravel(store.saver())
        ref = find_checkpoint(store, session, checkpoint)
        destination = to or free_session_id(store, f"{session}-fork")
        printer = printer_for(as_json=as_json)
        if dry_run:
            printer.plan(
                travel.fork_plan(ref.session_id, ref.checkpoint_id, destination, pending=pending)
            )
        else:
            printer.fork(
                travel.fork(
                    ref.session_id, ref.checkpoint_id, destination, pending=pending, reason=reason
                )
            )


for command in (label, delete, gc, erase, detach, export, doctor):
    app.command()(command)
app.command("import")(import_)
