"""Policies: what they may say, and which one a session has."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import forkpoint as fp
from forkpoint.store import Store
from tests.checkpoints import chain, ids

MONTH = fp.RetentionPolicy(keep_newer_than=timedelta(days=30))
TEN = fp.RetentionPolicy(keep_last=10, keep_fork_points=False)


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"keep_last": 0}, "keep_last"),
        ({"keep_last": -1}, "keep_last"),
        ({"keep_last": True}, "keep_last"),
        ({"keep_last": 2.0}, "keep_last"),
        ({"keep_newer_than": timedelta(0)}, "keep_newer_than"),
        ({"keep_newer_than": timedelta(days=-1)}, "keep_newer_than"),
        ({"keep_newer_than": 3600}, "keep_newer_than"),
        ({"keep_fork_points": 1}, "keep_fork_points"),
        ({"keep_labelled": None}, "keep_labelled"),
        ({"keep_pending": "yes"}, "keep_pending"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(arguments: Any, argument: str) -> None:
    with pytest.raises(fp.InvalidArgumentError) as error:
        fp.RetentionPolicy(**arguments)
    assert error.value.argument == argument


@pytest.mark.parametrize(
    "policy",
    [
        fp.RetentionPolicy(),
        MONTH,
        TEN,
        fp.RetentionPolicy(
            keep_last=1,
            keep_newer_than=timedelta(microseconds=1),
            keep_labelled=False,
            keep_pending=False,
        ),
        fp.RetentionPolicy(keep_newer_than=timedelta.max),
    ],
)
def test_a_policy_comes_back_from_json(policy: fp.RetentionPolicy) -> None:
    assert fp.RetentionPolicy.from_json(policy.to_json()) == policy


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '{"keep_last": "10"}',
        '{"keep_newer_than": "30d"}',
        '{"keep_newer_than": 1e30}',
        f'{{"keep_newer_than": {10**40}}}',
        '{"keep_last": 10, "keep_the_good_ones": true}',
    ],
)
def test_json_of_anything_else_is_refused(text: str) -> None:
    with pytest.raises(fp.InvalidArgumentError):
        fp.RetentionPolicy.from_json(text)


def test_stored_policies_are_listed_and_taken_away(store: Store) -> None:
    retention = store.retention
    assert retention.list() == ()
    retention.set(TEN)
    retention.set(MONTH, workspace="team")
    retention.set(MONTH, agent="helper")
    retention.set(TEN, session="s")
    retention.set(fp.RetentionPolicy(keep_last=3), session="s")
    assert retention.get() == TEN
    assert retention.get(workspace="team") == MONTH
    assert retention.get(agent="team") is None
    assert retention.get(session="s") == fp.RetentionPolicy(keep_last=3)
    assert {(item.scope, item.name) for item in retention.list()} == {
        ("database", ""),
        ("workspace", "team"),
        ("agent", "helper"),
        ("session", "s"),
    }
    assert retention.remove(session="s")
    assert not retention.remove(session="s")
    assert retention.get(session="s") is None


def test_the_most_specific_policy_decides_alone(store: Store) -> None:
    chain(store.saver(), "s", 1)
    store.assign("s", workspace="team", agent="helper")
    policies = [fp.RetentionPolicy(keep_last=number) for number in (1, 2, 3, 4)]
    assert store.retention.policy_of("s") is None
    store.retention.set(policies[0])
    assert store.retention.policy_of("s") == policies[0]
    store.retention.set(policies[1], workspace="team")
    store.retention.set(policies[3], workspace="another team")
    assert store.retention.policy_of("s") == policies[1]
    store.retention.set(policies[2], agent="helper")
    assert store.retention.policy_of("s") == policies[2]
    store.retention.set(policies[3], session="s")
    assert store.retention.policy_of("s") == policies[3]
    assert store.retention.policy_of("of nobody") == policies[0]


def test_each_session_is_collected_by_its_own_policy(store: Store) -> None:
    saver = store.saver()
    made = {name: chain(saver, name, 6) for name in ("plain", "of team", "of agent", "own", "kept")}
    for name in ("of team", "of agent", "own", "kept"):
        store.assign(name, workspace="team", agent="helper" if name == "of agent" else "")
    store.retention.set(fp.RetentionPolicy(keep_last=5))
    store.retention.set(fp.RetentionPolicy(keep_last=4), workspace="team")
    store.retention.set(fp.RetentionPolicy(keep_last=3), agent="helper")
    store.retention.set(fp.RetentionPolicy(keep_last=2), session="own")
    store.retention.set(fp.RetentionPolicy(), session="kept")
    store.collect()
    left = {name: ids(saver, name) for name in made}
    for name, count in (("plain", 5), ("of team", 4), ("of agent", 3), ("own", 2), ("kept", 6)):
        assert left[name] == made[name][::-1][:count], name


def test_without_a_policy_nothing_goes(store: Store) -> None:
    made = chain(store.saver(), "s", 4)
    report = store.collect()
    assert (report.checkpoints, report.rows, report.values) == (0, 0, 0)
    assert ids(store.saver(), "s") == made[::-1]


def test_only_sessions_with_a_policy_of_their_own_are_looked_at_when_there_is_no_other(
    store: Store,
) -> None:
    saver = store.saver()
    for name in ("one", "two"):
        chain(saver, name, 4)
    store.retention.set(fp.RetentionPolicy(keep_last=1), session="two")
    store.retention.set(fp.RetentionPolicy(keep_last=1), session="not there")
    report = store.collect()
    assert [item.session_id for item in report.sessions] == ["two"]
    assert len(ids(saver, "one")) == 4


def test_the_policy_given_comes_before_those_stored(store: Store) -> None:
    made = chain(store.saver(), "s", 6)
    store.retention.set(fp.RetentionPolicy(keep_last=1), session="s")
    store.collect(fp.RetentionPolicy(keep_last=4))
    assert ids(store.saver(), "s") == made[::-1][:4]


def test_a_policy_of_a_newer_version_is_not_guessed_at(store: Store) -> None:
    chain(store.saver(), "s", 3)
    text = '{"keep_last": 1, "keep_the_good_ones": true}'
    store._driver.write(lambda db: db.run("set_policy", scope="session", name="s", policy=text))
    with pytest.raises(fp.DatabaseError, match="cannot be read"):
        store.collect()
    assert len(ids(store.saver(), "s")) == 3


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.retention.set("keep all"),
        lambda store: store.retention.set(TEN, session="a", agent="b"),
        lambda store: store.retention.get(workspace=""),
        lambda store: store.retention.remove(session=7),
        lambda store: store.collect("everything"),
        lambda store: store.collect(TEN, sessions="s"),
        lambda store: store.collect(TEN, sessions=[7]),
        lambda store: store.collect(TEN, dry_run="yes"),
        lambda store: store.collect(TEN, compact=1),
    ],
)
def test_arguments_are_checked(file_store: Store, call: Any) -> None:
    with pytest.raises(fp.InvalidArgumentError):
        call(file_store)


def test_an_unknown_session_is_refused_before_anything_is_done(store: Store) -> None:
    made = chain(store.saver(), "s", 3)
    with pytest.raises(fp.SessionNotFoundError, match="nobody"):
        store.collect(fp.RetentionPolicy(keep_last=1), sessions=["s", "nobody"])
    assert ids(store.saver(), "s") == made[::-1]
