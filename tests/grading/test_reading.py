"""Files as they come: read if that is possible, named if it is not, and never an exception."""

from __future__ import annotations

import io
import json
import os
import zipfile

import pytest
from submitting import RIGHT, notebook

from mha_teach.grading.batch import Plan, grade_entry
from mha_teach.grading.collect import collect, who
from mha_teach.grading.reading import LARGEST, parse
from mha_teach.grading.submission import match, tidy

GOOD = notebook(RIGHT)


def kinds(notes) -> list[str]:
    return [note.kind for note in notes]


def found_in(notebook_) -> dict[str, str]:
    return {a.exercise.id: a.source for a in match(notebook_).answers if a.source is not None}


OLD = json.dumps(
    {
        "nbformat": 3,
        "worksheets": [
            {"cells": [{"cell_type": "code", "input": f"# exercise: {i}\n{s}"} for i, s in RIGHT.items()]}
        ],
    }
).encode()
READ_ALL_THE_SAME = {
    "plain": (GOOD, []),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD, ["byte order mark"]),
    "utf-16": (GOOD.decode().encode("utf-16"), ["encoding"]),
    "latin-1": (
        GOOD.replace(b'"metadata": {}, "cells"', b'"metadata": {"x": "\xe9"}, "cells"'),
        ["encoding"],
    ),
    "windows line ends in the file": (
        json.dumps(json.loads(GOOD), indent=1).replace("\n", "\r\n").encode(),
        [],
    ),
    "windows line ends in the cells": (GOOD.replace(b"\\n", b"\\r\\n"), ["windows line ends"]),
    "format 3": (OLD, ["old format"]),
    "wrong kernel": (
        notebook(RIGHT, metadata={"kernelspec": {"name": "ir", "language": "R"}}),
        ["wrong kernel"],
    ),
    "merge marks in a cell": (
        notebook(
            [*(f"# exercise: {i}\n{s}" for i, s in RIGHT.items()), "<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> b"]
        ),
        ["merge conflict in cells"],
    ),
    "no metadata at all": (
        json.dumps({"cells": [{"source": c["source"]} for c in json.loads(GOOD)["cells"]]}).encode(),
        [],
    ),
    "sources as lists": (
        json.dumps(
            {"cells": [{**c, "source": c["source"].splitlines(True)} for c in json.loads(GOOD)["cells"]]}
        ).encode(),
        [],
    ),
    "50 MB of output": (GOOD[:-1] + b', "more": "' + b"x" * 50_000_000 + b'"}', ["large"]),
}


@pytest.mark.parametrize("name", READ_ALL_THE_SAME)
def test_it_is_read_all_the_same_and_named(name):
    data, notes = READ_ALL_THE_SAME[name]
    read = parse(data)
    assert read.problem is None and kinds(read.notes) == notes
    assert found_in(read).keys() == RIGHT.keys()
    for id, source in found_in(read).items():
        assert source.replace("\r", "") == f"# exercise: {id}\n{RIGHT[id]}"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "empty"),
        (b"\0\0\0\n", "empty"),
        (GOOD[:200], "not a notebook"),
        (b"[1, 2]", "not a notebook"),
        (b"{}", "not a notebook"),
        (b'"cells"', "not a notebook"),
        (b'{"cells": 3}', "not a notebook"),
        (b"<<<<<<< HEAD\n" + GOOD + b"\n=======\n{}\n>>>>>>> b\n", "merge conflict"),
        (b"[" * 100_000, "not a notebook"),
        (b"[" + b"[]," * 2_100_000, "too many parts"),
        (b'{"cells": ' + b"9" * 10_000 + b"}", "not a notebook"),
        (bytes(range(256)) * 9, "not a notebook"),
        (b"%PDF-1.7 ...", "not a notebook"),
        (b"PK\x03\x04\xff a document", "not a notebook"),
        (b"\n<!DOCTYPE html><html>", "not a notebook"),
    ],
)
def test_what_can_not_be_read_is_named(data, kind):
    read = parse(data)
    assert read.problem.kind == kind and read.cells == [] and read.problem.words


@pytest.mark.parametrize(
    "cells", [[None, 3, "x"], [{}], [{"source": 5}], [{"source": [1, "x = 1"], "cell_type": 7}]]
)
def test_broken_cells_are_passed_over(cells):
    read = parse(json.dumps({"cells": cells}).encode())
    assert read.problem is None
    assert kinds(match(read).notes) == ["no exercises"]


@pytest.mark.parametrize(
    "id", ["00-mend", "00‑mend", "00–mend", "00_mend", "00-ｍｅｎｄ", "00-mеnd", "00-MEND."]
)
def test_ids_with_signs_that_look_alike(id):
    assert tidy(id) == "00-mend"
    answer = next(
        a for a in match(parse(notebook({id: RIGHT["00-mend"]}))).answers if a.exercise.id == "00-mend"
    )
    assert answer.source is not None
    assert kinds(answer.notes) == ([] if id == "00-mend" else ["odd id"])


def test_deleted_moved_duplicated_and_unmarked_cells():
    stub = "def soft_look_up(q, k, v):\n    ...\n"
    mine = {"00-by-hand": RIGHT["00-by-hand"]}
    cells = [RIGHT["00-probe"], *(f"# exercise: {i}\n{s}" for i, s in mine.items())]
    cells += [
        f"\n\n# Exercise : 00-mend\n{stub}# first\n",
        f"# exercise: 00-mend\n{RIGHT['00-mend']}",
        "# exercise: 00-nothing",
    ]
    read = match(parse(notebook(cells)))
    told = {a.exercise.id: (a.source, kinds(a.notes)) for a in read.answers}
    assert told["00-probe"] == (RIGHT["00-probe"], ["no id line"])
    assert told["00-mend"] == (f"# exercise: 00-mend\n{RIGHT['00-mend']}", ["several cells"])
    assert told["00-attend"] == (None, ["missing"])
    assert kinds(read.notes) == ["unknown id"]


def test_the_last_changed_of_two_cells_counts():
    from mha_teach import exercises

    stub = exercises.get("00-mend").stub
    cells = [f"# exercise: 00-mend\n{RIGHT['00-mend']}", f"# exercise: 00-mend\n{stub}"]
    assert RIGHT["00-mend"] in found_in(parse(notebook(cells)))["00-mend"]


def test_a_cell_that_became_text_is_read():
    data = json.loads(GOOD)
    data["cells"][1]["cell_type"] = "markdown"
    answer = next(a for a in match(parse(json.dumps(data).encode())).answers if a.exercise.id == "00-mend")
    assert answer.source and kinds(answer.notes) == ["no code cell"]


def test_what_a_file_really_is_is_told():
    for data, words in ((b"PK\x03\x04\xff", "a zip file or an office document"), (b"<html>", "a web page")):
        read = parse(data)
        assert words in read.problem.words and read.notes == []


def test_two_answers_in_one_cell_both_count():
    both = f"# exercise: 00-mend\n{RIGHT['00-mend']}\n\n{RIGHT['00-probe']}"
    told = {a.exercise.id: (a.source, kinds(a.notes)) for a in match(parse(notebook([both]))).answers}
    assert told["00-mend"] == (both, []) and told["00-probe"] == (both, ["shared cell"])
    assert told["00-attend"] == (None, ["missing"])


def test_another_assignment_is_named():
    read = match(parse(GOOD), chapters=("01",))
    assert kinds(read.notes) == ["another assignment"] and "chapter 00" in read.notes[0].words
    assert all(answer.source is None for answer in read.answers) and len(read.answers) >= 4


def test_names_of_canvas():
    assert who("muellerhans_LATE_4711_99_00_attention") == ("muellerhans", "4711")
    assert who("hans_mueller") == ("hans_mueller", "")
    assert who("00_attention") == ("00_attention", "")
    assert who("a\u202eb\n") == ("a?b?", "")


def test_a_class_as_it_comes(tmp_path):
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / "a.ipynb").write_bytes(GOOD)
    (tmp_path / "anna" / "b.ipynb").write_bytes(GOOD)
    (tmp_path / "anna" / ".ipynb_checkpoints").mkdir()
    (tmp_path / "anna" / ".ipynb_checkpoints" / "a.ipynb").write_bytes(GOOD)
    (tmp_path / "berta").mkdir()
    (tmp_path / "carl.docx").write_bytes(b"PK")
    os.symlink("/etc/passwd", tmp_path / "dora.ipynb")
    os.mkfifo(tmp_path / "emil.ipynb")
    with (tmp_path / "frida.ipynb").open("wb") as file:
        file.truncate(LARGEST + 1)
    found = {entry.name: entry for entry in collect(tmp_path)}
    assert {name: entry.student for name, entry in found.items()} == {
        "anna/a.ipynb": "anna",
        "anna/b.ipynb": "anna",
        "berta": "berta",
        "carl.docx": "carl",
        "dora.ipynb": "dora",
        "emil.ipynb": "emil",
        "frida.ipynb": "frida",
    }
    data = {name: entry.data() for name, entry in found.items()}
    assert data["anna/a.ipynb"] == GOOD
    told = {name: value.kind for name, value in data.items() if not isinstance(value, bytes)}
    assert told == {
        "berta": "nothing inside",
        "carl.docx": "not a notebook",
        "dora.ipynb": "link",
        "emil.ipynb": "can't be opened",
        "frida.ipynb": "too large",
    }


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_zip_files_are_read_without_unpacking(tmp_path):
    class_ = tmp_path / "class"
    class_.mkdir()
    inside = {
        "inside/a.ipynb": GOOD,
        "../../evil.ipynb": GOOD,
        "/abs.ipynb": GOOD,
        "C:\\x.ipynb": GOOD,
        "notes.txt": b"x",
    }
    (class_ / "anna.zip").write_bytes(zipped(**inside))
    (class_ / "berta.zip").write_bytes(zipped(**{"a.ipynb": GOOD})[:-30])
    (class_ / "carl.zip").write_bytes(zipped(readme=b"x"))
    bomb = {f"{i}.ipynb": b"0" * LARGEST for i in range(3)}
    (class_ / "dora.zip").write_bytes(zipped(**bomb))
    lying = zipped(**{"a.ipynb": b"1" * 3_000_000}).replace(
        (3_000_000).to_bytes(4, "little"), (30).to_bytes(4, "little")
    )
    (class_ / "emil.zip").write_bytes(lying)
    found = {entry.name: entry.data() for entry in collect(class_)}
    told = {name: value.kind for name, value in found.items() if not isinstance(value, bytes)}
    assert found["anna.zip/inside/a.ipynb"] == GOOD
    assert told.pop("emil.zip/a.ipynb") in ("bad zip", "can't be opened")
    assert sorted(told.values()) == sorted(
        [*["unsafe name"] * 3, "bad zip", "nothing inside", "zip too large"]
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["class"]


def test_an_unreadable_file_is_unreadable_at_every_point_and_never_a_nought(tmp_path):
    (tmp_path / "anna.ipynb").write_bytes(b"{")
    (entry,) = collect(tmp_path)
    attempt = grade_entry(entry, entry.digest(), Plan(chapters=("00",)), 1, None)
    assert attempt.status == "unreadable" and kinds(attempt.notes) == ["not a notebook"]
    assert {p.status for grade in attempt.grades for p in grade.points} == {"unreadable"}
    assert len(attempt.grades) == 5
