"""The sessions of one family: where they come from, the numbers they give out, their labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forkpoint.model import Finding
from forkpoint.store.examining_family import Family, Member
from forkpoint.store.examining_rows import ThreadRows


class SessionExaminer:
    """Goes through the sessions of a family after its rows."""

    def __init__(self, family: Family, rows: Mapping[int, ThreadRows]) -> None:
        self._family = family
        self._db = family.db
        self._rows = rows

    def findings(self) -> Iterator[Finding]:
        """Everything that is wrong with sessions."""
        members = self._family.members.values()
        for member in members:
            yield from self._standing(member)
            if member.base is not None:
                yield from self._base(member)
            yield from self._labels(member)
        # What forks know of a session is known now.
        for member in members:
            yield from self._tick(member)

    def counter(self, highest: int) -> Iterator[Finding]:
        """What is wrong with the counter of the family's values, of which `highest` is the
        newest."""
        family = self._family
        where = f"family {family.number}"
        details = {"family": family.number}
        row = self._db.one("family_row", family=family.number)
        if row is None:
            if family.inhabited:
                yield family.mendable("family", where, "its counter is gone", details)
            elif highest:
                text = "values are left, and no session that could refer to them"
                yield Finding("family", "warning", where, text, True, details)
            return
        following, dirty = row
        if highest >= following:
            text = f"its next number is {following}, but {highest} was given out already"
            yield family.mendable("counter", where, text, details)
        if not family.inhabited and not (highest and dirty):
            text = "it has a counter and no session"
            yield Finding("family", "warning", where, text, True, details)

    def _standing(self, member: Member) -> Iterator[Finding]:
        if member.parent is None:
            return
        row = self._db.one("session_standing", id=member.parent)
        if row is None:
            return
        depth, root = row[0] + 1, row[1]
        if (member.depth, member.root) != (depth, root):
            yield self._family.mendable(
                "lineage",
                f"session {member.name!r}",
                f"it says it is {member.depth} forks from {member.root!r}; by its parent it is "
                f"{depth} from {root!r}",
                {"session": member.id},
            )

    def _base(self, member: Member) -> Iterator[Finding]:
        base = self._family.members.get(member.base) if member.base is not None else None
        if base is None:
            yield self._lineage(member, f"what it stands on, session {member.base}, is gone")
            return
        thread, n, cut = member.base_thread, member.base_n, member.base_cut
        if thread is None or n is None or cut is None:
            yield self._lineage(member, "where it was forked is not recorded")
            return
        space = self._family.spaces.get(thread)
        if space is None or space.session != base.id or space.namespace:
            text = f"it was forked in thread {thread}, which is not the root of {base.name!r}"
            yield self._lineage(member, text)
        elif n not in self._rows[thread].hidden:
            yield self._lineage(member, f"the row it was forked at, {n} of {base.name!r}, is gone")
        elif not self._begins_there(member, thread, n):
            yield self._lineage(member, "its first checkpoint is not the one it was forked at")
        if n >= cut:
            yield self._lineage(member, "it was forked at a checkpoint that is newer than it")
        if self._stands_on_itself(member):
            yield self._lineage(member, "it stands on itself")
        self._family.note(base.id, cut - 1)

    def _begins_there(self, member: Member, thread: int, n: int) -> bool:
        for space in self._family.spaces_of(member.id):
            if not space.namespace:
                own = self._db.one("identity", thread=space.id, n=0)
                below = self._db.one("identity", thread=thread, n=n)
                return own is None or below is None or bytes(own[0]) == bytes(below[0])
        return True

    def _stands_on_itself(self, member: Member) -> bool:
        members = self._family.members
        passed: set[int] = set()
        here: Member | None = member
        while here is not None and here.id not in passed:
            passed.add(here.id)
            here = members.get(here.base) if here.base is not None else None
        return here is not None and here.id == member.id

    def _labels(self, member: Member) -> Iterator[Finding]:
        for name, cid, tick, gone in self._db.all("session_labels", session=member.id):
            self._family.note(member.id, max(tick, gone))
            text = None
            if member.deleted and not self._family.spaces_of(member.id):
                text = "its session was deleted"
            elif self._db.one("held_in_family", cid=cid, family=self._family.number) is None:
                text = "its checkpoint is gone"
            if text is not None:
                yield Finding(
                    "label",
                    "warning",
                    f"session {member.name!r}, label {name!r}",
                    text,
                    repairable=True,
                    details={"session": member.id, "name": name, "tick": tick},
                )

    def _tick(self, member: Member) -> Iterator[Finding]:
        newest = self._family.newest(member.id)
        if newest >= member.tick:
            yield self._family.mendable(
                "tick",
                f"session {member.name!r}",
                f"its next number is {member.tick}, but {newest} was given out already",
                {"session": member.id},
            )

    def _lineage(self, member: Member, text: str) -> Finding:
        where = f"session {member.name!r}"
        details = {"session": member.id}
        return Finding("lineage", "error", where, text, repairable=False, details=details)
