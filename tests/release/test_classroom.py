"""What is packed: the same bytes every time, a wheel as the build tool makes it, and no solution among the handouts."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

from mha_teach.release import ReleaseError, classroom, packing
from mha_teach.release.assignment import assignments
from mha_teach.release.packing import WHEEL, wheel, zipped
from mha_teach.release.roster import Member

ROOT = Path(__file__).parents[2]
CHOSEN = assignments(["03", "05"])


@pytest.fixture(scope="module")
def made() -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(wheel()))


@pytest.fixture(scope="module")
def given() -> dict[str, bytes]:
    return classroom.for_students(CHOSEN, b"a wheel")


def test_a_zip_depends_on_its_contents_alone(monkeypatch):
    files = {"a.txt": b"one", "b/c.txt": b"two" * 99}
    first = zipped(files, "top")
    monkeypatch.setattr("time.time", lambda: 2e9)
    assert zipped(files, "top") == first
    archive = zipfile.ZipFile(io.BytesIO(first))
    assert {name: archive.read(name) for name in archive.namelist()} == {
        "top/a.txt": b"one",
        "top/b/c.txt": b"two" * 99,
    }
    for entry in archive.infolist():
        assert (entry.date_time, entry.create_system) == ((2025, 1, 1, 0, 0, 0), 3)
        assert entry.external_attr >> 16 == 0o100644


def test_the_wheel_records_every_file_with_its_hash(made):
    names = made.namelist()
    record = next(name for name in names if name.endswith(".dist-info/RECORD"))
    rows = {
        name: (digest, size) for name, digest, size in csv.reader(io.StringIO(made.read(record).decode()))
    }
    assert list(rows) == names and rows.pop(record) == ("", "")
    for name, (digest, size) in rows.items():
        data = made.read(name)
        found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        assert (digest, size) == (f"sha256={found}", str(len(data)))


def test_the_wheel_is_what_the_build_tool_would_make(made, tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=os.environ, check=True, capture_output=True)
    built = zipfile.ZipFile(tmp_path / WHEEL)
    assert set(made.namelist()) == set(built.namelist())
    for name in built.namelist():
        if name.startswith("mha_teach/"):
            assert made.read(name) == built.read(name), name


def test_pip_takes_the_wheel(tmp_path):
    (tmp_path / WHEEL).write_bytes(wheel())
    install = [
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--no-compile",
        "--target",
        str(tmp_path / "site"),
    ]
    subprocess.run([sys.executable, "-m", *install, str(tmp_path / WHEEL)], check=True, capture_output=True)
    assert (tmp_path / "site" / "mha_teach" / "exercises" / "ch03_reshaping" / "strides.py").is_file()
    assert (tmp_path / "site" / "bin" / "mha").is_file() or os.name == "nt"


def test_only_the_packages_own_files_are_packed(tmp_path):
    for name in ("a.py", "b/c.json", "b/__pycache__/c.pyc", "d.pyc", ".hidden", ".ipynb_checkpoints/a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [path.relative_to(tmp_path).as_posix() for path in packing._own(tmp_path)] == ["a.py", "b/c.json"]


def missing(name):
    raise PackageNotFoundError(name)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (missing, "is not installed, so no wheel can be made: run `make book`, or pip install"),
        (lambda name: SimpleNamespace(version="0.0.7", files=[1]), r"is installed as 0\.0\.7 but runs as "),
        (lambda name: SimpleNamespace(version=packing.mha_teach.__version__, files=None), "without a list"),
    ],
)
def test_a_mere_folder_on_the_path_makes_no_wheel(monkeypatch, found, said):
    monkeypatch.setattr(packing, "distribution", found)
    with pytest.raises(ReleaseError, match=said):
        wheel()


def test_a_students_folder_is_whole(given):
    assert set(given) == {
        *("README.txt", "requirements.txt", "environment.yml", WHEEL),
        *(f"{one.slug}.ipynb" for one in CHOSEN),
    }
    text = given["README.txt"].decode()
    named = re.findall(r"[\w.-]+\.(?:ipynb|whl|txt|yml)\b", text)
    assert set(named) == set(given) - {"README.txt"}
    assert str(CHOSEN[0].marks) in text


def test_the_environments_ask_for_what_the_package_needs(given):
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    conda = [line.strip(" -") for line in given["environment.yml"].decode().splitlines()]
    assert {need.replace("torch", "pytorch") for need in needs} <= set(conda)
    assert "torch>=2.4" not in conda
    for name in ("environment.yml", "requirements.txt"):
        assert f"./{WHEEL}" in given[name].decode()
        assert "jupyterlab" in given[name].decode()


def test_no_solution_is_handed_out(given):
    everything = "\n".join(data.decode() for name, data in given.items() if name != WHEEL)
    own = "\n".join(data.decode() for data in classroom.solutions(CHOSEN).values())
    for one in CHOSEN:
        for exercise in one.exercises:
            lines = {
                line for line in exercise.solution.splitlines() if line not in exercise.stub.splitlines()
            }
            kept = [line for line in lines if line.strip() and _written(line) in own]
            assert kept
            assert not all(_written(line) in everything for line in kept), exercise.id
            assert not exercise.why or _written(exercise.why) not in everything


def _written(text: str) -> str:
    """As it stands inside a JSON string."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def test_the_teachers_files_say_so_in_their_names():
    assert list(classroom.solutions(CHOSEN)) == [f"{one.slug}-SOLUTIONS.ipynb" for one in CHOSEN]


def test_the_table_of_students_holds_no_formula():
    rows = classroom.student_table([Member("=1+1", "@x"), Member("ada", "Ada, L.")]).decode("utf-8-sig")
    assert list(csv.reader(io.StringIO(rows))) == [
        ["id", "name", "tag", "file"],
        ["'=1+1", "'@x", Member("=1+1").tag, f"{Member('=1+1').file}.zip"],
        ["ada", "Ada, L.", Member("ada").tag, "ada.zip"],
    ]


def test_the_teacher_is_told_the_command_with_the_roster_that_was_given():
    told = classroom.teacher_readme(CHOSEN, [Member("s1")], True, ["class"], "my class.csv")
    assert "mha grade handed-in --chapters 03 05 --roster 'my class.csv'\n" in told
    assert "--roster" not in classroom.teacher_readme(CHOSEN, None, True, ["class"], "")
