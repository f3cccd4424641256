"""The exercise: one definition from which prompt, stub, check, hints and solution are made."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from mha_teach.exercises.points import Point
from mha_teach.exercises.verdict import Verdict

Kind = Literal["recall", "derive", "code", "break", "explore"]


@dataclass(frozen=True)
class Mutant:
    """A wrong answer that people give.

    It is written as ``edits`` of the solution, pairs (old, new), or in full as ``source``. ``point`` names the
    test point that must reject it; ``words`` says what is wrong with it.
    """

    name: str
    point: str
    words: str
    edits: tuple[tuple[str, str], ...] = ()
    source: str = ""


@dataclass(frozen=True)
class Exercise:
    """One exercise. All code is text, because a reader's cell, a grader and an export need text.

    ``stub`` is what the reader's cell holds at first; the top-level names that it defines are the answer.
    ``setup`` is code that the chapter has run before and on which stub and solution build.
    ``solution`` is right; ``variants`` are right too, written differently; ``mutants`` are wrong.
    ``hints`` are three steps, each closer than the last. ``why`` explains the solution.
    ``minutes``, ``difficulty`` (1 to 3) and ``marks`` tell the reader what to expect.
    An ``explore`` exercise has no points and no score.
    """

    id: str
    title: str
    prompt: str
    stub: str
    solution: str
    points: tuple[Point, ...] = ()
    hints: tuple[str, str, str] = ("", "", "")
    mutants: tuple[Mutant, ...] = ()
    variants: tuple[str, ...] = ()
    kind: Kind = "code"
    setup: str = "import torch\n"
    why: str = ""
    minutes: int = 5
    difficulty: int = 1
    marks: int = 1
    seconds: float = 3.0

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names that the reader's cell defines, in order: what ``check`` is called with."""
        return tuple(dict.fromkeys(_defined(self.stub)))

    @property
    def call(self) -> str:
        """The line that stands in the check cell."""
        return f'check("{self.id}", {", ".join(self.names)})'

    def source_of(self, mutant: Mutant) -> str:
        """The mutant's code in full."""
        source = mutant.source or self.solution
        for old, new in mutant.edits:
            if source.count(old) != 1:
                raise ValueError(
                    f"{self.id}: mutant {mutant.name!r} edits {old!r}, found {source.count(old)} times"
                )
            source = source.replace(old, new)
        return source

    def build(self, source: str, label: str = "solution") -> object:
        """Run ``setup`` and ``source``; returns the answer: one value, or a tuple where the stub has several names."""
        filename = f"<{self.id} {label}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        space: dict[str, object] = {"__name__": "exercise"}
        exec(compile(self.setup, f"<{self.id} setup>", "exec"), space)  # noqa: S102 (our own text)
        exec(compile(source, filename, "exec"), space)  # noqa: S102
        missing = [name for name in self.names if name not in space]
        if missing:
            raise ValueError(f"{self.id}: the {label} does not define {', '.join(missing)}")
        return self.pack(*(space[name] for name in self.names))

    def pack(self, *answers: object) -> object:
        """The answer as the points take it."""
        return answers[0] if len(answers) == 1 else answers

    def check(self, *answers: object, seed: int = 0) -> Verdict:
        """Judge the answer; never raises, whatever the answer is. ``seed`` draws other inputs."""
        from mha_teach.exercises.judge import judge

        return judge(self, answers, seed)


def _defined(source: str) -> list[str]:
    names = []
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [
                leaf.id for target in node.targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)
            ]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
    return names
