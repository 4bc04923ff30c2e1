"""`forkpoint delete`: taking a session away."""

from __future__ import annotations

from typing import Annotated

import typer

from forkpoint.cli.arguments import open_database
from forkpoint.cli.excerpt import one_line
from forkpoint.cli.options import Database, Json, Session
from forkpoint.cli.printer import printer_for
from forkpoint.opening import Store
from forkpoint.store.deleting import ForksPolicy


def delete(
    session: Session,
    database: Database,
    forks: Annotated[
        ForksPolicy, typer.Option(help="What becomes of the sessions forked from it.")
    ] = "keep",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Delete a session. Its forks keep what they read through it, unless told otherwise."""
    with open_database(database) as store:
        if not yes:
            typer.confirm(_question(store, session, forks), abort=True, err=True)
        printer_for(as_json=as_json).deletion(store.delete(session, forks))


def _question(store: Store, session: str, forks: ForksPolicy) -> str:
    store.session(session)
    question = f"Delete session {one_line(session)}"
    if forks != "cascade":
        return f"{question}?"
    waiting, found = [session], -1
    while waiting:
        found += 1
        waiting += [fork.session_id for fork in store.forks_of(waiting.pop())]
    return f"{question} and {found} {'session' if found == 1 else 'sessions'} forked from it?"
