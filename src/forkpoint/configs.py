"""LangGraph's configs as addresses: parsed and checked once, at the edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig

from forkpoint.errors import InvalidArgumentError
from forkpoint.store.checks import check_checkpoint_id, check_namespace, check_session_id

_DURABILITY = "__pregel_durability"
_RUNTIME = "__pregel_runtime"


@dataclass(frozen=True, slots=True)
class Address:
    thread_id: str
    namespace: str
    checkpoint_id: str | None


def config_of(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
        }
    }


def configurable_of(argument: str, config: object) -> Mapping[str, Any]:
    inner = config.get("configurable") if isinstance(config, Mapping) else None
    if not isinstance(inner, Mapping):
        raise InvalidArgumentError(argument, 'must be a config with a "configurable" mapping')
    return inner


def id_text(value: object) -> object:
    """Ids that are numbers or UUIDs are used as text, as the stock savers do."""
    if type(value) is not str and (
        isinstance(value, UUID) or (isinstance(value, int) and not isinstance(value, bool))
    ):
        return str(value)
    return value


def id_texts(argument: str, values: object) -> Sequence[str]:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise InvalidArgumentError(argument, f"must be a list of ids, not {type(values).__name__}")
    return [check_session_id(argument, id_text(value)) for value in values]


def thread_id_of(argument: str, configurable: Mapping[str, Any]) -> str:
    if "thread_id" not in configurable:
        raise InvalidArgumentError(argument, "configurable has no thread_id")
    return check_session_id("thread_id", id_text(configurable["thread_id"]))


def address_of(config: RunnableConfig) -> Address:
    configurable = configurable_of("config", config)
    checkpoint_id = configurable.get("checkpoint_id")
    return Address(
        thread_id_of("config", configurable),
        check_namespace("checkpoint_ns", configurable.get("checkpoint_ns", "")),
        check_checkpoint_id("checkpoint_id", id_text(checkpoint_id)) if checkpoint_id else None,
    )


def runs_beside(config: RunnableConfig) -> bool:
    """Whether LangGraph saves beside the run and does not wait: its durability says so.

    A run names its durability in the config only when it was asked for one; its default is
    ``"async"``. A call that is not part of a run is waited for.
    """
    configurable = config["configurable"]
    if _DURABILITY in configurable:
        return configurable[_DURABILITY] in ("async", "exit")
    return _RUNTIME in configurable


_CHECKPOINT_MAPPINGS = ("channel_values", "channel_versions", "versions_seen")


def check_checkpoint(checkpoint: object) -> None:
    """LangGraph's checkpoint dict. Raises `InvalidArgumentError` naming the part that is wrong."""
    if not isinstance(checkpoint, Mapping):
        raise InvalidArgumentError(
            "checkpoint", f"must be a checkpoint dict, not {type(checkpoint).__name__}"
        )
    for key in ("v", "id", "ts", *_CHECKPOINT_MAPPINGS):
        if key not in checkpoint:
            raise InvalidArgumentError("checkpoint", f"has no {key!r}")
    check_checkpoint_id("checkpoint.id", checkpoint["id"])
    for key in _CHECKPOINT_MAPPINGS:
        part = checkpoint[key]
        if not isinstance(part, Mapping):
            raise InvalidArgumentError(
                f"checkpoint.{key}", f"must be a dict, not {type(part).__name__}"
            )
        for name in part:
            check_name(f"checkpoint.{key}", name)


def check_metadata(metadata: object) -> None:
    """Checkpoint metadata: a dict with text keys."""
    if not isinstance(metadata, Mapping):
        raise InvalidArgumentError("metadata", f"must be a dict, not {type(metadata).__name__}")
    for key in metadata:
        if not isinstance(key, str):
            raise InvalidArgumentError("metadata", f"key {key!r} is not text")


def check_writes(writes: object) -> None:
    """A task's writes: pairs of channel name and value."""
    if isinstance(writes, str | bytes) or not isinstance(writes, Sequence):
        raise InvalidArgumentError(
            "writes", f"must be a list of pairs, not {type(writes).__name__}"
        )
    for write in writes:
        if not isinstance(write, tuple | list) or len(write) != 2:
            raise InvalidArgumentError("writes", f"{write!r} is not a (channel, value) pair")
        check_name("writes", write[0])


def check_name(argument: str, name: object) -> None:
    """A channel or node name: text that UTF-8 can hold."""
    if not isinstance(name, str):
        raise InvalidArgumentError(argument, f"name {name!r} is not text")
    if not _is_encodable(name):
        raise InvalidArgumentError(
            argument, f"name {name!r} has a lone surrogate, which is not text"
        )


@lru_cache(4096)
def _is_encodable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
