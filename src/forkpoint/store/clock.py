"""Times as the database holds them: microseconds since 1970, UTC. Never used for order."""

from __future__ import annotations

from datetime import UTC, datetime
from time import time
from uuid import UUID

_GREGORIAN = 0x01B21DD213814000
"""100-nanosecond steps from the UUID epoch (1582-10-15) to 1970."""


def now() -> int:
    """This moment."""
    return int(time() * 1_000_000)


def iso(microseconds: int) -> str:
    """A moment as ISO-8601, UTC."""
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat()


def made_at(checkpoint_id: str) -> int:
    """When a version 6 UUID was made by its maker's clock; 0 for any other id."""
    try:
        value = UUID(checkpoint_id)
    except ValueError:
        return 0
    if value.version != 6:
        return 0
    digits = value.hex
    steps = int(digits[:12] + digits[13:16], 16)
    return (steps - _GREGORIAN) // 10
