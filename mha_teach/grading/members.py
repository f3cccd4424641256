"""The students of a roster in the gradebook and the tables: who they are, who handed in nothing, who is unknown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

from mha_teach.grading import whose
from mha_teach.grading.gradebook import Attempt, Gradebook
from mha_teach.grading.marks import Student, named, students
from mha_teach.grading.reading import note


@dataclass(frozen=True)
class Known:
    """A student on the roster, as plain data: it goes into the gradebook and to other machines."""

    id: str
    name: str = ""
    login: str = ""
    file: str = ""
    tag: str = ""
    canvas: str = ""

    @property
    def shown(self) -> str:
        """A name for tables, which no other student has."""
        return f"{self.name} ({self.id})" if self.name and self.name != self.id else self.id


def known(roster: Iterable[whose.Member]) -> tuple[Known, ...]:
    """The same students as plain data."""
    names = [field.name for field in fields(Known)]
    return tuple(Known(**{name: getattr(member, name, "") for name in names}) for member in roster)


def plain(roster: Iterable[Known]) -> list[dict[str, str]]:
    """As JSON has it."""
    return [asdict(member) for member in roster]


def remembered(book: Gradebook, given: tuple[Known, ...]) -> tuple[Known, ...]:
    """The roster that was given, which the gradebook keeps; or the one that it has kept."""
    if given:
        book.replace("roster", json.dumps(plain(given)))
        return given
    return tuple(Known(**fields) for fields in json.loads(book.setting("roster", "[]")))


def of_class(attempts: list[Attempt], roster: tuple[Known, ...]) -> list[Student]:
    """All students: files of one member come together, whoever handed in nothing is there, whoever is unknown is named."""
    if not roster:
        return students(attempts)
    owners: dict[tuple[str, str], Known | None] = {}
    for attempt in attempts:
        if (who := (attempt.student, attempt.canvas)) not in owners:
            found = whose.members_of(attempt.student, roster, attempt.canvas)
            owners[who] = found[0] if len(found) == 1 else None
    stranger = named(attempts)

    def name(attempt: Attempt) -> str:
        owner = owners[attempt.student, attempt.canvas]
        return owner.shown if owner else stranger(attempt)

    found = {one.name: one for one in students(attempts, name)}
    for member in roster:
        one = found.setdefault(member.shown, Student(member.shown))
        one.id, one.login = member.id, member.login
        one.canvas = member.canvas or one.canvas
    for one in found.values():
        if not one.id:
            one.notes.append(note("not on roster", student=one.name))
    return sorted(found.values(), key=lambda one: one.name.casefold())
