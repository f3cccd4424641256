"""``mha repair``: whatever is taken from a released notebook comes back to the letter, and the grades stay."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable

import pytest
from submitting import notebook

from mha_teach import exercises
from mha_teach.cli import main
from mha_teach.grading.reading import parse
from mha_teach.grading.repair import repair
from mha_teach.grading.submission import match
from mha_teach.release.assignment import assignments, student_notebook, text_of

(CHAPTER,) = assignments(("00",))


def solved(tag: str = "") -> dict:
    """The assignment of chapter 00 as a diligent student hands it in."""
    found = student_notebook(CHAPTER.with_tag(tag) if tag else CHAPTER)
    for cell in found["cells"]:
        if cell["metadata"]["tags"] == ["stub"]:
            id = cell["source"][0].split()[-1]
            cell["source"] = [
                f"# exercise: {id}\n",
                *exercises.get(id).solution.strip("\n").splitlines(keepends=True),
            ]
    return found


def role(cell: dict) -> str:
    return cell["id"].rsplit("-", 1)[1]


def no_ids(book: dict) -> None:
    for cell in book["cells"]:
        del cell["id"]
        cell["metadata"] = {}


def no_first_lines(book: dict) -> None:
    for cell in book["cells"]:
        if role(cell) == "stub":
            cell["source"] = cell["source"][1:]


def no_lines_and_ids(book: dict) -> None:
    no_first_lines(book)
    no_ids(book)


def no_checks(book: dict) -> None:
    book["cells"] = [cell for cell in book["cells"] if role(cell) != "check"]


def no_setup(book: dict) -> None:
    book["cells"] = [cell for cell in book["cells"] if role(cell) != "setup"]


def same_ids(book: dict) -> None:
    for cell in book["cells"][1:]:
        cell["id"] = book["cells"][0]["id"]
        cell["metadata"] = {}


def odd_lines(book: dict) -> None:
    for cell in book["cells"]:
        if role(cell) == "stub":
            cell["source"][0] = cell["source"][0].replace("-", "–").replace("# exercise", "#Exercise ")


def no_kernel(book: dict) -> None:
    book["metadata"] = {}


def for_r(book: dict) -> None:
    book["metadata"] = {"kernelspec": {"name": "ir", "language": "R"}, "language_info": {"name": "R"}}


def format_4_2(book: dict) -> None:
    book["nbformat_minor"] = 2
    for cell in book["cells"]:
        del cell["id"]


def format_3(book: dict) -> None:
    for cell in book["cells"]:
        cell.pop("id")
        if cell["cell_type"] == "code":
            cell |= {"input": cell.pop("source"), "language": "python", "prompt_number": 3}
            cell["outputs"] = [{"output_type": "pyout", "text": "x"}]
    book |= {"nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": book.pop("cells"), "metadata": {}}]}


def answers_as_text(book: dict) -> None:
    for cell in book["cells"]:
        if role(cell) == "stub":
            cell["cell_type"] = "markdown"
            del cell["outputs"], cell["execution_count"]


SPOILED: list[Callable[[dict], None]] = [
    *(no_ids, no_first_lines, no_lines_and_ids, no_checks, no_setup, same_ids, odd_lines, no_kernel, for_r),
    *(format_4_2, format_3, answers_as_text),
]


@pytest.mark.parametrize("tag", ["", exercises.tag("anna")])
@pytest.mark.parametrize("spoil", SPOILED)
def test_what_was_taken_comes_back_to_the_letter(spoil, tag):
    book = solved(tag)
    whole = text_of(book)
    spoil(book)
    assert text_of(book) != whole
    made = repair(text_of(book).encode())
    assert made.text == whole and made.did and not made.left
    again = repair(made.text.encode())
    assert again.text == whole and not again.did


@pytest.mark.parametrize(
    "spoil", [lambda t: "\ufeff" + t, lambda t: t.replace("\n", "\r\n"), lambda t: t.replace("\\n", "\\r\\n")]
)
def test_signs_of_other_editors_go(spoil):
    whole = text_of(solved())
    made = repair(spoil(whole).encode())
    assert made.text == whole
    assert repair(whole.encode("utf-16")).text == whole


def test_nothing_is_done_where_nothing_is_missing():
    made = repair(text_of(solved()).encode())
    assert (made.text, made.did, made.left) == (text_of(solved()), [], [])


def test_what_a_student_added_stays_and_two_answers_become_one():
    book = solved()
    own = [
        {
            "cell_type": "code",
            "source": "y = 1",
            "metadata": {"mine": 1},
            "outputs": [{"output_type": "stream"}],
        }
    ]
    first = "# exercise: 00-mend\ndef soft_look_up(q, k, v):\n    return q\n"
    own.append({"cell_type": "code", "source": first, "metadata": {}, "outputs": [], "id": "a b"})
    book["cells"][2:2] = own
    before = match(parse(json.dumps(book).encode()))
    made = repair(json.dumps(book).encode())
    cells = json.loads(made.text)["cells"]
    assert cells[2]["metadata"] == {"mine": 1} and cells[2]["outputs"] == [{"output_type": "stream"}]
    assert "".join(cells[3]["source"]).startswith("# another answer to 00-mend, put aside\ndef soft_look_up")
    assert len({cell["id"] for cell in cells}) == len(cells)
    after = match(parse(made.text.encode()))
    assert [(a.exercise.id, a.source) for a in after.answers] == [
        (a.exercise.id, a.source) for a in before.answers
    ]
    assert [n.kind for a in before.answers for n in a.notes] == ["several cells"]
    assert not [n for a in after.answers for n in a.notes] and "another cell of 00-mend put aside" in made.did


def test_merge_marks_and_missing_cells_are_left_to_a_person():
    book = solved()
    del book["cells"][3]["id"]
    book["cells"][3]["source"] = ["<<<<<<< HEAD\n", "x = 1\n", "=======\n", ">>>>>>> b\n"]
    gone = repair(json.dumps(book).encode())
    assert "cell 4: please choose" in gone.left[0] and "No cell answers 00-by-hand" in gone.left[1]
    assert "<<<<<<< HEAD" in gone.text
    broken = repair(b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> b\n")
    assert broken.text is None and "unresolved merge" in broken.left[0]


@pytest.mark.parametrize(
    "cells",
    [[], [{}], [{"source": 5, "metadata": 3, "outputs": "x"}, None], [{"cell_type": "odd", "source": "x"}]],
)
def test_notebooks_without_an_exercise_are_made_sound_and_named(cells):
    made = repair(json.dumps({"cells": cells, "metadata": 7}).encode())
    found = json.loads(made.text)
    assert found["nbformat"] == 4 and all(cell["id"] and "source" in cell for cell in found["cells"])
    assert "no exercise of this book" in made.left[0]


def test_one_cell_with_two_answers_is_left_to_a_person():
    both = "def soft_look_up(q, k, v):\n    return q\ndef attend_mine(q, k, v):\n    return q\n"
    made = repair(notebook([both]), ("00",))
    assert any("One cell answers" in words for words in made.left)


def test_a_class_is_mended_into_a_new_place_and_nothing_is_touched(tmp_path, capsys):
    class_ = tmp_path / "class"
    (class_ / "berta").mkdir(parents=True)
    stripped = solved()
    no_lines_and_ids(stripped)
    (class_ / "anna.ipynb").write_text(text_of(stripped))
    (class_ / "berta" / "a.ipynb").write_text(text_of(solved()))
    (class_ / "broken.ipynb").write_bytes(b"{")
    (class_ / "linked.ipynb").symlink_to("/etc/passwd")
    with zipfile.ZipFile(class_ / "carl.zip", "w") as archive:
        archive.writestr("in/a.ipynb", text_of(stripped))
        archive.writestr("../../evil.ipynb", text_of(stripped))
    before = {
        path: path.read_bytes() for path in class_.rglob("*") if path.is_file() and not path.is_symlink()
    }
    assert main(["repair", str(class_)]) == 0
    out = tmp_path / "class-repaired"
    whole = text_of(solved())
    written = {
        path.relative_to(out).as_posix(): path.read_text() for path in out.rglob("*") if path.is_file()
    }
    assert written == {
        "anna.ipynb": whole, "berta/a.ipynb": whole, "broken.ipynb": "{", "carl/in/a.ipynb": whole
    }  # fmt: skip
    said = capsys.readouterr()
    assert "anna.ipynb: restored first line of 00-" in said.err
    assert "berta/a.ipynb: nothing was missing" in said.err
    assert "broken.ipynb: copied as it is. It is no notebook" in said.err
    assert "leads out of its folder" in said.err and "linked.ipynb: left out. It is a link" in said.err
    assert "2 of 6 notebooks mended; 3 need a look at" in said.out
    assert {path: path.read_bytes() for path in before} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["class", "class-repaired"]
    assert main(["repair", str(class_)]) == 2
    assert "exists already, and nothing is overwritten" in capsys.readouterr().err


def test_a_single_file(tmp_path, capsys):
    book = solved()
    no_checks(book)
    (tmp_path / "a.ipynb").write_text(text_of(book))
    assert main(["repair", str(tmp_path / "a.ipynb")]) == 0
    assert (tmp_path / "a-repaired.ipynb").read_text() == text_of(solved())
    for arguments, said in (
        (["a.ipynb", "--out", "a.ipynb"], "lies where the originals are: give another --out"),
        (["nothing"], "does not exist: give a notebook, or the folder"),
        (["a.ipynb"], "exists already, and nothing is overwritten"),
    ):
        given = [str(tmp_path / a) if not a.startswith("--") else a for a in arguments]
        assert main(["repair", *given]) == 2
        assert said in capsys.readouterr().err
