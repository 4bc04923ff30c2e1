"""Arguments and options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

Database = Annotated[
    str,
    typer.Option(
        "--db",
        envvar="FORKPOINT_DB",
        metavar="PATH|URL",
        help="The Forkpoint database.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Session = Annotated[str, typer.Argument(metavar="SESSION", help="A session's id.")]
Checkpoint = Annotated[
    str | None,
    typer.Argument(
        metavar="CHECKPOINT",
        help="A checkpoint's id, the beginning of one, a label, or turn:N; the head if left out.",
    ),
]
Address = Annotated[
    str, typer.Argument(help="SESSION, for its head, or SESSION@CHECKPOINT.", show_default=False)
]
