"""``mha release`` from end to end: what lies where, what is refused, and that it can be answered and graded."""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from classes import ROSTER, answered, sources
from nbclient import NotebookClient

from mha_teach import exercises
from mha_teach.cli import main
from mha_teach.release import ReleaseError, classroom, command
from mha_teach.release.command import Order, run
from mha_teach.release.packing import WHEEL
from mha_teach.release.roster import parse_roster

ADA, BO = parse_roster(ROSTER.encode())


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The wheel has tests of its own."""
    monkeypatch.setattr(command, "wheel", lambda: b"a wheel")


@pytest.fixture
def roster(tmp_path) -> Path:
    path = tmp_path / "roster.csv"
    path.write_bytes(ROSTER.encode("utf-8-sig"))
    return path


def tree(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def unpacked(path: Path, target: Path) -> Path:
    with zipfile.ZipFile(path) as archive:
        archive.extractall(target)
    (top,) = target.iterdir()
    return top


def test_a_class_gets_a_folder_and_the_same_as_a_zip(tmp_path, capsys):
    out = tmp_path / "new" / "out"
    assert main(["release", str(out), "--chapters", "03", "5"]) == 0
    handed = tree(out / "for-students")
    assert set(handed) == {
        *("README.txt", "requirements.txt", "environment.yml", WHEEL),
        *("03_reshaping.ipynb", "05_multihead.ipynb"),
    }
    assert tree(unpacked(out / "for-students.zip", tmp_path / "z")) == handed
    own = {"README.txt", "solutions/03_reshaping-SOLUTIONS.ipynb", "solutions/05_multihead-SOLUTIONS.ipynb"}
    assert set(tree(out / "teacher-only")) == own
    assert sorted(path.name for path in out.iterdir()) == ["for-students", "for-students.zip", "teacher-only"]
    assert "mha grade handed-in --chapters 03 05\n" in (out / "teacher-only" / "README.txt").read_text()
    said = capsys.readouterr().out
    assert "released 2 chapters, 11 exercises" in said and "for-students.zip" in said


def test_without_solutions_there_are_none(tmp_path):
    assert main(["release", str(tmp_path / "out"), "--no-solutions", "--chapters", "3"]) == 0
    assert set(tree(tmp_path / "out" / "teacher-only")) == {"README.txt"}
    told = (tmp_path / "out" / "teacher-only" / "README.txt").read_text()
    assert "solutions/" not in told


def test_each_student_gets_a_zip_with_numbers_of_their_own(tmp_path, roster):
    out = tmp_path / "out"
    assert main(["release", str(out), "--chapters", "05", "--seed-per-student", str(roster)]) == 0
    assert set(tree(out)) == {
        *(f"for-students/{one.file}.zip" for one in (ADA, BO)),
        *(f"teacher-only/solutions/{one.file}-SOLUTIONS.zip" for one in (ADA, BO)),
        *("teacher-only/README.txt", "teacher-only/students.csv"),
    }
    for one in (ADA, BO):
        top = unpacked(out / "for-students" / f"{one.file}.zip", tmp_path / one.file)
        stubs = sources(top / "05_multihead.ipynb", "stub")
        assert stubs and all(f"@{one.tag}" in stub.splitlines()[0] for stub in stubs)
        assert WHEEL in tree(top)
    table = (out / "teacher-only" / "students.csv").read_text("utf-8-sig")
    assert [row["tag"] for row in csv.DictReader(io.StringIO(table))] == [ADA.tag, BO.tag]
    assert "--roster roster.csv" in (out / "teacher-only" / "README.txt").read_text()


def test_the_same_roster_gives_the_same_bytes_and_a_student_more_leaves_the_others_alone(tmp_path, roster):
    order = Order(["05"], roster=roster)
    run(tmp_path / "first", order)
    run(tmp_path / "second", order)
    first = tree(tmp_path / "first")
    assert first == tree(tmp_path / "second")
    longer = tmp_path / "longer.csv"
    longer.write_text(f"name,id\nZoe,zoe\nB,{BO.id}\nA,{ADA.id}\n", encoding="utf-8")
    run(tmp_path / "third", Order(["05"], roster=longer))
    third = tree(tmp_path / "third")
    for one in (ADA, BO):
        assert third[f"for-students/{one.file}.zip"] == first[f"for-students/{one.file}.zip"]
    assert len({data for name, data in third.items() if name.startswith("for-students/")}) == 3


def refused(capsys, *arguments: object) -> str:
    assert main(["release", *map(str, arguments)]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("mha: ") and "\n" not in said
    return said


def test_nothing_is_overwritten(tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").touch()
    assert "out is not empty (it holds mine), and nothing is overwritten: delete it, or give" in refused(
        capsys, out
    )
    assert [path.name for path in out.iterdir()] == ["mine"]
    assert "is no folder: give the name of a new one" in refused(capsys, out / "mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert "is no folder" in refused(capsys, tmp_path / "link")


def test_what_can_be_mended_is_one_line(tmp_path, capsys, roster):
    out = tmp_path / "out"
    assert "no chapter '77'" in refused(capsys, out, "--chapters", "77")
    every = refused(capsys, out, "--seed-per-student", roster, "--format", "class", "otter")
    assert "give --seed-per-student with --format class alone" in every
    both = refused(capsys, out, "--no-solutions", "--format", "nbgrader")
    assert "nbgrader and otter make what students get from the solutions: leave --no-solutions out" in both
    roster.write_text("id\nada\n\nADA\n")
    assert "roster.csv, line 4: ADA is on line 2 already" in refused(
        capsys, out, "--seed-per-student", roster
    )
    assert not out.exists()


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_fails_in_the_middle_leaves_nothing(tmp_path, monkeypatch, capsys, error, there):
    out = tmp_path / "out"
    if there:
        out.mkdir()

    def fail(*_: object, **__: object) -> None:
        assert any(out.rglob("*.ipynb"))
        raise error

    monkeypatch.setattr(classroom, "solutions", fail)
    assert main(["release", str(out), "--chapters", "3"]) == (
        130 if isinstance(error, KeyboardInterrupt) else 2
    )
    assert capsys.readouterr().err.count("\n") == 1
    assert out.exists() == there
    assert not there or not any(out.iterdir())


def test_other_tools_get_the_assignments_and_the_package(tmp_path, monkeypatch):
    seen = []
    for form in ("nbgrader", "otter"):
        writer = SimpleNamespace(
            write=lambda one, folder, form=form: seen.append((form, one.slug, folder.name))
        )
        monkeypatch.setitem(sys.modules, f"mha_teach.release.{form}", writer)
    told = run(tmp_path / "out", Order(["3", "4"], ("otter", "nbgrader")))
    assert seen == [
        (form, slug, form) for form in ("nbgrader", "otter") for slug in ("03_reshaping", "04_masking")
    ]
    assert {name for name in tree(tmp_path / "out") if name.endswith(WHEEL)} == {
        f"nbgrader/{WHEEL}",
        f"otter/{WHEEL}",
    }
    assert not (tmp_path / "out" / "for-students").exists()
    assert any("nbgrader/" in line for line in told)


def test_a_tool_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mha_teach.release.otter", None)
    with pytest.raises(ReleaseError, match="no export to otter: the Python package"):
        run(tmp_path / "out", Order(["3"], ("otter",)))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["", "https://github.com/o/r"])
def test_in_a_book_with_an_address_colab_installs_from_there(tmp_path, address, monkeypatch):
    (tmp_path / "book").mkdir()
    (tmp_path / "_config.yml").write_text(f'repository: {{url: "{address}", branch: v1}}\n')
    monkeypatch.chdir(tmp_path / "book")
    assert main(["release", str(tmp_path / "out"), "--chapters", "3"]) == 0
    (setup,) = sources(tmp_path / "out" / "for-students" / "03_reshaping.ipynb", "setup")
    assert ("mha_teach @ git+https://github.com/o/r@v1" in setup) == bool(address)
    assert ("files.upload" in setup) != bool(address)


def test_a_released_notebook_runs_in_a_kernel(tmp_path, monkeypatch):
    run(tmp_path / "out", Order(["05"]))
    folder = tmp_path / "out" / "for-students"
    notebook = nbformat.read(folder / "05_multihead.ipynb", 4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    said = [out["data"]["text/plain"] for cell in notebook.cells for out in cell.get("outputs", [])]
    assert len(said) == 5
    assert all("Not attempted yet" in text for text in said[:4])
    assert "0 of 4 right" in said[4]


def test_released_answered_handed_in_graded(tmp_path, roster, capsys):
    """Right answers get full marks, a wrong one is named, a stub is not attempted; with each student's own numbers."""
    out, handed, grades = tmp_path / "out", tmp_path / "handed-in", tmp_path / "grades"
    slip = f"05-inner-width@{BO.tag}"
    exercise = exercises.get(slip)
    run(out, Order(["05"], roster=roster))
    for one in (ADA, BO):
        top = unpacked(out / "for-students" / f"{one.file}.zip", tmp_path / one.file)
        (handed / one.file).mkdir(parents=True)
        wrong = {slip: exercise.source_of(exercise.mutants[0])} if one is BO else {}
        (handed / one.file / "05_multihead.ipynb").write_bytes(answered(top / "05_multihead.ipynb", wrong))
    (handed / "zoe.ipynb").write_bytes((top / "05_multihead.ipynb").read_bytes())
    arguments = ["--chapters", "05", "--roster", str(roster), "--jobs", "1", "--no-bubblewrap"]
    assert main(["grade", str(handed), "--out", str(grades), *arguments]) == 0
    rows = {
        row["id"] or row["student"]: row
        for row in csv.DictReader((grades / "grades.csv").open(encoding="utf-8"))
    }
    ada, bo, zoe = (rows[name] for name in (ADA.id, BO.id, "zoe"))
    marks = sum(e.marks for e in exercises.all() if e.id.startswith("05") and e.points)
    assert (float(ada["total"]), float(ada["of"])) == (marks, marks)
    assert bo["05-inner-width status"] == "wrong" and float(bo["total"]) < marks
    assert {value for key, value in zoe.items() if key.endswith(" status")} == {"not attempted"}
    assert float(zoe["total"]) == 0
    assert exercise.mutants[0].name in (grades / "overview.html").read_text(encoding="utf-8")
