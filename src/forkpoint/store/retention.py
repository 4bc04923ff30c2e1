"""How long checkpoints are kept: policies, and where they are stored.

A checkpoint goes when no rule of its session's policy keeps it. Policies are stored for the whole
database, for a workspace, an agent or a session, and the most specific one that there is decides
alone: rules of several policies are never mixed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Self

from forkpoint.errors import DatabaseError, InvalidArgumentError
from forkpoint.store.checks import LONGEST_SESSION_ID, check_bool, check_session_id, check_text
from forkpoint.store.driver import Connection, Driver

Scope = Literal["database", "workspace", "agent", "session"]

_MICROSECOND = timedelta(microseconds=1)
_SWITCHES = ("keep_fork_points", "keep_labelled", "keep_pending")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """Which checkpoints of a session are kept. One rule that keeps a checkpoint is enough.

    The head of every namespace is always kept. With neither `keep_last` nor `keep_newer_than`
    there is no limit and everything is kept: so a policy without arguments exempts what it is set
    for. Checkpoints of subgraphs go with the root checkpoint that they belong to. What a fork
    inherits goes as a whole, when no rule keeps the newest of it.

    What goes is out of its session's view. Its bytes go too, as soon as no fork reads it and no
    delta channel is rebuilt from it.

    >>> from datetime import timedelta
    >>> policy = RetentionPolicy(keep_last=100, keep_newer_than=timedelta(days=30))
    >>> RetentionPolicy.from_json(policy.to_json()) == policy
    True
    """

    keep_last: int | None = None
    """So many checkpoints of the root namespace, the ones written last."""
    keep_newer_than: timedelta | None = None
    """By the time in the checkpoint's id, else by the time stored with it. One that tells no time
    is kept by this rule."""
    keep_fork_points: bool = True
    """Where live sessions were forked from this one."""
    keep_labelled: bool = True
    """What has a name."""
    keep_pending: bool = True
    """The ends of branches that wait for something: an open question, results of a superstep that
    was not finished."""

    def __post_init__(self) -> None:
        last, newer = self.keep_last, self.keep_newer_than
        if last is not None:
            if isinstance(last, bool) or not isinstance(last, int):
                raise InvalidArgumentError(
                    "keep_last", f"must be a number of checkpoints, not {type(last).__name__}"
                )
            if last < 1:
                raise InvalidArgumentError(
                    "keep_last", f"must be 1 or more, not {last}: a session keeps its head"
                )
        if newer is not None:
            if not isinstance(newer, timedelta):
                raise InvalidArgumentError(
                    "keep_newer_than", f"must be a timedelta, not {type(newer).__name__}"
                )
            if newer <= timedelta(0):
                raise InvalidArgumentError("keep_newer_than", f"must be a time span, not {newer}")
        for name in _SWITCHES:
            check_bool(name, getattr(self, name))

    @property
    def keeps_everything(self) -> bool:
        """Whether the policy sets no limit."""
        return self.keep_last is None and self.keep_newer_than is None

    def to_json(self) -> str:
        """The policy as a JSON object; the time span in microseconds."""
        newer = self.keep_newer_than
        return json.dumps(
            {
                "keep_last": self.keep_last,
                "keep_newer_than": None if newer is None else newer // _MICROSECOND,
                **{name: getattr(self, name) for name in _SWITCHES},
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`. Raises `InvalidArgumentError` for anything else, rules of a
        newer version included: to ignore a rule would remove what it keeps."""
        try:
            fields = json.loads(text)
        except ValueError as error:
            raise InvalidArgumentError("policy", f"is not JSON ({error})") from error
        known = {"keep_last", "keep_newer_than", *_SWITCHES}
        if not isinstance(fields, dict) or not fields.keys() <= known:
            raise InvalidArgumentError("policy", f"{text} is not a policy of this version")
        newer = fields.get("keep_newer_than")
        if newer is not None:
            if isinstance(newer, bool) or not isinstance(newer, int):
                raise InvalidArgumentError("keep_newer_than", "must be whole microseconds")
            try:
                fields["keep_newer_than"] = newer * _MICROSECOND
            except OverflowError as error:
                raise InvalidArgumentError("keep_newer_than", "is too long") from error
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy, and what it is set for."""

    scope: Scope
    name: str
    """Of the workspace, agent or session; empty for the whole database."""
    policy: RetentionPolicy


class Policies:
    """Every stored policy, as of one moment: which one a session has."""

    def __init__(self, stored: tuple[StoredPolicy, ...]) -> None:
        self._by_scope = {(item.scope, item.name): item.policy for item in stored}

    def __bool__(self) -> bool:
        return bool(self._by_scope)

    def only_sessions(self) -> list[str] | None:
        """The sessions that have a policy, if no other session can have one; else None."""
        if any(scope != "session" for scope, _ in self._by_scope):
            return None
        return [name for _, name in self._by_scope]

    def of(self, name: str, workspace: str | None, agent: str | None) -> RetentionPolicy | None:
        """A session's policy: the most specific that there is."""
        found = self._by_scope.get(("session", name))
        if found is None and agent is not None:
            found = self._by_scope.get(("agent", agent))
        if found is None and workspace is not None:
            found = self._by_scope.get(("workspace", workspace))
        return found or self._by_scope.get(("database", ""))


class Retention:
    """The stored policies of one database: `store.retention`.

    Each method means the whole database unless it is given one of `session`, `agent` and
    `workspace`. A session's own policy comes before its agent's, that before its workspace's, and
    that before the database's. `Store.assign` says which agent and workspace a session belongs to.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def set(
        self,
        policy: RetentionPolicy,
        *,
        session: str | None = None,
        agent: str | None = None,
        workspace: str | None = None,
    ) -> None:
        """Store a policy in place of the one that the scope has. `Store.collect` applies it."""
        check_policy(policy)
        scope, name = _scope(session, agent, workspace)
        text = policy.to_json()
        self._driver.write(lambda db: db.run("set_policy", scope=scope, name=name, policy=text))

    def get(
        self,
        *,
        session: str | None = None,
        agent: str | None = None,
        workspace: str | None = None,
    ) -> RetentionPolicy | None:
        """The policy that is set for exactly this scope; None when there is none."""
        scope, name = _scope(session, agent, workspace)
        with self._driver.read() as db:
            row = db.one("policy", scope=scope, name=name)
        return None if row is None else _read_policy(scope, name, row[0])

    def list(self) -> tuple[StoredPolicy, ...]:
        """Every policy that is set."""
        with self._driver.read() as db:
            return stored_policies(db)

    def remove(
        self,
        *,
        session: str | None = None,
        agent: str | None = None,
        workspace: str | None = None,
    ) -> bool:
        """Take a scope's policy away; False when it had none."""
        scope, name = _scope(session, agent, workspace)
        return self._driver.write(lambda db: db.run("drop_policy", scope=scope, name=name)) > 0

    def policy_of(self, session_id: str) -> RetentionPolicy | None:
        """The policy that decides over a session, wherever it is set; None when none does."""
        check_session_id("session_id", session_id)
        with self._driver.read() as db:
            workspace, agent = db.one("where_from", name=session_id) or (None, None)
            return Policies(stored_policies(db)).of(session_id, workspace, agent)


def check_policy(value: object) -> RetentionPolicy:
    """A policy, and nothing like one."""
    if not isinstance(value, RetentionPolicy):
        raise InvalidArgumentError(
            "policy", f"must be a RetentionPolicy, not {type(value).__name__}"
        )
    return value


def stored_policies(db: Connection) -> tuple[StoredPolicy, ...]:
    """Every policy that is set. Raises `DatabaseError` for one that this version cannot read."""
    return tuple(
        StoredPolicy(scope, name, _read_policy(scope, name, text))
        for scope, name, text in db.all("policies")
    )


def _read_policy(scope: str, name: str, text: str) -> RetentionPolicy:
    try:
        return RetentionPolicy.from_json(text)
    except InvalidArgumentError as error:
        where = f"the policy of {scope} {name!r}" if name else "the policy of the database"
        raise DatabaseError(
            f"{where} cannot be read ({error}); set it anew, or upgrade Forkpoint. Nothing was "
            "collected"
        ) from error


def _scope(session: Any, agent: Any, workspace: Any) -> tuple[Scope, str]:
    given: list[tuple[Scope, str]] = []
    if session is not None:
        given.append(("session", check_session_id("session", session)))
    if agent is not None:
        given.append(("agent", check_text("agent", agent, LONGEST_SESSION_ID)))
    if workspace is not None:
        given.append(("workspace", check_text("workspace", workspace, LONGEST_SESSION_ID)))
    if len(given) > 1:
        raise InvalidArgumentError(
            given[1][0], f"cannot be given together with {given[0][0]}: a policy has one scope"
        )
    return given[0] if given else ("database", "")
