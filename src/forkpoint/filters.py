"""Metadata filters: what they mean, once, for every database.

An entry matches where the key is present and the stored value is equal as JSON: ``True`` is not
``1``,
``1.0`` is ``1``, ``None`` matches only a stored null, nested values are compared whole, and a key
is a text like any other, whatever characters it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forkpoint.checkpoints import Extra, stored_metadata
from forkpoint.errors import InvalidArgumentError
from forkpoint.store.records import StoredCheckpoint
from forkpoint.store.terms import canonical_json

Accept = Callable[[StoredCheckpoint], bool]


def metadata_filter(
    wanted: dict[str, Any] | None,
) -> tuple[Sequence[tuple[str, Any]], Accept | None]:
    """A metadata filter as entries to look up and a test for those that no index holds."""
    if wanted is None:
        return (), None
    given: object = wanted
    if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
        raise InvalidArgumentError("filter", "must be a dict with text keys")
    indexed: list[tuple[str, Any]] = []
    tested: dict[str, str] = {}
    for key, value in wanted.items():
        try:
            text = canonical_json(value)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(
                "filter", f"entry {key!r} is not a JSON value ({error})"
            ) from error
        if key in Extra.CHANGING or key == "step":
            tested[key] = text
        else:
            indexed.append((key, value))

    def accept(record: StoredCheckpoint) -> bool:
        entries = stored_metadata(record, Extra.unpacked(record.extra), {})
        return all(
            key in entries and canonical_json(entries[key]) == text for key, text in tested.items()
        )

    return indexed, accept if tested else None


def in_namespace(namespace: str | None) -> Accept | None:
    """Accepts the checkpoints of one namespace; None for all."""
    return None if namespace is None else lambda record: record.namespace == namespace


def all_of(*tests: Accept | None) -> Accept | None:
    """Accepts what every test accepts that there is."""
    there = [test for test in tests if test is not None]
    return (lambda record: all(test(record) for test in there)) if there else None
