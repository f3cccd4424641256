"""A book of one small chapter in a temporary folder, and exercises that need no exercises package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from mha_teach.press.source import Chapter, parse

FRONT = """\
---
jupytext: {text_representation: {format_name: myst}}
kernelspec: {name: python3, display_name: Python 3}
chapter: {promise: "You see it.", minutes: 25, needs: "chapter 00"}
---

"""


@dataclass(frozen=True)
class FakeExercise:
    id: str = "03-sum"
    title: str = "A sum"
    kind: str = "code"
    minutes: int = 5
    difficulty: int = 2
    marks: int = 3
    prompt: str = "Add $a$ and $b$."
    stub: str = "def add(a, b):\n    ...\n"
    call: str = 'check("03-sum", add)'
    points: tuple = ("p",)
    hints: tuple = ("one", "two", "three")


def find_fake(exercise_id: str) -> FakeExercise:
    if exercise_id != "03-sum":
        raise KeyError(f"There is no exercise {exercise_id!r}.")
    return FakeExercise()


@pytest.fixture
def find() -> Callable[[str], FakeExercise]:
    return find_fake


class Book:
    """Files of a temporary book; ``page`` writes a chapter below a fitting front matter."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("book", "notebooks", "mha_teach"):
            (root / folder).mkdir()
        self.write("_config.yml", 'repository: {url: "", branch: main}\n')
        self.write("_toc.yml", "root: book/index\nchapters:\n  - file: notebooks/03_idea\n")
        self.write("mha_teach/__init__.py", '__version__ = "0.1.0"\n')
        self.write("mha_teach/idea.py", "__all__ = []\n")
        self.write("mha_teach/devices.py", "")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def page(self, body: str, slug: str = "03_idea") -> Path:
        return self.write(f"book/{slug}.md", FRONT + dedent(body))

    def chapter(self, body: str, slug: str = "03_idea") -> Chapter:
        path = self.page(body, slug)
        return parse(path.read_text("utf-8"), path, f"book/{slug}.md")


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path)
