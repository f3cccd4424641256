"""What one submission leaves in the folder for code, where there is no wall, and what lies in a folder anew."""

import contextlib
import os
import zipfile

import pytest
from submitting import RIGHT, graded, notebook

from mha_teach.grading import batch, collect
from mha_teach.grading.batch import Plan, grade_all, waiting
from mha_teach.grading.gradebook import Gradebook
from mha_teach.grading.members import Known
from mha_teach.grading.sandbox import _remove
from mha_teach.grading.whose import members_of

DEEP = "import os\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')\n"
LEFT = {
    "thousands of folders in each other": DEEP,
    "a locked folder": "import os\nos.mkdir('x')\nopen('x/y', 'w').write('mine')\nos.chmod('x', 0)\n",
}


def test_what_is_left_hinders_nobody(limited):
    for before in (*LEFT.values(), ""):
        found = graded(limited, notebook({"00-mend": before + RIGHT["00-mend"]}))
        assert found["00-mend"].status == "right" and os.listdir(limited._folder) == []


def test_a_link_that_was_left_is_not_followed(tmp_path):
    kept, folder = tmp_path / "kept", tmp_path / "folder"
    kept.mkdir(mode=0o700)
    (kept / "x").write_text("x")
    folder.mkdir()
    (folder / "link").symlink_to(kept)
    inner = folder
    for _ in range(1100):
        inner = inner / "d"
        if len(str(inner)) > 3000:
            break
        inner.mkdir()
    _remove(str(folder))
    assert not folder.exists() and (kept / "x").read_text() == "x"


class Nothing(contextlib.nullcontext):
    """In place of a sandbox where no answer is computed."""

    missing = ()

    def finish_submission(self):
        pass


@pytest.fixture
def handed_in(tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "Sandbox", lambda *_: Nothing(Nothing()))
    folder = tmp_path / "in"
    folder.mkdir()
    with Gradebook(tmp_path / "gradebook.db") as book:

        def run(between=lambda: None):
            work, _ = waiting(folder, book)
            between()
            if work:
                grade_all(work, book, Plan(("00",), wrap=False), lambda attempt: None)
            return [(a.file, a.status) for a in book.attempts()]

        yield folder, book, run


def test_an_older_version_that_is_back_counts(handed_in):
    folder, book, run = handed_in
    file = folder / "s1.ipynb"
    for text, status in (
        (b"", "unreadable"),
        (notebook([]), "graded"),
        (b"", "unreadable"),
        (notebook([]), "graded"),
    ):
        file.write_bytes(text)
        assert run() == [("s1.ipynb", status)]
    file.unlink()
    assert run() == [("s1.ipynb", "graded")] and len(book.done()) == 2


def test_a_file_that_vanishes_meanwhile_is_graded_when_it_is_back(handed_in):
    folder, _, run = handed_in
    file = folder / "s1.ipynb"
    file.write_bytes(notebook([]))
    assert run(file.unlink) == [("s1.ipynb", "unreadable")]
    file.write_bytes(notebook([]))
    assert run() == [("s1.ipynb", "graded")]


def test_a_zip_whose_list_takes_long_to_read(tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "_LISTED", 1000)
    with zipfile.ZipFile(tmp_path / "s1.zip", "w") as archive:
        for n in range(100):
            archive.writestr(f"{n}.ipynb", "{}")
    found = collect.collect(tmp_path)
    assert [bool(entry.problem) for entry in found] == [False] * 10 + [True]
    assert found[-1].problem.kind == "zip too long"


def test_ids_that_are_alike_without_their_signs():
    roster = [Known("2-11", tag="a"), Known("21-1", tag="b")]
    assert [m.tag for m in members_of("21-1", roster)] == ["b"]
    assert len(members_of("211", roster)) == 2
