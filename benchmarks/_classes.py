"""Classes whose answers are known: notebooks for ``classroom.py``, and what each cell truly holds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mha_teach.exercises import Exercise
from mha_teach.release.assignment import Assignment, assignments, student_notebook, text_of, with_id

RIGHT, VARIANT, STUB = "(solution)", "(variant)", "(stub)"


@dataclass(frozen=True)
class Handed:
    """One notebook: whose it is, of which assignment, and for each exercise the name and the source of its answer."""

    student: str
    assignment: Assignment
    answers: dict[str, tuple[str, str]]

    def cells(self) -> dict[str, str]:
        """Exercise → the whole text of the cell."""
        return {e.id: with_id(e, self.answers[e.id][1]) for e in self.assignment.exercises if e.points}

    def truth(self) -> dict[str, str]:
        """Exercise → what its answer is: a mutant's name, or one of the three words above."""
        return {id: name for id, (name, _) in self.answers.items()}


def mixed(count: int, seed: int, chapters: tuple[str, ...] = (), wrong: float = 0.6) -> list[Handed]:
    """``count`` students, the assignments dealt out in turn. Of the answers ``wrong`` are mutants, every one of an
    exercise before any comes again; the others are solutions, variants, and stubs."""
    rng, chosen = random.Random(seed), assignments(chapters)
    decks = {e.id: _endless(e, rng) for one in chosen for e in one.exercises if e.points}
    made = []
    for number in range(count):
        one = chosen[number % len(chosen)]
        answers = {
            e.id: next(decks[e.id]) if rng.random() < wrong else _not_wrong(e, rng)
            for e in one.exercises
            if e.points
        }
        made.append(Handed(f"s{number:03}", one, answers))
    return made


def every_mutant() -> list[Handed]:
    """Each mutant once: notebook k of an assignment holds mutant k of every exercise, as long as there is one."""
    made = []
    for one in assignments():
        marked = [e for e in one.exercises if e.points]
        for k in range(max(len(e.mutants) for e in marked)):
            answers = {e.id: _wrong(e, k) if k < len(e.mutants) else (STUB, e.stub) for e in marked}
            made.append(Handed(f"m{one.number}{k:02}", one, answers))
    return made


def write(handed: list[Handed], folder: Path) -> None:
    """Each notebook as its student saves it: the assignment's own with other text in the answers' cells."""
    folder.mkdir(parents=True)
    empty = {
        one.slug: student_notebook(one) for one in {h.assignment.slug: h.assignment for h in handed}.values()
    }
    for one in handed:
        tree = fill(empty[one.assignment.slug], one.cells())
        (folder / f"{one.student}.ipynb").write_text(text_of(tree), "utf-8")


def fill(notebook: dict, texts: dict[str, str]) -> dict:
    """The same notebook with these texts in the cells that begin with ``# exercise: ID``; the given one stays as it is."""
    left, cells = dict(texts), []
    for cell in notebook["cells"]:
        mark, _, id = "".join(cell["source"]).partition("\n")[0].partition("# exercise: ")
        if cell["cell_type"] == "code" and not mark and id in left:
            cell = cell | {"source": left.pop(id).splitlines(keepends=True)}
        cells.append(cell)
    if left:
        raise ValueError(f"the notebook has no cell for {', '.join(left)}")
    return notebook | {"cells": cells}


def _endless(exercise: Exercise, rng: random.Random) -> Iterator[tuple[str, str]]:
    while True:
        for k in rng.sample(range(len(exercise.mutants)), len(exercise.mutants)):
            yield _wrong(exercise, k)


def _wrong(exercise: Exercise, k: int) -> tuple[str, str]:
    return exercise.mutants[k].name, exercise.source_of(exercise.mutants[k])


def _not_wrong(exercise: Exercise, rng: random.Random) -> tuple[str, str]:
    name = rng.choices((RIGHT, VARIANT, STUB), (5, 4, 1))[0]
    sources = {RIGHT: exercise.solution, VARIANT: rng.choice(exercise.variants), STUB: exercise.stub}
    return name, sources[name]
