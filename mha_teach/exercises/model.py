"""The exercise: one definition from which prompt, stub, check, hints and solution are made."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from mha_teach.exercises.draw import Draw
from mha_teach.exercises.points import Point
from mha_teach.exercises.tags import check_tag
from mha_teach.exercises.verdict import Verdict
from mha_teach.exercises.wording import say

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

    ``vary(draw)`` makes the same exercise with other sizes and numbers, for one student: prompt, stub, solution, points,
    hints, mutants and variants all follow. It draws with ``draw.pick`` alone, from cases that are all sound; what stays
    alike, so that a class can be counted, is the title, the marks, the names that the cell defines, and the
    names of points and mutants. Without ``vary`` a tag changes nothing but the inputs that the points draw.
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
    vary: Callable[[Draw], Exercise] | None = None

    @property
    def base(self) -> str:
        """The id without the tag: ``05-count`` of ``05-count@k7q2m9``."""
        return self.id.partition("@")[0]

    @property
    def tag(self) -> str:
        """What makes this exercise one student's: ``k7q2m9`` of ``05-count@k7q2m9``, or nothing."""
        return self.id.partition("@")[2]

    def with_tag(self, tag: str) -> Exercise:
        """This exercise as the student with this tag gets it; the tag alone decides, so the same tag gives the same numbers."""
        id = f"{self.base}@{check_tag(tag)}"
        if self.tag:
            raise ValueError(say("tagged", id=self.id, tag=tag, base=self.base))
        return replace(self.vary(Draw(0, id)) if self.vary else self, id=id, vary=None)

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
