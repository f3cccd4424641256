from __future__ import annotations

import pytest

from mha_teach.press.closure import files_of, run_key
from mha_teach.press.problems import PressError


@pytest.fixture
def package(book):
    for name, text in {
        "attention": "from mha_teach.shapes import Float",
        "shapes": "",
        "collapse": "def f():\n    from mha_teach import tasks",
        "tasks": "",
        "theme/__init__": "",
        "figures/__init__": "",
        "figures/base": "from .. import theme\nfrom . import inner",
        "figures/inner": "",
        "figures/other": "",
        "widgets/__init__": "def __getattr__(name): ...",
        "widgets/one": "",
        "exercises/__init__": "from importlib import import_module\nfrom mha_teach.exercises.model import E",
        "exercises/model": "",
        "exercises/ch03_idea": 'ID = "03-sum"\nfrom mha_teach import tasks',
        "exercises/ch04_else": 'ID = "04-sum"\nfrom mha_teach import collapse',
    }.items():
        book.write(f"mha_teach/{name}.py", text)
    book.write("mha_teach/theme/palette.json", "{}")
    book.write("mha_teach/widgets/one.mjs", "1")
    book.write("mha_teach/widgets/core.mjs", "1")
    return book


def reached(book, code, exercises=()):
    home = book.root / "mha_teach"
    return {path.relative_to(home).as_posix() for path in files_of([code], book.root, exercises)} - {
        "__init__.py"
    }


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("import torch", set()),
        ("import mha_teach.attention", {"attention.py", "shapes.py"}),
        ("from mha_teach import attention as a", {"attention.py", "shapes.py"}),
        ("from mha_teach.attention import attend", {"attention.py", "shapes.py"}),
        ("%pip install x\n!ls\nfrom mha_teach import shapes", {"shapes.py"}),
        ("def f():\n    import mha_teach.collapse", {"collapse.py", "tasks.py"}),
        (
            "from mha_teach.figures.base import axes",
            {
                "figures/__init__.py",
                "figures/base.py",
                "figures/inner.py",
                "theme/__init__.py",
                "theme/palette.json",
            },
        ),
        (
            "from mha_teach.widgets import One",
            {"widgets/__init__.py", "widgets/one.py", "widgets/one.mjs", "widgets/core.mjs"},
        ),
    ],
)
def test_what_a_cell_reaches(package, code, wanted):
    assert reached(package, code) == wanted


def test_only_the_exercises_of_the_chapter_count(package):
    core = {"exercises/__init__.py", "exercises/model.py"}
    code = "from mha_teach.exercises import check"
    assert reached(package, code) == core
    assert reached(package, code, ["03-sum"]) == core | {"exercises/ch03_idea.py", "tasks.py"}


def test_data_that_belongs_to_an_unused_module_does_not_count(package):
    package.write("mha_teach/figures/other.json", "{}")
    assert "figures/other.json" not in reached(package, "from mha_teach.figures import base")


CODE = [("from mha_teach import attention", [])]


@pytest.mark.parametrize(
    "name", ["mha_teach/attention.py", "mha_teach/shapes.py", "constraints.txt", "mha_teach/press/execute.py"]
)
def test_the_key_follows_what_the_run_depends_on(package, name):
    before = run_key(package.root, CODE, [])
    package.write(name, "# changed\n")
    assert run_key(package.root, CODE, []) != before


@pytest.mark.parametrize(
    "name", ["mha_teach/tasks.py", "README.md", "mha_teach/press/lint.py", "book/03_idea.md"]
)
def test_and_not_what_it_does_not(package, name):
    before = run_key(package.root, CODE, [])
    package.write(name, "# changed\n")
    assert run_key(package.root, CODE, []) == before


def test_code_and_tags_are_in_the_key(package):
    keys = {
        run_key(package.root, code, []) for code in (CODE, [("x", [])], [("x", ["raises-exception"])], [])
    }
    assert len(keys) == 4


def test_a_module_that_is_no_python_is_named(package):
    package.write("mha_teach/attention.py", "x = 1\ny = (\n")
    with pytest.raises(PressError, match=r"^mha_teach/attention.py:2: SyntaxError: .*: mend the module$"):
        run_key(package.root, CODE, [])
