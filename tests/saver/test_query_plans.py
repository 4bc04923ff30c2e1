"""No statement of the store reads a table from one end to the other.

The planner itself is asked about every named statement, so a new query without an index fails here.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import forkpoint as fp
from forkpoint.store.sqlite import DIALECT
from forkpoint.store.statements import statements
from tests.checkpoints import chain, write

STATEMENTS = statements(DIALECT)
SMALL = {"json_each", "chain", "CONSTANT", "retention"}
"""What may be read whole: a list parameter, the steps of a recursion, nothing at all, and a table
with a row for each policy that somebody wrote down."""
WHOLE = {"count_live_sessions"}
"""Statements that are about everything, and run once in a collection."""


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """A connection to a file with something in every table that a conversation fills."""
    path: Path = tmp_path_factory.mktemp("plans") / "agent.db"
    with fp.open(str(path)) as store:
        saver = store.saver()
        for number in range(5):
            made = chain(saver, f"t{number}", 40, user=f"u{number}")
            write(saver, f"t{number}", made[-1], [("a", 1)])
            saver.fork_session(f"t{number}", made[20], f"fork {number}")
    connection = sqlite3.connect(path)
    yield connection
    connection.close()


def plan(raw: sqlite3.Connection, sql: str) -> list[str]:
    """What the planner would do, a line for each step."""
    parameters = dict.fromkeys(re.findall(r"(?<![:\w]):(\w+)", sql))
    for name in re.findall(r"json_each\(:(\w+)\)", sql):
        parameters[name] = "[1, 2]"  # type: ignore[assignment]
    return [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {sql}", parameters)]


def test_there_are_statements() -> None:
    assert len(STATEMENTS) > 40


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_statement_uses_an_index(raw: sqlite3.Connection, name: str) -> None:
    steps = plan(raw, STATEMENTS[name])
    scanned = {
        step.split()[1] for step in steps if step.startswith("SCAN") and "VIRTUAL TABLE" not in step
    }
    assert scanned <= SMALL or name in WHOLE, f"{name} reads whole tables: {steps}"


@pytest.mark.parametrize(
    "name", sorted(name for name, sql in STATEMENTS.items() if " LIMIT " in sql.replace("\n", " "))
)
def test_page_is_not_sorted(raw: sqlite3.Connection, name: str) -> None:
    steps = plan(raw, STATEMENTS[name])
    assert not [step for step in steps if "TEMP B-TREE" in step], steps
