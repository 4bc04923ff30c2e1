"""References that leave their database: the texts that they name, by other numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from forkpoint.store.cells import MAPPING, Reference


def terms_of(references: Iterable[Reference]) -> Iterator[int]:
    """The texts that some references name."""
    for reference in references:
        if isinstance(reference, list) and reference[0] == MAPPING:
            yield reference[1]
            yield from terms_of(reference[2:])


def renamed(reference: Reference, terms: Mapping[int, int]) -> Reference:
    """A reference with other numbers for the texts that it names."""
    if isinstance(reference, list) and reference[0] == MAPPING:
        parts = [renamed(part, terms) for part in reference[2:]]
        return [MAPPING, terms[reference[1]], *parts]
    return reference
