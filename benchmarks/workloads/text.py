"""Text that is the same on every run and compresses about as well as English."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from random import Random

_LETTERS = "eeeeeeeeeeeetttttttttaaaaaaaaooooooooiiiiiiinnnnnnnssssssrrrrrrhhhhhldddlllucmfywgpbvk"
_VOCABULARY_SIZE = 3000


@cache
def _vocabulary() -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Words, and their cumulative weights: the n-th is used 1/n as often as the first."""
    rng = Random("vocabulary")
    words = tuple(
        "".join(rng.choices(_LETTERS, k=rng.randint(2, 5) + min(4, rank // 300)))
        for rank in range(_VOCABULARY_SIZE)
    )
    return words, tuple(accumulate(1 / (rank + 4) for rank in range(_VOCABULARY_SIZE)))


def prose(seed: str, size: int) -> str:
    """About `size` characters of text; equal seeds give equal text."""
    words, weights = _vocabulary()
    rng = Random(seed)
    return " ".join(rng.choices(words, cum_weights=weights, k=size // 3))[:size].capitalize()
