"""Cells that carry a student's tag: judged with that student's numbers, and named where the tag is odd or another's."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from submitting import graded, notebook

from mha_teach import exercises
from mha_teach.grading.reading import parse
from mha_teach.grading.submission import match
from mha_teach.grading.whose import Tags, of_cell, of_notebook, tags_of

ANNA, BERTA = exercises.tag("anna"), exercises.tag("berta")
CLASS = {ANNA: "Anna", BERTA: "Berta"}
IDS = ("05-count", "02-numbers", "03-addresses")


def answers(tag: str, ids: tuple[str, ...] = IDS) -> dict[str, str]:
    """Right answers for the student with this tag, under ids that carry it."""
    return {f"{id}@{tag}": exercises.get(f"{id}@{tag}").solution for id in ids}


def told(data: bytes, tags: Tags | None = None) -> tuple[list[str], dict[str, tuple[str, list[str]]]]:
    """The notes on the whole, and for every answer the id with which it is judged and the notes on it."""
    found = match(parse(data), (), tags)
    cells = {a.exercise.base: (a.exercise.id, [n.kind for n in a.notes]) for a in found.answers if a.source}
    return [n.kind for n in found.notes], cells


def test_a_tag_decides_the_exercise_and_the_gradebook_sees_the_plain_id(sandbox):
    grades = graded(sandbox, notebook(answers(ANNA)))
    assert {grades[id].status for id in IDS} == {"right"} and not any(grades[id].notes for id in IDS)
    untagged = notebook({id.partition("@")[0]: source for id, source in answers(ANNA).items()})
    assert {graded(sandbox, untagged)[id].status for id in IDS} == {"wrong"}


def test_without_tags_nothing_changes():
    plain = notebook({id: exercises.get(id).solution for id in IDS})
    assert told(plain) == ([], {id: (id, []) for id in IDS})
    assert told(plain, Tags("anna", ANNA, CLASS))[0] == ["no tags"]


def test_the_owners_tags_need_no_words():
    assert told(notebook(answers(ANNA)), Tags("anna", ANNA, CLASS)) == (
        [],
        {id: (f"{id}@{ANNA}", []) for id in IDS},
    )


def test_a_notebook_of_another_student_is_named_once():
    notes, cells = told(notebook(answers(BERTA)), Tags("anna", ANNA, CLASS))
    assert notes == ["other's notebook"] and cells == {id: (f"{id}@{BERTA}", []) for id in IDS}


def test_a_cell_of_another_student_is_named():
    mixed = answers(ANNA, IDS[:2]) | answers(BERTA, IDS[2:])
    notes, cells = told(notebook(mixed), Tags("anna", ANNA, CLASS))
    assert notes == [] and cells[IDS[2]] == (f"{IDS[2]}@{BERTA}", ["other's tag"]) and cells[IDS[0]][1] == []
    assert told(notebook(mixed))[1][IDS[2]] == (f"{IDS[2]}@{BERTA}", ["two tags"])


@pytest.mark.parametrize(
    ("tag", "kind"),
    [
        ("", "odd tag"),
        (ANNA[:5], "odd tag"),
        (ANNA + "x", "odd tag"),
        ("l0l0l0", "odd tag"),
        (ANNA[:4] + ("2" if ANNA[4] != "2" else "3") + ANNA[5], "odd tag"),
        (ANNA.upper(), "odd id"),
        (f"{ANNA}@{BERTA}", "odd tag"),
    ],
)
def test_an_odd_tag_is_read_as_the_other_cells_have_it(tag, kind, sandbox):
    first, *rest = answers(ANNA).items()
    data = notebook({f"{IDS[0]}@{tag}": first[1], **dict(rest)})
    for tags in (None, Tags("anna", ANNA, CLASS)):
        assert told(data, tags) == (
            [],
            {IDS[0]: (f"{IDS[0]}@{ANNA}", [kind]), **{id: (f"{id}@{ANNA}", []) for id in IDS[1:]}},
        )
    assert graded(sandbox, data)[IDS[0]].status == "right"


def test_a_lost_tag_is_read_as_the_other_cells_have_it():
    first, *rest = answers(ANNA).items()
    cells = told(notebook({IDS[0]: first[1], **dict(rest)}))[1]
    assert cells[IDS[0]] == (f"{IDS[0]}@{ANNA}", ["tag gone"])


def test_the_tags_of_check_cells_count_where_all_ids_have_lost_theirs():
    sources = [f"# exercise: {id}\n{exercises.get(f'{id}@{ANNA}').solution}" for id in IDS]
    sources.append(exercises.get(f"05-count@{ANNA}").call)
    assert told(notebook(sources))[1] == {id: (f"{id}@{ANNA}", ["tag gone"]) for id in IDS}


def test_blanks_and_wide_signs_round_the_tag():
    cells = told(notebook({f"05-count ＠ {ANNA}": exercises.get(f"05-count@{ANNA}").solution}))[1]
    assert cells["05-count"] == (f"05-count@{ANNA}", [])


def test_a_cell_without_its_first_line_gets_the_tag_of_the_rest():
    id = f"05-count@{ANNA}"
    rest = [f"# exercise: {i}\n{source}" for i, source in answers(ANNA, ("05-inner-width",)).items()]
    assert told(notebook([exercises.get(id).solution, *rest]))[1]["05-count"] == (id, ["no id line"])


def test_tags_that_nobody_has():
    strange = "222222"
    assert told(notebook(answers(strange)))[0] == []
    notes, cells = told(notebook(answers(strange)), Tags("anna", ANNA, CLASS))
    assert notes == [] and cells == {id: (f"{id}@{ANNA}", ["unknown tag"]) for id in IDS}
    assert told(notebook(answers(strange)), Tags("x", "", CLASS))[0] == ["unknown tags"]
    assert told(notebook(answers(BERTA)), Tags("x", "", CLASS))[0] == ["owner by tag"]
    assert told(notebook({"05-count@zz": "x = 1"}))[1]["05-count"] == ("05-count", ["no tag"])


def test_every_sentence_can_be_said():
    for tags in (Tags(), Tags("anna", ANNA, CLASS), Tags("x", "", CLASS)):
        for found in ([], ["?"], [ANNA], [BERTA], ["222222"], [ANNA, BERTA]):
            usual, notes = of_notebook(found, tags)
            for given in (None, "", "?", ANNA, BERTA, "222222"):
                for one in (*notes, *of_cell("05-count", given, usual, tags)[1]):
                    assert one.words and "{" not in one.words


@dataclass
class Someone:
    id: str
    name: str = ""
    login: str = ""
    file: str = ""

    @property
    def tag(self) -> str:
        return exercises.tag(self.id)


def test_who_hands_in_is_found_by_id_file_login_or_name():
    roster = [
        Someone("s1", "Hans Müller", "hmu", "s1"),
        Someone("s2/b", "Berta Yu", "byu", "s2_b-0f0f"),
        Someone("s3", "Ann Lee"),
        Someone("s4", "Ann Lee"),
    ]
    for student, number in (
        ("s1", 0), ("S1", 0), ("hmu", 0), ("Hans Müller", 0), ("mullerhans", 0), ("s2_b-0f0f", 1), ("yuberta", 1),
        ("Berta Yu_4711_assignsubmission_file_", 1), ("s1_4712_assignsubmission_file", 0),
    ):  # fmt: skip
        assert tags_of(student, roster).own == roster[number].tag, student
    for stranger in ("Ann Lee", "nobody", ""):
        assert tags_of(stranger, roster).own == ""
    assert tags_of("s1", roster).known[exercises.tag("s2/b")] == "Berta Yu"
    assert tags_of("s1", []) == Tags("s1")
