"""The gradebook: whole attempts or nothing, nothing twice, nothing lost by a kill, and tables that say what they mean."""

from __future__ import annotations

import csv
import multiprocessing
import os
import random
import signal
import sqlite3
import time
from types import SimpleNamespace
from typing import Self

import pytest
from submitting import LIMITS, RIGHT, notebook

from mha_teach import exercises
from mha_teach.exercises.formula import place
from mha_teach.grading import batch
from mha_teach.grading.batch import Plan, grade_all, waiting
from mha_teach.grading.feedback import write_feedback
from mha_teach.grading.gradebook import Attempt, Gradebook, GradebookError
from mha_teach.grading.judging import ExerciseGrade, PointGrade, _sentence, whole
from mha_teach.grading.marks import in_order, possible, students, write_canvas, write_plain
from mha_teach.grading.reading import Note
from mha_teach.grading.sandbox import SandboxError, bubblewrap


def made(student: str, score: float = 0.5, file: str = "", digest: str = "d", id: str = "00-mend") -> Attempt:
    points = (PointGrade("one", "passed", 1.0), PointGrade("two", "failed", 2.0, "<b>no</b>"))
    grades = (
        ExerciseGrade(id, "right" if score == 1 else "wrong", score, 3.0, points, "slip", "words", "hint"),
    )
    return Attempt(
        student, file or f"{student}.ipynb", digest, "graded", "", grades, (Note("large", "It is large."),)
    )


def rows(path) -> dict[str, list]:
    base = sqlite3.connect(path)
    tables = {
        "attempt": "student, canvas, file, digest, status",
        "exercise": "(SELECT file FROM attempt WHERE id = attempt), exercise, status, score, marks, diagnosis",
        "point": "(SELECT file FROM attempt WHERE id = attempt), exercise, point, status, weight, message",
        "note": "(SELECT file FROM attempt WHERE id = attempt), exercise, place, kind, words",
    }
    return {
        table: sorted(base.execute(f"SELECT {columns} FROM {table}"), key=repr)
        for table, columns in tables.items()
    }


def test_what_is_recorded_is_read_back(tmp_path):
    with Gradebook(tmp_path / "g.db") as book:
        assert book.record(made("anna")) and not book.record(made("anna"))
        assert book.attempts() == [made("anna")]
        assert book.done() == {("anna.ipynb", "d")}
        assert book.seed() == book.seed()


def test_a_status_that_does_not_exist_is_refused_whole(tmp_path):
    with Gradebook(tmp_path / "g.db") as book:
        wrong = Attempt(
            "anna",
            "a",
            "d",
            "graded",
            "",
            (ExerciseGrade("x", "wrong", 0.0, 1.0, (PointGrade("p", "zero"),)),),
        )
        with pytest.raises(sqlite3.IntegrityError):
            book.record(wrong)
        assert book.done() == set() and book.attempts() == []


def test_half_characters_do_not_stop_it(tmp_path):
    with Gradebook(tmp_path / "g.db") as book:
        assert book.record(made("a\ud800b\0"))
        assert book.attempts()[0].student == "a?b?"


def test_a_file_that_is_no_gradebook_is_named(tmp_path):
    (tmp_path / "g.db").write_text("no database at all, but long enough to be looked at " * 9)
    with pytest.raises(GradebookError, match=r"can't be used as a gradebook .* give --out"):
        Gradebook(tmp_path / "g.db")


def test_a_gradebook_that_another_command_writes_is_named(tmp_path):
    with Gradebook(tmp_path / "g.db") as book, Gradebook(tmp_path / "g.db") as other:
        book._base.execute("PRAGMA busy_timeout = 10")
        other._base.execute("BEGIN IMMEDIATE")
        with pytest.raises(GradebookError, match="run the same command again"):
            book.record(made("anna"))


def test_a_changed_file_counts_anew_and_the_best_of_several_files_counts(tmp_path):
    with Gradebook(tmp_path / "g.db") as book:
        book.record(made("anna", 1.0, "anna/a.ipynb", "1"))
        book.record(made("anna", 0.25, "anna/a.ipynb", "2"))
        assert students(book.attempts())[0].total == 0.75
        book.record(made("anna", 0.5, "anna/b.ipynb"))
        (anna,) = students(book.attempts())
        assert anna.total == 1.5 and [note.kind for note in anna.notes] == ["several files"]


def test_tables_for_spreadsheet_and_canvas(tmp_path):
    lost = Attempt("carl", "c", "d", "unreadable", "77", (), (Note("empty", "The file is empty."),))
    everyone = students([made("=HYPERLINK(1)", 1.0), made("berta, b", 0.5), lost])
    write_plain(tmp_path / "p.csv", everyone)
    write_canvas(tmp_path / "c.csv", everyone, "Attention")
    plain, canvas = (list(csv.reader((tmp_path / n).open(newline=""))) for n in ("p.csv", "c.csv"))
    assert plain == [
        ["student", "status", "total", "of", "00-mend (3)", "00-mend status"],
        ["'=HYPERLINK(1)", "graded", "3", "3", "3", "right"],
        ["berta, b", "graded", "1.5", "3", "1.5", "wrong"],
        ["carl", "unreadable", "", "3", "", "unreadable"],
    ]
    assert canvas[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Attention"]
    assert canvas[1] == ["    Points Possible", "", "", "", "", "3"]
    assert canvas[4] == ["carl", "77", "", "", "", ""]


def test_exercises_stand_in_the_order_of_the_book():
    ids = ["03-strides", "00-mend", "03-addresses", "99-gone", "00-attend"]
    assert in_order(ids) == ["00-attend", "00-mend", "03-addresses", "03-strides", "99-gone"]
    everyone = students([made("anna", file=id, id=id) for id in ids])
    assert list(everyone[0].grades) == in_order(ids)
    assert list(possible(everyone)) == in_order(ids)


def test_what_could_not_be_read_is_no_nought(tmp_path):
    lost = whole(exercises.get("00-mend"), "unreadable", "The file is empty.")
    everyone = students([made("anna"), Attempt("carl", "c", "d", "unreadable", "", (lost,), ())])
    write_plain(tmp_path / "p.csv", everyone)
    table = list(csv.reader((tmp_path / "p.csv").open(newline="")))
    assert table[2] == ["carl", "unreadable", "", table[1][3], "", "unreadable"]
    page = write_feedback(tmp_path, everyone[1]).read_text()
    assert "could not be read<" in page and "0 of" not in page


def test_two_sentences_begin_like_two_sentences():
    point = SimpleNamespace(message="Rows sum to 1.", difference="the answer differs most at [0]")
    assert _sentence(point) == "Rows sum to 1. The answer differs most at [0]"
    assert _sentence(SimpleNamespace(message="", difference="the answer is 3")) == "the answer is 3"


def test_feedback_does_not_say_where_a_formula_was_tried():
    tried = place({"b": 2.704, "d_k": 1e-12, "n": 3.0})
    point = SimpleNamespace(message="", difference=f"the answer at {tried} is another number")
    assert _sentence(point) == "the answer is another number"
    point.difference = "the answer differs most at [0, 1]"
    assert _sentence(point) == "the answer differs most at [0, 1]"


class Quick:
    """In place of a sandbox: the kills are what is tested."""

    missing = ()

    def __init__(self, *_: object) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


def in_a_process(folder, path, plan: Plan) -> int:
    """Grade in a process of its own, as the command does; returns its number."""
    if (child := os.fork()) == 0:
        try:
            with Gradebook(path) as book:
                work, _ = waiting(folder, book)
                grade_all(work, book, plan, lambda attempt: None)
            os._exit(0)
        except BaseException:  # noqa: BLE001
            os._exit(1)
    return child


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Sixty submissions and a judge that takes four milliseconds for each; processes that grade inherit it."""
    folder = tmp_path / "class"
    folder.mkdir()
    for number in range(60):
        (folder / f"s{number:02}.ipynb").write_bytes(b"x" * number)

    def grade_entry(entry, digest, plan, seed, sandbox):
        time.sleep(0.004)
        return made(entry.student, len(entry.student) / 4, entry.name, digest)

    fork = multiprocessing.get_context("fork")
    monkeypatch.setattr(batch.multiprocessing, "get_context", lambda how: fork)
    monkeypatch.setattr(batch, "grade_entry", grade_entry)
    monkeypatch.setattr(batch, "Sandbox", Quick)
    assert os.waitpid(in_a_process(folder, tmp_path / "whole.db", Plan()), 0)[1] == 0
    return folder


@pytest.mark.parametrize(("jobs", "longest"), [(1, 0.06), (2, 0.2)])
def test_killed_twenty_times_and_resumed_it_equals_the_undisturbed_one(tmp_path, quick, jobs, longest):
    chance, kills, plan, halfway = random.Random(11), 0, Plan(jobs=jobs), 0
    while kills < 20 or not halfway:
        assert kills < 100
        child = in_a_process(quick, tmp_path / "killed.db", plan)
        time.sleep(chance.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        kills += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        if kills and (tmp_path / "killed.db").exists():
            with Gradebook(tmp_path / "killed.db") as book:
                assert all(len(attempt.grades[0].points) == 2 for attempt in book.attempts())
                done = len(book.done())
                halfway += 0 < done < 60
                longest *= 1.0 if done else 1.2  # a slow machine gets further before it is hit
                if done == 60:  # all done: begin again with the next kills
                    (tmp_path / "killed.db").unlink()
    assert os.waitpid(in_a_process(quick, tmp_path / "killed.db", plan), 0)[1] == 0
    assert rows(tmp_path / "killed.db") == rows(tmp_path / "whole.db")


def test_a_grading_process_that_is_killed_stops_the_rest_with_one_line_and_loses_nothing(
    tmp_path, quick, monkeypatch
):
    judge, once = batch.grade_entry, tmp_path / "once"

    def grade_entry(entry, *more):
        if entry.name == "s40.ipynb" and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return judge(entry, *more)

    monkeypatch.setattr(batch, "grade_entry", grade_entry)
    with Gradebook(tmp_path / "killed.db") as book:
        with pytest.raises(SandboxError, match="run the same command again, with fewer --jobs"):
            grade_all(waiting(quick, book)[0], book, Plan(jobs=2), lambda attempt: None)
        assert len(book.done()) < 60
        grade_all(waiting(quick, book)[0], book, Plan(jobs=2), lambda attempt: None)
    assert rows(tmp_path / "killed.db") == rows(tmp_path / "whole.db")


@pytest.mark.parametrize("sandbox", ["wrapped" if bubblewrap() else "limited"], indirect=True)
def test_the_real_thing_killed_in_the_middle_and_resumed(tmp_path, sandbox):
    folder = tmp_path / "class"
    folder.mkdir()
    for number in range(5):
        wrong = RIGHT["00-mend"].replace("softmax(1)", "softmax(0)") if number % 2 else RIGHT["00-mend"]
        (folder / f"s{number}.ipynb").write_bytes(notebook({**RIGHT, "00-mend": wrong}))
    plan = Plan(wrap=sandbox.wrapped, limits=LIMITS)
    for name in ("whole.db", "killed.db"):
        with Gradebook(tmp_path / name) as book:
            book.setting("seed", "31")
    with Gradebook(tmp_path / "whole.db") as book:
        for entry, digest in waiting(folder, book)[0]:
            book.record(batch.grade_entry(entry, digest, plan, 31, sandbox))
    child = in_a_process(folder, tmp_path / "killed.db", plan)
    done, last = 0, time.monotonic() + 60
    while not done and time.monotonic() < last:
        time.sleep(0.05)
        with Gradebook(tmp_path / "killed.db") as book:
            done = len(book.done())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert 0 < done < 5
    assert os.waitpid(in_a_process(folder, tmp_path / "killed.db", plan), 0)[1] == 0
    assert rows(tmp_path / "killed.db") == rows(tmp_path / "whole.db")
    assert not left_over()


def left_over() -> list[str]:
    """Sandboxes whose judge is gone: there must be none."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/stat") as stat, open(f"/proc/{process}/cmdline") as line:
                if "zygote.py" in (command := line.read()) and stat.read().rsplit(")")[1].split()[1] == "1":
                    found.append(command)
        except OSError:
            continue
    return found
