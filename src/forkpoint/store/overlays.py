"""What forks wrote on checkpoints that they only inherit.

Such a row belongs to another session and does not change, so the writes wait in the fork's own
thread as if the checkpoint were still to come, and are laid over it by whoever reads it.
"""

from __future__ import annotations

from collections.abc import Sequence

from forkpoint.store.driver import Connection
from forkpoint.store.lineage import NEVER, View
from forkpoint.store.records import WAITING_FOR_ROOT

Overlays = dict[bytes, list[tuple[bytes, bytes]]]
"""By checkpoint: task and body of each row of writes, in the order they apply."""


def overlays(db: Connection, view: View, namespace: str) -> Overlays:
    """What a fork wrote on what it inherits, and what its bases had written when it left them."""
    if not view.bases:
        return {}
    standing = [(view.session, NEVER), *((base.session, base.cut) for base in view.bases)]
    return laid_by(db, standing, namespace)


def laid_by(db: Connection, standing: Sequence[tuple[int, int]], namespace: str) -> Overlays:
    """What sessions wrote on rows that are not their own, each up to a tick; nearest first."""
    cuts: dict[int, int] = {}
    for session, cut in standing:
        thread = db.one("thread_of", session=session, namespace=namespace)
        if thread is not None:
            cuts[thread[0]] = cut
    if not cuts:
        return {}
    found: dict[int, list[tuple[bytes, bytes, bytes]]] = {}
    for thread, cid, w, task, body in db.all("early_in", threads=db.members(cuts)):
        if task != WAITING_FOR_ROOT and w < cuts[thread]:
            found.setdefault(thread, []).append((cid, task, body))
    laid: Overlays = {}
    for number in reversed(cuts):
        for cid, task, body in found.get(number, ()):
            laid.setdefault(cid, []).append((task, body))
    return laid
