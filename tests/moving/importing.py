"""What runs in a process of its own, to be killed in the midst of it."""

from __future__ import annotations

import os
import signal
from typing import Any

import forkpoint as fp


def import_until_killed(url: str, kind: Any, source: str, most: int) -> None:
    """Bring a stock database in, and die when so many checkpoints are done."""

    def die(done: int, total: int) -> None:
        if done >= most:
            os.kill(os.getpid(), signal.SIGKILL)

    fp.open(url).import_from_langgraph(kind, source, progress=die)


def import_archive_until_killed(url: str, path: str, name: str, calls: int) -> None:
    """Import an archive, and die when progress was told of so many times."""
    left = calls

    def die(done: int, total: int) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    fp.open(url).import_session(path, name, progress=die)
