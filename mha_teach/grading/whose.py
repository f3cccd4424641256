"""Whose numbers: the tag that a submission should carry, and the tag with which each of its cells is judged."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from mha_teach.exercises import is_tag
from mha_teach.grading.reading import Note, note

# Moodle's folder: Ada Lovelace_4711_assignsubmission_file_
_MOODLE = re.compile(r"_\d+_assignsubmission_.*$")
_TYPO = 2  # signs that may differ: two students' tags differ in more, but for one pair in forty thousand


class Member(Protocol):
    """A student as the roster has them."""

    id: str
    name: str
    login: str
    file: str
    tag: str


@dataclass(frozen=True)
class Tags:
    """What a roster says: ``own`` is the tag of who hands in, empty if unknown; ``known`` tells whose each tag is."""

    student: str = ""
    own: str = ""
    known: Mapping[str, str] = field(default_factory=dict)


def tags_of(student: str, roster: Iterable[Member], canvas: str = "") -> Tags:
    """The tags of a class, as they matter for what ``student`` (the name of a file or folder) hands in.

    ``canvas`` is the student's number there, if the file's name tells it.
    """
    roster = list(roster)
    mine = members_of(student, roster, canvas)
    own = mine[0].tag if len(mine) == 1 else ""
    return Tags(student, own, {m.tag: m.name or m.id for m in roster})


def members_of(student: str, roster: Iterable[Member], canvas: str = "") -> list[Member]:
    """Who may be meant: found by Canvas's number, else by id, file that was released or login, else by the name."""
    roster = list(roster)
    student = _MOODLE.sub("", student)
    if canvas and (mine := [m for m in roster if getattr(m, "canvas", "") == canvas]):
        return mine
    mine = [m for m in roster if student in (m.id, m.file, m.login)]  # else 2-11 and 21-1 would be one
    keys = (
        lambda m: {m.id, m.file, m.login},
        lambda m: {m.name, _family_first(m.name)},
    )
    for key in keys:
        mine = mine or [m for m in roster if _plain(student) in {_plain(text) for text in key(m) if text}]
    return mine


def of_notebook(found: list[str], tags: Tags) -> tuple[str, list[Note]]:
    """The tag of a whole notebook, given all that stand in it, and what there is to say. Empty where it carries none."""
    counted = Counter(tag for tag in found if is_tag(tag))
    if not found:
        return "", [note("no tags", student=tags.student)] if tags.known else []
    if not counted or tags.own in counted:  # cells that are another's say so one by one
        return tags.own, []
    usual = max(counted, key=lambda tag: (tag in tags.known, counted[tag]))
    if not tags.known:
        return usual, []
    owner = tags.known.get(usual)
    if owner and tags.own:
        return usual, [note("other's notebook", owner=owner, student=tags.student)]
    if owner:
        return usual, [note("owner by tag", student=tags.student, owner=owner)]
    return (tags.own, []) if tags.own else (usual, [note("unknown tags", tag=usual)])


def of_cell(id: str, given: str | None, usual: str, tags: Tags) -> tuple[str, list[Note]]:
    """The tag with which a cell is judged. ``given`` is what stands after its ``@``, ``None`` where there is no ``@``."""
    if given == usual or (given is None and not usual):
        return usual, []
    if given is None:
        return usual, [note("tag gone", id=id, tag=usual)]
    if not is_tag(given) or (usual and given not in tags.known and _near(given, usual)):
        if usual:
            return usual, [note("odd tag", given=given[:40], tag=usual)]
        return "", [note("no tag", given=given[:40], id=id)]
    if given in tags.known:
        return given, [note("other's tag", owner=tags.known[given])]
    if tags.known and usual:
        return usual, [note("unknown tag", given=given, tag=usual)]
    return given, [note("two tags", given=given, tag=usual)]


def _near(left: str, right: str) -> bool:
    return sum(a != b for a, b in zip(left, right, strict=True)) <= _TYPO


def _plain(text: str) -> str:
    """Letters and digits alone, without case or accents: file names keep no more."""
    text = unicodedata.normalize("NFKD", text).casefold()
    return re.sub(r"[\W_]|[\u0300-\u036f]", "", text)


def _family_first(name: str) -> str:
    """``Hans Müller`` as Canvas writes it in names of files."""
    *given, family = name.split() or [""]
    return family + "".join(given)
