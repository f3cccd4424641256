"""Students' own numbers: every variant passes what the book's exercise passes, and a tag alone makes it again."""

from __future__ import annotations

import re
import zlib

import pytest
from rejecting import failed

from mha_teach import exercises
from mha_teach.exercises import Exercise, judge
from mha_teach.exercises.cases import apart, listed, varied
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.tags import LENGTH, SIGNS, check_tag

ALL = exercises.all()
VARIED = [exercise for exercise in ALL if exercise.vary]
TAGS = [exercises.tag(student) for student in ("anna", "berta", "carl")]
# The inputs of all other exercises differ by tag too: test_matrix proves them for the book, here a third of their
# wrong answers is tried on one student's inputs.
PAIRS = [(e.id, tag) for e in VARIED for tag in TAGS] + [(e.id, TAGS[0]) for e in ALL if not e.vary]

PINNED = {
    "00-by-hand": 3901154261,
    "00-crowd": 1227997096,
    "01-count": 3449558937,
    "01-bag": 883161067,
    "02-numbers": 2297705143,
    "02-offset": 1283489291,
    "03-addresses": 3730582285,
    "03-strides": 2647819273,
    "03-fused-layouts": 1682614646,
    "04-what-true-means": 1886143376,
    "04-kept-share": 4113426196,
    "05-count": 3598693173,
    "05-inner-width": 3685874875,
    "06-who-carries": 1951780197,
    "06-saved": 3276672726,
    "06-previous-score": 2837784989,
}

each = pytest.mark.parametrize("book", VARIED, ids=lambda exercise: exercise.id)


def judged(exercise: Exercise, source: str, label: str) -> exercises.Verdict:
    answer = exercise.build(source, label)
    return exercise.check(*(answer if len(exercise.names) > 1 else (answer,)))


@pytest.mark.parametrize(("id", "tag"), PAIRS)
def test_the_whole_matrix_holds_for_a_student(id, tag):
    exercise = exercises.get(f"{id}@{tag}")
    assert judged(exercise, exercise.stub, "stub").status == "not attempted"
    if exercise.kind == "explore":
        return
    for index, source in enumerate((exercise.solution, *exercise.variants)):
        verdict = judged(exercise, source, f"right answer {index}")
        assert verdict.status == "right" and not (verdict.notes and index == 0), f"\n{source}\n{verdict}"
    alone, whole = set(), exercises.get(id).vary is not None
    for mutant in exercise.mutants if whole else exercise.mutants[::3]:
        verdict = judged(exercise, exercise.source_of(mutant), mutant.name)
        assert verdict.status in ("wrong", "error", "timeout"), f"\n{verdict}"
        assert mutant.point in failed(verdict), f"rejected by {failed(verdict)}\n{verdict}"
        assert verdict.diagnosis == mutant.name and mutant.words in str(verdict), f"\n{verdict}"
        alone |= set(failed(verdict)) if len(failed(verdict)) == 1 else set()
    assert not whole or {point.name for point in exercise.points} <= alone
    judge._reference.cache_clear()


def test_sixteen_exercises_of_all_chapters_vary():
    assert len(VARIED) >= 16 and len({exercise.id[:2] for exercise in VARIED}) == 7
    fixed = [exercise.id for exercise in ALL if exercise.kind in ("recall", "derive") and not exercise.vary]
    assert not fixed, f"numbers of these never change: {fixed}"


@each
def test_a_class_can_be_counted_whatever_its_numbers(book):
    for exercise in (book.with_tag(tag) for tag in TAGS):
        same = [(e.kind, e.marks, e.names, e.stub, e.setup, e.seconds) for e in (book, exercise)]
        assert same[0] == same[1]
        points = [[(p.name, p.weight) for p in e.points] for e in (book, exercise)]
        assert points[0] == points[1]
        assert {m.name for m in book.mutants} <= {m.name for m in exercise.mutants}


@each
def test_the_books_answer_is_not_a_students_answer(book):
    prompts = set()
    for number in range(6):
        exercise = book.with_tag(exercises.tag(f"student {number}"))
        assert judged(exercise, book.solution, "the book's").status == "wrong", exercise.prompt
        prompts.add(exercise.prompt)
    assert book.prompt not in prompts and len(prompts) >= 2


def test_a_tag_alone_gives_the_numbers_everywhere_and_for_ever():
    """A changed number here means that notebooks which are already with students would be judged by other numbers."""
    assert exercises.tag("anna") == "64x73r"
    assert exercises.tag("anna", "a secret") == "4xfjmn"
    exercise = exercises.get("05-count@k7q2m9")
    assert exercise.solution == "inner = 910\nparameters = 3727360\nattention = 2366\n"
    assert exercise is exercises.get("05-count@k7q2m9")
    assert exercise.prompt == exercises.get("05-count").with_tag("k7q2m9").prompt
    assert [Draw(0, "x").pick(range(1000)) for _ in range(2)] == [208, 208]
    draw = Draw(0, "x")
    assert [draw.pick("abcdefgh") for _ in range(6)] == list("abbbde")


def test_the_cases_of_every_exercise_stay_in_their_order():
    """Another list of cases, or another order, gives other numbers to who has a notebook already. Is that meant?"""
    found = {e.id: re.findall(r"\d+(?:\.\d+)?", e.with_tag("k7q2m9").solution) for e in VARIED}
    assert {id: zlib.crc32(" ".join(numbers).encode()) for id, numbers in found.items()} == PINNED


def test_a_tag_is_a_keyed_hash_in_signs_that_can_not_be_confused():
    tags = [exercises.tag(f"student {number}") for number in range(500)]
    assert len(set(tags)) == 500 and all(len(tag) == LENGTH and set(tag) <= set(SIGNS) for tag in tags)
    assert not set(SIGNS) & set("01oilOIaeuAEU") and SIGNS == SIGNS.casefold()
    assert exercises.tag(" Anna ") == exercises.tag("anna") == exercises.tag("ａnna")
    assert exercises.tag("anna", "one secret") != exercises.tag("anna", "another")
    assert all(exercises.is_tag(tag) for tag in tags) and not any(
        map(exercises.is_tag, ("", "k7q2m", "k7q2ml"))
    )
    with pytest.raises(ValueError, match="id is empty"):
        exercises.tag(" ")


def test_a_tagged_exercise_says_whose_it_is():
    exercise = exercises.get("05-count@k7q2m9")
    assert (exercise.id, exercise.base, exercise.tag) == ("05-count@k7q2m9", "05-count", "k7q2m9")
    assert exercise.call == 'check("05-count@k7q2m9", inner, parameters, attention)'
    assert str(exercises.check("05-count@k7q2m9", 1, 2, 3)).startswith("05-count@k7q2m9: Not yet.")
    book = exercises.get("05-count")
    assert (book.id, book.base, book.tag) == ("05-count", "05-count", "")


def test_without_vary_a_tag_draws_other_inputs_and_changes_nothing_else():
    book, mine = exercises.get("00-attend"), exercises.get("00-attend@k7q2m9")
    assert (book.prompt, book.solution, book.points) == (mine.prompt, mine.solution, mine.points)
    q = [e.points[0].inputs(Draw(0, f"{e.id}/x"))[1] for e in (book, mine)]
    assert q[0].shape == q[1].shape and not q[0].equal(q[1])


@pytest.mark.parametrize("tag", ["", "k7q2m", "k7q2m9x", "k7q2ml", "K7Q2M9", "k7q2m9@k7q2m9"])
def test_what_is_no_tag_is_refused_with_a_sentence(tag):
    with pytest.raises(KeyError, match="is no student's tag: a tag has 6 signs out of"):
        exercises.get(f"05-count@{tag}")
    with pytest.raises(ValueError, match="is no student's tag"):
        check_tag(tag)


def test_a_tag_can_not_be_laid_over_another():
    with pytest.raises(ValueError, match=r"has a tag already.*Begin with 05-count\."):
        exercises.get("05-count@k7q2m9").with_tag("k7q2m8")


def test_an_unknown_exercise_stays_unknown_with_a_tag():
    with pytest.raises(KeyError, match="There is no exercise"):
        exercises.get("05-nothing@k7q2m9")


def test_the_books_own_case_is_never_drawn():
    book = exercises.get("05-count")
    found = varied(lambda n: Exercise("x", "x", str(n), "a = 1", "a = 1"), (1,), lambda: [(1,), (2,)])
    assert found.prompt == "1" and {found.vary(Draw(0, f"{n}")).prompt for n in range(20)} == {"2"}
    assert book.vary is not None


def test_answers_that_would_be_taken_for_each_other():
    assert apart(1, 2, 3.5) and apart([1, 2], [2, 1]) and apart(1, [1, 2])
    assert not apart(1, 2, 1.001) and not apart([1, 2], (1, 2.001))
    assert listed(["a"]) == "a" and listed(["a", "b", "c"]) == "a, b and c"


def test_numbers_of_a_recall_exercise_may_come_as_text():
    """After exercises that ask for formulas as text some readers type numbers as text; the number is what is asked for."""
    exercise = exercises.get("05-count")
    assert exercise.check("800", "4 * 768 * 800", "2310").status == "right"
    assert failed(exercise.check("768", "2457600", "eight")) == ["inner width", "attention weights"]
