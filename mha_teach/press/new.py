"""Begin a chapter: one idea, one name, its text, its module, its tests and its exercises."""

from __future__ import annotations

import re
from pathlib import Path

from mha_teach.press.lint import SECTIONS
from mha_teach.press.problems import PressError
from mha_teach.press.project import SLUG, slugs

_SOURCE = """\
---
jupytext:
  text_representation: {{extension: .md, format_name: myst}}
kernelspec: {{display_name: Python 3, language: python, name: python3}}
chapter:
  promise: "What the reader can do after this page, in one sentence."
  minutes: 25
  needs: "chapter 00"
---

# {title}

"""

_HINTS = {
    "What you will be able to do": "- Three testable verbs.",
    "The question": "A concrete case in at most 150 words, without a symbol.",
    "By hand": "Three tokens of two numbers, every number printed.",
    "In symbols": "One or two displays, each symbol with its shape.",
    "In code": "```{code-cell}\nfrom mha_teach import IDEA\n\nIDEA.__doc__\n```",
    "See it": "One widget, one question, what to notice.",
    "Experiment": "First the hypothesis, then the measurement over at least five seeds.",
    "Where it breaks": "The classic mistake, run: its symptom, its cure, the probe that finds it.",
    "In the wild": "What torch, papers and production code call it and do differently.",
    "Exercises": "<!-- exercise: NN-first -->",
    "Claims": "What is said about this, with our verdict.",
    "Summary": "At most five sentences and one figure.",
    "References": "At most six, each with why to read it.",
}

_MODULE = '''\
"""What {idea} does, in one sentence (chapter {number})."""

from __future__ import annotations

__all__: list[str] = []
'''

_TEST = '''\
"""Chapter {number}: every public name of ``mha_teach.{idea}`` does what its docstring says."""

from __future__ import annotations

from mha_teach import {idea}


def test_public_names_are_documented():
    assert all(getattr({idea}, name).__doc__ for name in {idea}.__all__)
'''

_EXERCISES = '''\
"""Exercises of chapter {number}: {words}."""

from __future__ import annotations

from mha_teach.exercises.ch{number}_{idea}.first import FIRST

EXERCISES = (FIRST,)
'''

_FIRST = '''\
"""Exercise {number}-first (explore)."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise

FIRST = Exercise(
    id="{number}-first",
    title="The first exercise",
    kind="explore",
    prompt="What changes when you change one number in the cell below?",
    stub="number = ...\\n",
    solution="number = 1\\n",
    hints=("What stays the same?", "Change one thing at a time.", "Compare with the figure above."),
)
'''


def new(root: Path, slug: str) -> list[str]:
    """Write the files of chapter ``slug`` and return what was written and what is left to do.

    Raises PressError when the name or number can't be had, or any of the files already exists.
    """
    if not SLUG.fullmatch(slug):
        raise PressError(f"{slug} is no chapter's name: write two digits and an idea, e.g. 07_specialisation")
    number, idea = slug.split("_", 1)
    taken = [other for other in slugs(root) if other.startswith(number) and other != slug]
    if taken:
        raise PressError(f"number {number} belongs to {taken[0]}: choose another")
    files = _files(number, idea)
    for name in files:
        if (root / name).exists():
            raise PressError(f"{name} exists and stays as it is: choose another name, or remove it first")
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    written = [f"wrote {name}" for name in files]
    return [*written, f"now add `- file: notebooks/{slug}` to _toc.yml, and run `mha build {slug}`"]


def _files(number: str, idea: str) -> dict[str, str]:
    words = idea.replace("_", " ")
    filled = {"number": number, "idea": idea, "words": words, "title": words.capitalize()}
    body = "\n\n".join(f"## {section}\n\n{_HINTS[section]}" for section in SECTIONS)
    body = re.sub(r"\bIDEA\b", idea, body).replace("NN-first", f"{number}-first")
    return {
        f"book/{number}_{idea}.md": f"{_SOURCE.format(**filled)}{body}\n",
        f"mha_teach/{idea}.py": _MODULE.format(**filled),
        f"tests/chapters/test_{idea}.py": _TEST.format(**filled),
        f"mha_teach/exercises/ch{number}_{idea}/__init__.py": _EXERCISES.format(**filled),
        f"mha_teach/exercises/ch{number}_{idea}/first.py": _FIRST.format(**filled),
    }
