"""Stored checkpoints as LangGraph's tuples, by one serializer.

A saver makes a new one of these when its serializer is replaced (`with_allowlist`).
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any, cast

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from forkpoint.checkpoints import Extra, stored_metadata
from forkpoint.codec import Codec
from forkpoint.configs import config_of
from forkpoint.errors import DatabaseError, DeserializationError
from forkpoint.store.cells import Encoded, KeyedVault, OpenVault, Seq, Vault
from forkpoint.store.database import Store as Plumbing
from forkpoint.store.exporting import DIGEST_KEY
from forkpoint.store.records import StoredCheckpoint
from forkpoint.store.terms import Remembered

_SHARED_MESSAGES = 50_000
_SHARED_LISTS = 500


class Memo:
    """Messages that were decoded once and are handed out again: for good, or for one listing."""

    def __init__(self) -> None:
        self.cells: Remembered[bytes, Any] = Remembered(_SHARED_MESSAGES)
        #: The longest beginning of a persistent list of messages that was decoded.
        self.lists: Remembered[tuple[int, int], list[Any]] = Remembered(_SHARED_LISTS)


class Decoder:
    """A codec, and the vault that goes with it.

    Values are decoded afresh for every reader, so that none can spoil another's. Two things are
    shared on purpose: with `share_values` messages, for good; and within one listing the messages
    that several of its checkpoints hold. Only messages: LangGraph's own channels change sets and
    lists in place.
    """

    def __init__(self, store: Plumbing, serde: SerializerProtocol, *, share_values: bool) -> None:
        self.serde = serde
        self.codec = Codec(serde)
        self.vault = _vault(store, serde)
        self._shared = Memo() if share_values else None

    def listing(self) -> Memo:
        """What the tuples of one listing may share."""
        return self._shared or Memo()

    def tuple(self, record: StoredCheckpoint, memo: Memo | None = None) -> CheckpointTuple:
        """A stored checkpoint as LangGraph knows it.

        Raises `DeserializationError` naming channel, checkpoint and type.
        """
        memo = memo or self._shared
        codec = self.codec
        cells = record.cells
        assert cells is not None
        values: dict[str, Any] = {}
        channel = ""
        try:
            for channel, reference in record.references.items():
                values[channel] = self.value(cells.resolve(reference), memo)
            writes = []
            for write in record.writes:
                channel = write.channel
                value = self.value(cells.resolve(write.value), memo)
                writes.append((write.task_id, channel, value))
            channel = ""
            extra = Extra.unpacked(record.extra)
            opaque = {key: codec.decode(cell) for key, cell in extra.opaque.items()}
        except DeserializationError as error:
            raise DeserializationError(
                error.problem,
                channel=channel or None,
                checkpoint_id=record.id,
                type_name=error.type_name,
            ) from error
        checkpoint: dict[str, Any] = {
            "v": extra.v,
            "ts": extra.ts,
            "id": record.id,
            "channel_values": values,
            "channel_versions": record.versions,
            "versions_seen": record.seen,
            "updated_channels": extra.updated(record.versions),
        }
        for key, cell in extra.more.items():
            checkpoint[key] = codec.decode(cell)
        return CheckpointTuple(
            config=config_of(record.session, record.namespace, record.id),
            checkpoint=cast(Checkpoint, checkpoint),
            metadata=cast(CheckpointMetadata, stored_metadata(record, extra, opaque)),
            parent_config=(
                None
                if record.parent is None
                else config_of(record.session, record.namespace, record.parent)
            ),
            pending_writes=writes,
        )

    def value(self, value: Encoded | None, memo: Memo | None = None) -> Any:
        """A value as the store resolved it, decoded."""
        memo = memo or self._shared
        if isinstance(value, bytes):
            return self.codec.decode(value) if memo is None else self._cell(value, memo)
        if isinstance(value, Seq):
            items = self.codec.decode_all(value.items) if memo is None else self._list(value, memo)
            return self.codec.wrap(items, value.mark)
        if value is None:
            return None
        return {
            key: self.value(part, memo) for key, part in zip(value.keys, value.values, strict=True)
        }

    def _list(self, value: Seq, memo: Memo) -> list[Any]:
        length = len(value.items)
        if value.source is None:
            return [self._cell(cell, memo) for cell in value.items]
        known = memo.lists.get(value.source)
        if known is not None and len(known) >= length:
            return known[:length]
        items = [self._cell(cell, memo) for cell in value.items]
        if all(map(self.codec.is_message, value.items)):
            memo.lists.remember(value.source, items[:])
        return items

    def _cell(self, cell: bytes, memo: Memo) -> Any:
        if not self.codec.is_message(cell):
            return self.codec.decode(cell)
        try:
            return memo.cells[cell]
        except KeyError:
            value = self.codec.decode(cell)
            memo.cells.remember(cell, value)
            return value


def _vault(store: Plumbing, serde: SerializerProtocol) -> Vault:
    if not isinstance(serde, EncryptedSerializer):
        return OpenVault()
    stored = store.setting(DIGEST_KEY, lambda: _encrypt(serde, os.urandom(32)))
    assert stored is not None
    return keyed_vault(serde, stored)


def keyed_vault(serde: EncryptedSerializer, stored_key: bytes) -> Vault:
    """The vault of an encrypting serializer, with the key of digests that a database holds.

    Raises `DatabaseError` when that was encrypted with another key.
    """
    return KeyedVault(
        partial(_encrypt, serde), partial(_decrypt, serde), _decrypt(serde, stored_key)
    )


def _encrypt(serde: EncryptedSerializer, data: bytes) -> bytes:
    name, sealed = serde.cipher.encrypt(data)
    label = name.encode()
    return bytes((len(label),)) + label + sealed


def _decrypt(serde: EncryptedSerializer, data: bytes) -> bytes:
    start = 1 + data[0]
    try:
        return serde.cipher.decrypt(data[1:start].decode(), data[start:])
    except Exception as error:
        raise DatabaseError(
            f"an encrypted value cannot be opened ({error}): is this the key it was written with?"
        ) from error
