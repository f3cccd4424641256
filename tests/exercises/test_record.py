"""The progress line: what it counts, when it shows, and that nothing of it reaches a stored notebook."""

from __future__ import annotations

import pytest

from mha_teach import exercises
from mha_teach.exercises import record

SCORED = [exercise.id for exercise in exercises.all() if exercise.id.startswith("03-") and exercise.points]
RIGHT, WRONG = exercises.get("03-addresses"), exercises.get("03-strides")


@pytest.fixture(autouse=True)
def fresh():
    record.forget()
    yield
    record.forget()


def solved(exercise):
    answer = exercise.build(exercise.solution)
    return answer if len(exercise.names) > 1 else (answer,)


def test_nothing_attempted_says_nothing():
    """Stored notebooks hold such verdicts; a line in each would only repeat that nothing is done."""
    verdict = exercises.check(RIGHT.id, *[...] * len(RIGHT.names))
    assert verdict.status == "not attempted" and not verdict.progress
    assert "Chapter" not in str(verdict) + verdict._repr_html_()


def test_right_and_tried_are_counted_from_the_last_check():
    first = exercises.check(RIGHT.id, *solved(RIGHT))
    assert first.progress == f"Chapter 03: 1 of {len(SCORED)} right."
    second = exercises.check(WRONG.id, *["nonsense"] * len(WRONG.names))
    assert second.progress == f"Chapter 03: 1 of {len(SCORED)} right, 1 tried."
    assert str(second).endswith(second.progress) and second.progress in second._repr_html_()
    broken = exercises.check(RIGHT.id, *["nonsense"] * len(RIGHT.names))
    assert broken.progress == f"Chapter 03: 0 of {len(SCORED)} right, 2 tried."
    reset = exercises.check(RIGHT.id, *[...] * len(RIGHT.names))
    assert reset.progress == f"Chapter 03: 0 of {len(SCORED)} right, 1 tried."


def test_a_chapter_that_is_done_says_so():
    for id in SCORED:
        verdict = exercises.check(id, *solved(exercises.get(id)))
    assert verdict.progress == f"Chapter 03: all {len(SCORED)} right."


def test_a_students_own_numbers_count_as_the_same_exercise():
    own = exercises.get("05-count@k7q2m9")
    verdict = exercises.check(own.id, *solved(own))
    assert verdict.status == "right" and verdict.progress.startswith("Chapter 05: 1 of ")
    assert "✓ 05-count " in str(exercises.progress("05"))
    plain = exercises.get("05-count")
    assert exercises.check(plain.id, *solved(plain)).progress == verdict.progress


def test_an_open_question_has_no_score_and_is_not_counted():
    verdict = exercises.check("03-twice-wrong", "a thought")
    assert verdict.status == "open" and not verdict.progress


@pytest.mark.parametrize("chapter", ["03", 3, "03_reshaping"])
def test_progress_lists_a_chapter(chapter):
    exercises.check(RIGHT.id, *solved(RIGHT))
    found = exercises.progress(chapter)
    lines = str(found).splitlines()
    assert lines[0] == f"Chapter 03: 1 of {len(SCORED)} right."
    assert lines[1].startswith("  ✓ 03-addresses ") and len(lines) == 1 + len(SCORED)
    html = found._repr_html_()
    assert " id=" not in html and "<script" not in html and "(not tried yet)" in html
    assert repr(found) == str(found)


def test_progress_without_a_chapter_lists_all():
    text = str(exercises.progress())
    assert text.count("Chapter ") == len({exercise.id[:2] for exercise in exercises.all()})


@pytest.mark.parametrize("chapter", ["99", "reshaping", None])
def test_an_unknown_chapter_names_the_known(chapter):
    with pytest.raises(ValueError, match="no exercises with a score in chapter .*Chapters: 00, 01"):
        exercises.progress(chapter)


def test_a_check_that_grades_leaves_no_trace():
    RIGHT.check(*solved(RIGHT))
    assert "0 of" in exercises.progress("03").line("03")
