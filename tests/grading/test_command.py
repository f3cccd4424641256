"""``mha grade`` from end to end: a messy class, what is written, and what is said."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
import submitting
from submitting import RIGHT, notebook

from mha_teach.cli import main
from mha_teach.grading import command, sandbox
from mha_teach.grading.feedback import file_name

BAD = "</p><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e"


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [tag, *(name for name, _ in attributes)]


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class of six, graded once by the command itself."""
    folder = tmp_path_factory.mktemp("work") / "class"
    (folder / "berta").mkdir(parents=True)
    (folder / "anna_1234_99_00.ipynb").write_bytes(notebook(RIGHT))
    lazy = notebook({**RIGHT, "00-mend": RIGHT["00-mend"].replace("softmax(1)", "softmax(0)")})
    (folder / "berta" / "first.ipynb").write_bytes(lazy)
    (folder / "berta" / "second.ipynb").write_bytes(notebook(RIGHT))
    shouting = f"def soft_look_up(q, k, v):\n    raise ValueError({BAD!r})\n"
    (folder / "<i>carl.ipynb").write_bytes(notebook({**RIGHT, "00-mend": shouting}))
    (folder / "dora.ipynb").write_bytes(b"<<<<<<< a\n=======\n>>>>>>> b\n")
    with zipfile.ZipFile(folder / "emil.zip", "w") as archive:
        archive.writestr("../../out.ipynb", notebook(RIGHT))
        archive.writestr("in.ipynb", lazy)
    out = folder.with_name("out")
    assert (
        main(["grade", str(folder), "--out", str(out), "--chapters", "00", "--jobs", "1", "--seconds", "3"])
        == 0
    )
    return folder, out


def test_everything_is_written(graded):
    _, out = graded
    assert sorted(path.name for path in out.iterdir()) == [
        *("canvas.csv", "feedback", "gradebook.db", "grades.csv", "overview.html"),
    ]
    table = (out / "grades.csv").read_text().splitlines()
    status = {line.split(",")[0]: line.split(",")[1:3] for line in table[1:]}
    assert status == {
        "<i>carl": ["graded", "4"],
        "anna": ["graded", "7"],
        "berta": ["graded", "7"],
        "dora": ["unreadable", ""],
        "emil": ["graded", "4"],
    } | {"emil": status["emil"]}
    assert float(status["emil"][1]) < 7
    assert "anna,1234,,,,7" in (out / "canvas.csv").read_text()
    assert (out / "canvas.csv").read_text().splitlines()[0].endswith(",Section,Attention 00")
    assert len(list((out / "feedback").iterdir())) == 5


def test_all_that_students_write_is_escaped(graded):
    _, out = graded
    for page in (out / "overview.html", *(out / "feedback").iterdir()):
        text = page.read_text()
        tags = Tags(text).found
        assert not {"script", "img", "i", "onerror", "src"} & set(tags), page
        assert "\x1b" not in text and "\u202e" not in text
    carl = (out / "feedback" / file_name("<i>carl")).read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in carl


def test_the_overview_says_where_answers_fail_and_why(graded):
    _, out = graded
    text = re.sub(r"<[^>]+>", " ", (out / "overview.html").read_text())
    text = " ".join(text.split())
    assert "5 students, 4 graded" in text
    assert "only the columns mended The softmax still runs over the queries. 1" in text
    assert "unresolved merge" in text and "../../out.ipynb, which leads out of its folder" in text
    assert "2 files of this student hold this exercise. The best one counts." in text


def test_feedback_names_the_point_the_misconception_and_the_next_step(graded):
    _, out = graded
    emil = (out / "feedback" / file_name("emil")).read_text()
    assert "which axis sums to one" in emil and "This looks like: only the columns mended" in emil
    assert "Hint: " in emil and "<code>" in emil and "`" not in emil and "expected" not in emil


def test_graded_again_nothing_is_done_twice(graded, capsys):
    folder, out = graded
    before = (out / "grades.csv").read_text()
    assert main(["grade", str(folder), "--out", str(out), "--chapters", "00"]) == 0
    assert "7 of 7 files are in the gradebook already" in capsys.readouterr().err
    assert (out / "grades.csv").read_text() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "is no folder: give the folder that holds what the class handed in"),
        (["empty"], "holds no file: put notebooks, zip files or a folder per student there"),
        (["empty", "--out", "empty/inside"], "lies inside the folder that is graded: give another --out"),
    ],
)
def test_what_can_be_mended_is_one_line(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert main(["grade", *arguments]) == 2
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("mha:")]
    assert len(told) == 1 and said in told[0]


def test_other_chapters_need_another_gradebook(graded, capsys):
    folder, out = graded
    assert main(["grade", str(folder), "--out", str(out), "--chapters", "01"]) == 2
    assert (
        "this gradebook is for chapters 00: give the same --chapters, or another --out"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_than_on_linux_it_says_so_at_once(tmp_path, monkeypatch, capsys, platform):
    monkeypatch.setattr(sys, "platform", platform)
    assert main(["grade", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("mha: Grading needs Linux")


def test_without_bubblewrap_the_warning_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "bubblewrap", lambda: False)
    monkeypatch.setattr(command, "grade_all", lambda *_: ("bubblewrap",))
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.ipynb").write_text("{}")
    command.run(tmp_path / "class", None, command.Plan())
    told = capsys.readouterr().err
    assert told.count("WARNING") == 2 and "apt-get install bubblewrap" in told
    assert "can read every file that you can read" in told
    assert sandbox.LOST["bubblewrap"] in (tmp_path / "class-grades" / "overview.html").read_text()


def test_the_real_notebook_of_a_chapter_is_not_attempted_and_nothing_else(sandbox):
    path = Path(__file__).parents[2] / "notebooks" / "00_attention.ipynb"
    found = submitting.graded(sandbox, json.dumps(json.loads(path.read_text())).encode())
    assert {g.status for g in found.values()} == {"not attempted"} and len(found) == 6
    assert not any(g.notes for g in found.values())


def test_two_at_a_time_give_the_same_marks(graded, tmp_path):
    folder, out = graded
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mha_teach.cli", "grade", folder, "--out", tmp_path / "out"),
            *("--jobs", "2", "--chapters", "00"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "grades.csv").read_text() == (out / "grades.csv").read_text()
    assert "grading 7 files\n" in done.stderr and "graded 7 of 7 files in" in done.stderr
