"""`forkpoint gc` and `forkpoint erase`: what is no longer needed goes, and what must go does."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

import typer

from forkpoint.cli.arguments import open_database
from forkpoint.cli.excerpt import one_line
from forkpoint.cli.options import Database, Json, Session
from forkpoint.cli.printer import printer_for
from forkpoint.cli.progress import progress_bar
from forkpoint.errors import InvalidArgumentError
from forkpoint.store.retention import RetentionPolicy

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def gc(
    database: Database,
    keep_last: Annotated[
        int | None, typer.Option(metavar="N", help="Keep so many checkpoints of each session.")
    ] = None,
    keep_newer_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Keep what is newer: 30d, 12h, 90m.")
    ] = None,
    keep_fork_points: Annotated[
        bool, typer.Option(help="Keep checkpoints that sessions were forked from.")
    ] = True,
    keep_labelled: Annotated[bool, typer.Option(help="Keep checkpoints with a label.")] = True,
    keep_pending: Annotated[
        bool, typer.Option(help="Keep open questions and unfinished work.")
    ] = True,
    session: Annotated[
        list[str] | None, typer.Option(metavar="SESSION", help="Only this one; may be repeated.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing; say what would go.")
    ] = False,
    compact: Annotated[
        bool, typer.Option("--compact", help="Write the database anew; writers wait.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Remove what no policy keeps, and everything that nobody needs any more.

    With --keep-last or --keep-newer-than that is the policy, otherwise the stored ones apply.
    """
    policy = None
    if keep_last is not None or keep_newer_than is not None:
        policy = RetentionPolicy(
            keep_last=keep_last,
            keep_newer_than=None if keep_newer_than is None else _span(keep_newer_than),
            keep_fork_points=keep_fork_points,
            keep_labelled=keep_labelled,
            keep_pending=keep_pending,
        )
    elif not (keep_fork_points and keep_labelled and keep_pending):
        raise InvalidArgumentError(
            "--no-keep-...", "says nothing without --keep-last or --keep-newer-than"
        )
    with open_database(database) as store, progress_bar("collecting") as progress:
        report = store.collect(
            policy, sessions=session or None, dry_run=dry_run, compact=compact, progress=progress
        )
    printer_for(as_json=as_json).report(report)


def erase(
    session: Session,
    database: Database,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Delete a session so that nothing of it stays that others do not hold."""
    with open_database(database) as store:
        if not yes:
            question = f"Erase session {one_line(session)}? It cannot be brought back."
            typer.confirm(question, abort=True, err=True)
        printer_for(as_json=as_json).report(store.erase(session))


def _span(text: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if match is None:
        raise InvalidArgumentError(
            "--keep-newer-than", f"must be a number and s, m, h, d or w, such as 30d, not {text!r}"
        )
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
