"""``mha release OUT``: write a class's release into a new folder, whole or not at all."""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from mha_teach.release import ReleaseError, classroom
from mha_teach.release.assignment import Assignment, assignments
from mha_teach.release.packing import WHEEL, wheel, zipped
from mha_teach.release.roster import Member, read_roster

FORMS = ("class", "nbgrader", "otter")
_UNFINISHED = ".unfinished-"


@dataclass(frozen=True)
class Order:
    """What to release: chapters (none = all), forms, solutions or not, a roster for numbers of each student's own.

    ``package`` is what pip can install the package from in Colab, where it is published.
    """

    chapters: Sequence[str] = ()
    forms: Sequence[str] = ("class",)
    solutions: bool = True
    roster: Path | None = None
    package: str = ""


def run(out: Path, order: Order) -> list[str]:
    """Write the release into ``out``; returns the lines that say what lies there. Raises ReleaseError, one line."""
    forms = [form for form in FORMS if form in order.forms]
    chosen = assignments(order.chapters)
    members = read_roster(order.roster) if order.roster else None
    if set(forms) - {"class"}:
        _must_suit_tools(order)
    _must_be_free(out)
    package = wheel()
    with _Folder(out) as folder:
        own = folder / "teacher-only"
        own.mkdir()
        kept = order.solutions
        table = order.roster.name if order.roster else ""
        text = classroom.teacher_readme(chosen, members, kept, forms, table)
        (own / "README.txt").write_text(text, encoding="utf-8", newline="\n")
        if members:
            _for_each(folder, members, chosen, package, order)
        elif "class" in forms:
            files = classroom.for_students(chosen, package, order.package)
            _write(folder / "for-students", files)
            (folder / "for-students.zip").write_bytes(zipped(files, classroom.FOLDER))
        if kept and not members:
            _write(own / "solutions", classroom.solutions(chosen, package=order.package))
        for form in forms:
            if form != "class":
                _export(form, folder / form, chosen, package)
    return _told(out, chosen, members, forms, kept)


def _for_each(
    folder: Path, members: list[Member], chosen: list[Assignment], package: bytes, order: Order
) -> None:
    """A zip for each student, and one with the solutions to it."""
    (folder / "for-students").mkdir()
    (folder / "teacher-only" / "students.csv").write_bytes(classroom.student_table(members))
    if order.solutions:
        (folder / "teacher-only" / "solutions").mkdir()
    for one in tqdm(members, unit="student", desc="releasing", file=sys.stderr, disable=None):
        tagged = [assignment.with_tag(one.tag) for assignment in chosen]
        files = classroom.for_students(tagged, package, order.package)
        (folder / "for-students" / f"{one.file}.zip").write_bytes(zipped(files, classroom.FOLDER))
        if order.solutions:
            files = classroom.solutions(tagged, one.name or one.id, order.package)
            target = folder / "teacher-only" / "solutions" / f"{one.file}-SOLUTIONS.zip"
            target.write_bytes(zipped(files, f"{one.file}-SOLUTIONS"))


def _export(form: str, folder: Path, chosen: list[Assignment], package: bytes) -> None:
    """Hand the assignments to the writer of a form, with the package's wheel in the folder."""
    try:
        writer = importlib.import_module(f"mha_teach.release.{form}")
    except ModuleNotFoundError as error:
        raise ReleaseError(
            f"no export to {form}: the Python package {error.name} is missing, install it"
        ) from None
    folder.mkdir()
    (folder / WHEEL).write_bytes(package)
    for assignment in chosen:
        writer.write(assignment, folder)


def _write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _must_suit_tools(order: Order) -> None:
    if order.roster:
        raise ReleaseError(
            "nbgrader and otter hand every student the same notebook: give --seed-per-student with --format class alone"
        )
    if not order.solutions:
        raise ReleaseError(
            "nbgrader and otter make what students get from the solutions: leave --no-solutions out, and hand out "
            "only what those tools make"
        )


def _must_be_free(out: Path) -> None:
    """Nothing is ever overwritten: ``out`` is new or empty."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ReleaseError(f"{out} is no folder: give the name of a new one")
    there = next(out.iterdir(), None) if out.is_dir() else None
    if there:
        raise ReleaseError(
            f"{out} is not empty (it holds {there.name}), and nothing is overwritten: delete it, or give another folder"
        )


class _Folder:
    """A folder inside ``out`` whose contents move up into it at the end; if anything fails, nothing stays."""

    def __init__(self, out: Path) -> None:
        self.out, self.made = out, not out.exists()

    def __enter__(self) -> Path:
        self.out.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.out))
        return self.folder

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            for path in sorted(self.folder.iterdir()):
                path.rename(self.out / path.name)
            self.folder.rmdir()
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.made:
            self.out.rmdir()


def _told(
    out: Path, chosen: list[Assignment], members: list[Member] | None, forms: list[str], kept: bool
) -> list[str]:
    count = sum(len(one.exercises) for one in chosen)
    what = f"{len(chosen)} chapter{'s' * (len(chosen) != 1)}, {count} exercises"
    lines = [f"released {what} into {out}"]
    if members:
        lines.append(f"  for each of {len(members)} students: for-students/{members[0].file}.zip and so on")
    elif "class" in forms:
        lines.append("  for the class: for-students.zip (for-students/ is the same, unpacked)")
    lines += [f"  for {form}: {form}/" for form in forms if form != "class"]
    lines.append(
        f"  for you alone: teacher-only/{'' if kept else ' (without solutions)'}; begin with its README.txt"
    )
    return lines
