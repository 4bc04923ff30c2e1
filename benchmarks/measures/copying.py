"""The three ways to fork with a stock saver: what users do who have no fork."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from benchmarks.measures.reading import read, thread
from benchmarks.places import Database, Place
from benchmarks.savers import Saver
from benchmarks.workloads.chat import MESSAGES_DELTA


def copy_chain(saver: Saver, source: str, checkpoint_id: str, destination: str) -> None:
    """The checkpoint and all before it, one by one through list and put."""
    last = thread(source, checkpoint_id)
    chain: list[CheckpointTuple] = [read(saver, last), *saver.list(thread(source), before=last)]
    parent: str | None = None
    for found in reversed(chain):
        _put(saver, found, destination, parent)
        parent = found.checkpoint["id"]


_TABLES = {
    Database.SQLITE: ("checkpoints", "writes"),
    Database.POSTGRES: ("checkpoints", "checkpoint_writes", "checkpoint_blobs"),
}


def copy_rows(place: Place, source: str, last_id: str, destination: str) -> None:
    """The same rows under another thread id, by SQL and behind the saver's back."""
    with place.connect() as connection:
        connection.execute("BEGIN")
        for table in _TABLES[place.database]:
            columns = [
                column[0]
                for column in connection.execute(f"SELECT * FROM {table} LIMIT 0").description
            ]
            listed, mark = ", ".join(columns), place.mark
            values = ", ".join(mark if column == "thread_id" else column for column in columns)
            which, wanted = f"thread_id = {mark} AND checkpoint_ns = ''", [destination, source]
            if "checkpoint_id" in columns:
                which += f" AND checkpoint_id <= {mark}"
                wanted.append(last_id)
            connection.execute(
                f"INSERT INTO {table} ({listed}) SELECT {values} FROM {table} WHERE {which}",
                wanted,
            )
        connection.execute("COMMIT")


def copy_head(
    saver: Saver,
    source: str,
    checkpoint_id: str,
    destination: str,
    delta_channels: Sequence[str] = (),
) -> None:
    """One checkpoint without its history; delta channels become snapshots."""
    found: CheckpointTuple = read(saver, thread(source, checkpoint_id))
    if delta_channels:
        history = saver.get_delta_channel_history(
            config=thread(source, checkpoint_id), channels=list(delta_channels)
        )
        for name in delta_channels:
            channel = MESSAGES_DELTA.from_checkpoint(history[name].get("seed"))
            channel.replay_writes(history[name]["writes"])
            found.checkpoint["channel_values"][name] = _DeltaSnapshot(channel.get())
        found.metadata.pop("counters_since_delta_snapshot", None)
    _put(saver, found, destination, None)


def _put(saver: Saver, found: CheckpointTuple, destination: str, parent: str | None) -> None:
    written = saver.put(
        thread(destination, parent),
        found.checkpoint,
        found.metadata,
        found.checkpoint["channel_versions"],
    )
    for position, (task_id, channel, value) in enumerate(found.pending_writes or ()):
        saver.put_writes(written, [(channel, value)], task_id, f"~{position:06d}")
