"""What goes wrong on people's machines ends in one line that says what to do, and the next run recovers."""

from __future__ import annotations

import ast
import errno
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import bootstrap

SOURCE = Path(bootstrap.__file__)


class Machine:
    """A pretended machine: notes what would be run, and makes the one file that a virtual environment needs."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.accident: BaseException | None = None

    def watched(self, command: list, label: str) -> None:
        self.labels.append(label)
        if label.startswith("making"):
            python = bootstrap.tool(Path(command[-1]), "python")
            python.parent.mkdir(parents=True)
            python.touch()
        elif self.accident:
            raise self.accident

    def run(self) -> list[str]:
        """Bring the environment up to date; return what had to be done for it."""
        self.labels = []
        bootstrap.environment(".venv", ["-c constraints.txt -e ."], ["pyproject.toml", "constraints.txt"])
        return [label.split()[0] for label in self.labels]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    pretended = Machine()
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(bootstrap, "LOG", tmp_path / "logs")
    monkeypatch.setattr(bootstrap, "watched", pretended.watched)
    monkeypatch.setattr(bootstrap, "healthy", lambda folder: bootstrap.tool(folder, "python").exists())
    (tmp_path / "pyproject.toml").write_text("one")
    (tmp_path / "constraints.txt").write_text("two")
    return pretended


def test_second_run_has_nothing_to_do(machine: Machine) -> None:
    assert machine.run() == ["making", "installing"]
    assert machine.run() == []


def test_a_changed_lock_is_installed_into_the_same_environment(machine: Machine, tmp_path: Path) -> None:
    machine.run()
    (tmp_path / "constraints.txt").write_text("three")
    assert machine.run() == ["installing"]
    assert machine.run() == []


@pytest.mark.parametrize(
    "accident", [KeyboardInterrupt(), bootstrap.Trouble("no network"), OSError(errno.ENOSPC, "")]
)
def test_after_an_interrupted_installation_all_is_made_anew(
    machine: Machine, accident: BaseException
) -> None:
    machine.accident = accident
    with pytest.raises(type(accident)):
        machine.run()
    machine.accident = None
    assert machine.run() == ["making", "installing"]
    assert machine.run() == []


def test_an_interrupted_update_is_made_anew(machine: Machine, tmp_path: Path) -> None:
    machine.run()
    (tmp_path / "constraints.txt").write_text("three")
    machine.accident = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        machine.run()
    machine.accident = None
    assert machine.run() == ["making", "installing"]


def test_an_environment_whose_python_is_gone_is_made_anew(machine: Machine, tmp_path: Path) -> None:
    machine.run()
    bootstrap.tool(tmp_path / ".venv", "python").unlink()
    assert machine.run() == ["making", "installing"]


def test_an_environment_made_by_hand_is_kept(machine: Machine, tmp_path: Path) -> None:
    machine.watched(["venv", tmp_path / ".venv"], "making .venv")
    assert machine.run() == ["installing"]


def test_full_disk_is_seen_before_installing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(free=1024**3)
    monkeypatch.setattr(bootstrap.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(
        bootstrap.Trouble, match=r"The disk is full \(1.0 GB free at .*\): make room for 4 GB"
    ):
        machine.run()


def test_healthy_tells_a_working_environment_from_a_broken_one(tmp_path: Path) -> None:
    assert bootstrap.healthy(Path(sys.prefix))
    assert not bootstrap.healthy(tmp_path)
    broken = bootstrap.tool(tmp_path, "python")
    broken.parent.mkdir()
    broken.write_text("no program")
    broken.chmod(0o755)
    assert not bootstrap.healthy(tmp_path)


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("ERROR: Could not install: [Errno 28] No space left on device", "The disk is full"),
        (
            "WARNING: Retrying after NameResolutionError\nERROR: No matching distribution found for x",
            "No package index",
        ),
        ("Error: ensurepip is not available", "sudo apt-get install python3-venv"),
        (
            "ERROR: No matching distribution found for torch==2.13.0",
            "torch==2.13.0 has no build for Python 3",
        ),
        (
            "    The user requested (constraint) torch<=2.0\nERROR: ResolutionImpossible",
            "pip's own configuration",
        ),
        ("much\nERROR: something else", "Installing failed (ERROR: something else)"),
        ("", "Installing failed (no message)"),
    ],
)
def test_pips_output_becomes_one_line(log: str, message: str) -> None:
    said = bootstrap.diagnose(log)
    assert message in said
    assert "\n" not in said


def test_an_index_that_nobody_serves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bootstrap, "LOG", tmp_path)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    nobody = ["--index-url", "http://127.0.0.1:9/simple", "--retries", "1", "--timeout", "2"]
    command = [sys.executable, "-m", "pip", "install", "--dry-run", *nobody, "mha-teach-of-nobody"]
    with pytest.raises(bootstrap.Trouble, match="No package index answers: check the network"):
        bootstrap.watched(command, "installing into nowhere")
    assert "mha-teach-of-nobody" in (tmp_path / "nowhere.log").read_text()


def test_an_occupied_port_names_a_free_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(bootstrap.Trouble, match=rf"Port {port} is taken .*: run `make book PORT=\d+`"):
            bootstrap.free_port(port)
    assert bootstrap.free_port(port) == port


def test_an_old_python_is_told_which_newer_one_to_use() -> None:
    assert bootstrap.too_old((3, 11)) == bootstrap.too_old((3, 14)) == ""
    assert "this is 3.9: run" in bootstrap.too_old((3, 9), find=lambda name: name == "python3.12")
    assert "PYTHON=python3.12`" in bootstrap.too_old((3, 9), find=lambda name: name == "python3.12")
    assert "install a newer one" in bootstrap.too_old((3, 9), find=lambda name: None)


def test_an_old_python_can_read_the_file_so_far() -> None:
    ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 7))
    pretend = (
        "import runpy, sys; sys.version_info = (3, 9, 1); sys.argv = ['bootstrap.py', 'site']; "
        f"runpy.run_path({str(SOURCE)!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", pretend], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("Python 3.11 or newer is needed, this is 3.9")
    assert "make site PYTHON=" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("accident", "code", "words"),
    [
        (bootstrap.Trouble("do this"), 1, "do this"),
        (KeyboardInterrupt(), 130, "run again"),
        (OSError(errno.ENOSPC, "No space left"), 1, "make room"),
    ],
)
def test_accidents_end_in_a_line_and_an_exit_code(
    accident: BaseException,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    def verb() -> None:
        raise accident

    monkeypatch.setitem(bootstrap.VERBS, "site", verb)
    assert bootstrap.main(["site"]) == code
    said = capsys.readouterr().err
    assert words in said
    assert said.strip().count("\n") == 0


def test_other_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bootstrap.VERBS, "site", Path("/no/such/file").read_text)
    with pytest.raises(FileNotFoundError):
        bootstrap.main(["site"])


def test_an_unknown_verb_lists_the_known_ones(capsys: pytest.CaptureFixture) -> None:
    assert bootstrap.main(["bok"]) == bootstrap.main([]) == 2
    assert "book" in capsys.readouterr().err


def test_every_verb_of_make_is_known() -> None:
    rules = (SOURCE.parent / "Makefile").read_text(encoding="utf-8")
    phony = rules.split(".PHONY:")[1].split()
    assert set(phony) - {"lock"} == set(bootstrap.VERBS)


def test_clean_keeps_the_environment_unless_all_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    for name in ("_build/html", ".venv", ".venv-colab", "notebooks"):
        (tmp_path / name).mkdir(parents=True)
    bootstrap.clean()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".venv", ".venv-colab", "notebooks"]
    monkeypatch.setenv("ALL", "1")
    bootstrap.clean()
    assert [path.name for path in tmp_path.iterdir()] == ["notebooks"]
