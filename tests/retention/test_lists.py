"""A list whose end was cut off takes new items in the places of the old ones: nobody may remember
what was there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import forkpoint as fp
from forkpoint.store.sweeping import Sweeper
from tests.checkpoints import head, put, values

ITEMS = [f"item {number} " + "of some length " * 8 for number in range(9)]


class Between:
    """A driver on which something happens before each snapshot is taken."""

    def __init__(self, driver: Any, happens: Callable[[], None]) -> None:
        self._driver = driver
        self._happens = happens

    @contextmanager
    def read(self) -> Iterator[Any]:
        self._happens()
        with self._driver.read() as db:
            yield db

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


def test_a_list_read_between_the_announcement_and_the_marking(url: str) -> None:
    with fp.open(url) as here, fp.open(url) as there:
        short = put(here.saver(), "t", None, {"items": ITEMS[:5]}, version=1)
        put(here.saver(), "t", short, {"items": ITEMS[:7]}, version=2, run_id="gone")

        def long_list_is_read_and_goes() -> None:
            if values(head(there.saver(), "t"))["items"] == ITEMS[:7]:
                here.saver().delete_for_runs(["gone"])

        driver: Any = here._driver
        Sweeper(Between(driver, long_list_is_read_and_goes)).sweep(family_of_t(driver))
        other = [*ITEMS[:5], ITEMS[8], ITEMS[7]]
        put(here.saver(), "t", short, {"items": other}, version=2)
        assert values(head(there.saver(), "t"))["items"] == other
        last = head(there.saver(), "t").checkpoint["id"]
        put(there.saver(), "t", last, {"items": [*other, "x"]}, version=3)
        with fp.open(url) as fresh:
            assert values(head(fresh.saver(), "t"))["items"] == [*other, "x"]


def test_two_collections_do_not_cut_one_list_twice(url: str) -> None:
    with fp.open(url) as here, fp.open(url) as there:
        short = put(here.saver(), "t", None, {"items": ITEMS[:5]}, version=1)
        put(here.saver(), "t", short, {"items": ITEMS[:7]}, version=2, run_id="gone")
        here.saver().delete_for_runs(["gone"])
        other = [*ITEMS[:5], ITEMS[8], ITEMS[7]]

        def another_cuts_and_the_list_is_written_again() -> None:
            there.collect()
            put(there.saver(), "t", short, {"items": other}, version=2)

        driver: Any = here._driver
        Sweeper(After(driver, another_cuts_and_the_list_is_written_again)).sweep(
            family_of_t(driver)
        )
        with fp.open(url) as fresh:
            assert values(head(fresh.saver(), "t"))["items"] == other


class After(Between):
    """A driver on which something happens when a snapshot was read."""

    @contextmanager
    def read(self) -> Iterator[Any]:
        with self._driver.read() as db:
            yield db
        self._happens()


def family_of_t(driver: Any) -> int:
    """The family of the only session."""
    with driver.read() as db:
        number: int = db.one("live_session", name="t")[1]
    return number
