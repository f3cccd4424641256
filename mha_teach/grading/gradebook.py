"""The gradebook: one row for each attempt and point, written all at once or not at all, so that a kill loses nothing."""

from __future__ import annotations

import secrets
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from mha_teach.grading.judging import STATUSES, ExerciseGrade, PointGrade
from mha_teach.grading.reading import Note

_TABLES = f"""
CREATE TABLE IF NOT EXISTS setting (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS attempt (
    id INTEGER PRIMARY KEY, student TEXT NOT NULL, canvas TEXT NOT NULL, file TEXT NOT NULL, digest TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('graded', 'unreadable')), UNIQUE (file, digest));
CREATE TABLE IF NOT EXISTS lying (file TEXT PRIMARY KEY, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS exercise (
    attempt INTEGER NOT NULL REFERENCES attempt, exercise TEXT NOT NULL, status TEXT NOT NULL, score REAL,
    marks REAL NOT NULL, diagnosis TEXT NOT NULL, words TEXT NOT NULL, hint TEXT NOT NULL,
    PRIMARY KEY (attempt, exercise));
CREATE TABLE IF NOT EXISTS point (
    attempt INTEGER NOT NULL REFERENCES attempt, exercise TEXT NOT NULL, point TEXT NOT NULL, place INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ({", ".join(f"'{status}'" for status in STATUSES)})),
    weight REAL NOT NULL, message TEXT NOT NULL, PRIMARY KEY (attempt, exercise, point));
CREATE TABLE IF NOT EXISTS note (
    attempt INTEGER NOT NULL REFERENCES attempt, exercise TEXT NOT NULL, place INTEGER NOT NULL, kind TEXT NOT NULL,
    words TEXT NOT NULL, PRIMARY KEY (attempt, exercise, place));
"""


@dataclass(frozen=True)
class Attempt:
    """One file of one student, with the grade of every exercise in it; ``status`` is "graded" or "unreadable"."""

    student: str
    file: str
    digest: str
    status: str
    canvas: str = ""
    grades: tuple[ExerciseGrade, ...] = ()
    notes: tuple[Note, ...] = field(default=())


def to_plain(attempt: Attempt) -> dict:
    """The attempt as text, numbers, lists and dicts, as JSON has them."""
    return asdict(attempt)


def from_plain(plain: dict) -> Attempt:
    """What :func:`to_plain` made, after JSON or not. Raises ``TypeError`` or ``KeyError`` for anything else."""
    grades = [
        ExerciseGrade(
            **{
                **grade,
                "points": tuple(PointGrade(**point) for point in grade["points"]),
                "notes": tuple(Note(**n) for n in grade["notes"]),
            }
        )
        for grade in plain["grades"]
    ]
    return Attempt(**{**plain, "grades": tuple(grades), "notes": tuple(Note(**n) for n in plain["notes"])})


class GradebookError(RuntimeError):
    """The file is no gradebook, or another program holds it; the text says what to do."""


class Gradebook:
    """A SQLite file; a context manager. Only one process may write at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._base = sqlite3.connect(path, timeout=10, isolation_level=None)
            self._base.executescript(_TABLES)
            self._base.execute("PRAGMA foreign_keys = ON")
        except sqlite3.Error as error:
            raise GradebookError(
                f"{path} can't be used as a gradebook ({error}): move it away, or give --out"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def setting(self, key: str, value: str) -> str:
        """The value stored under ``key``; ``value`` is stored if there is none."""
        with self._writing():
            self._base.execute("INSERT OR IGNORE INTO setting VALUES (?, ?)", (key, value))
        return self._base.execute("SELECT value FROM setting WHERE key = ?", (key,)).fetchone()[0]

    def replace(self, key: str, value: str) -> None:
        """Store ``value`` under ``key``, whatever was there."""
        with self._writing():
            self._base.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (key, value))

    def seed(self) -> int:
        """The secret from which every file's inputs are drawn: made once for a class, and too long to be guessed."""
        return int(self.setting("seed", str(secrets.randbits(128))))

    def done(self) -> set[tuple[str, str]]:
        """(file, digest) of every attempt that is recorded whole."""
        return set(self._base.execute("SELECT file, digest FROM attempt"))

    def lies(self, files: Iterable[tuple[str, str]]) -> None:
        """Note which version of each file, (file, digest), lies in the folder: an older one may be back."""
        with self._writing():
            self._base.executemany(
                "INSERT OR REPLACE INTO lying VALUES (?, ?)", [tuple(map(_clean, one)) for one in files]
            )

    def record(self, attempt: Attempt) -> bool:
        """Write an attempt with all its rows in one transaction; False if it is there already."""
        with self._writing():
            row = (attempt.student, attempt.canvas, attempt.file, attempt.digest, attempt.status)
            made = self._base.execute(
                "INSERT OR IGNORE INTO attempt (student, canvas, file, digest, status) VALUES (?, ?, ?, ?, ?)",
                tuple(map(_clean, row)),
            )
            if made.rowcount == 1:
                self._rows(made.lastrowid, attempt)
        return made.rowcount == 1

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction: all of it or nothing."""
        try:
            self._base.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:  # another command writes, or the disk is full
            raise GradebookError(
                f"{self.path} can't be written ({error}): run the same command again"
            ) from None
        try:
            yield
            self._base.execute("COMMIT")
        except BaseException:
            self._base.execute("ROLLBACK")
            raise

    def _rows(self, number: int, attempt: Attempt) -> None:
        notes = [("", place, n) for place, n in enumerate(attempt.notes)]
        for grade in attempt.grades:
            row = (number, grade.exercise, grade.status, grade.score, grade.marks)
            self._base.execute(
                "INSERT INTO exercise VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, *map(_clean, (grade.diagnosis, grade.words, grade.hint))),
            )
            self._base.executemany(
                "INSERT INTO point VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (number, grade.exercise, p.point, place, p.status, p.weight, _clean(p.message))
                    for place, p in enumerate(grade.points)
                ],
            )
            notes += [(grade.exercise, place, n) for place, n in enumerate(grade.notes)]
        self._base.executemany(
            "INSERT INTO note VALUES (?, ?, ?, ?, ?)",
            [(number, exercise, place, n.kind, _clean(n.words)) for exercise, place, n in notes],
        )

    def attempts(self) -> list[Attempt]:
        """Of every file the attempt at the version that lies in the folder, else the last one; by students and files."""
        notes, points, grades = defaultdict(list), defaultdict(list), defaultdict(list)
        for number, exercise, kind, words in self._base.execute(
            "SELECT attempt, exercise, kind, words FROM note ORDER BY attempt, exercise, place"
        ):
            notes[number, exercise].append(Note(kind, words))
        for number, exercise, *row in self._base.execute(
            "SELECT attempt, exercise, point, status, weight, message FROM point ORDER BY attempt, exercise, place"
        ):
            points[number, exercise].append(PointGrade(*row))
        for number, exercise, status, score, marks, *words in self._base.execute(
            "SELECT attempt, exercise, status, score, marks, diagnosis, words, hint FROM exercise ORDER BY rowid"
        ):
            key = number, exercise
            told = tuple(points[key]), *words, tuple(notes[key])
            grades[number].append(ExerciseGrade(exercise, status, score, marks, *told))
        last = (
            "SELECT coalesce(max(CASE WHEN lying.digest = attempt.digest THEN id END), max(id)) "
            "FROM attempt LEFT JOIN lying ON lying.file = attempt.file GROUP BY attempt.file"
        )
        rows = self._base.execute(
            "SELECT id, student, file, digest, status, canvas FROM attempt "
            f"WHERE id IN ({last}) ORDER BY student, file"
        )
        return [Attempt(*row, tuple(grades[number]), tuple(notes[number, ""])) for number, *row in rows]


def _clean(text: str) -> str:
    """Text that any encoding takes: half characters, as a broken file may hold, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")
