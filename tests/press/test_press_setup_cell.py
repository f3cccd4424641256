"""The setup cell, run line by line with a stand-in for Colab and for pip."""

from __future__ import annotations

import builtins
import re
import sys
from types import ModuleType, SimpleNamespace

import pytest

from mha_teach.press.address import Address
from mha_teach.press.opening import setup_cell

WHEEL = "mha_teach-0.1.0-py3-none-any.whl"


class Machine:
    """Runs the cell where the package is ``present`` or not, and notes imports and installs."""

    def __init__(self, present: bool, uploads: list[str] | None = None) -> None:
        self.present, self.uploads = present, uploads or []
        self.imported: list[str] = []
        self.installed: list[str] = []
        self.seeded: list[int] = []

    def load(self, name, space=None, local=None, names=(), level=0):
        self.imported.append(name)
        if name.startswith("mha_teach") and not (self.present or self.installed):
            raise ImportError(name)
        if name.startswith("mha_teach"):
            return SimpleNamespace(check=len, devices=SimpleNamespace(reproducible=self.seeded.append))
        if name == "google.colab":
            return SimpleNamespace(files=SimpleNamespace(upload=lambda: dict.fromkeys(self.uploads)))
        return builtins.__import__(name, space, local, names, level)

    def run(self, code: str) -> None:
        code, count = re.subn(r"%pip install -q --no-deps (.*)", r"pip(f\1)", code)
        assert count == 1
        space = {"__builtins__": {**vars(builtins), "__import__": self.load}, "pip": self.installed.append}
        exec(code, space)  # noqa: S102 - the cell is the thing under test


@pytest.fixture
def colab(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("address", [Address(), Address("https://github.com/o/r")])
def test_where_the_package_is_there_nothing_else_happens(address, colab):
    machine = Machine(present=True)
    machine.run(setup_cell(address, WHEEL))
    assert {name.split(".")[0] for name in machine.imported} == {"mha_teach"}
    assert machine.installed == []
    assert machine.seeded == [0]


def test_colab_installs_from_the_address(colab):
    machine = Machine(present=False)
    machine.run(setup_cell(Address("https://github.com/o/r", "v1"), WHEEL))
    assert machine.installed == ["mha_teach @ git+https://github.com/o/r@v1"]
    assert machine.seeded == [0]


def test_elsewhere_the_address_is_named_and_nothing_installed():
    machine = Machine(present=False)
    with pytest.raises(ImportError, match=r'run pip install "mha_teach @ git\+https://github.com/o/r@v1"'):
        machine.run(setup_cell(Address("https://github.com/o/r", "v1"), WHEEL))
    assert machine.installed == []


def test_a_wheel_beside_the_notebook_is_taken(tmp_path):
    (tmp_path / WHEEL).touch()
    machine = Machine(present=False)
    machine.run(setup_cell(Address(), WHEEL))
    assert machine.installed == [WHEEL]
    assert "google.colab" not in machine.imported


def test_colab_asks_for_the_wheel(colab, capsys):
    machine = Machine(present=False, uploads=["notes.txt", WHEEL])
    machine.run(setup_cell(Address(), WHEEL))
    assert machine.installed == [WHEEL]
    assert WHEEL in capsys.readouterr().out


@pytest.mark.parametrize("uploads", [[], ["notes.txt"]])
def test_without_a_wheel_one_sentence_says_what_to_do(colab, uploads):
    machine = Machine(present=False, uploads=uploads)
    with pytest.raises(
        ImportError,
        match=f"^mha_teach is missing: put {WHEEL} beside this notebook$",
    ):
        machine.run(setup_cell(Address(), WHEEL))


def test_outside_colab_nothing_is_asked(capsys):
    with pytest.raises(ImportError, match="is missing"):
        Machine(present=False).run(setup_cell(Address(), WHEEL))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("address", [Address(), Address("https://github.com/o/r")])
def test_it_is_short_and_fits_the_page(address):
    lines = setup_cell(address, WHEEL).splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 100
