"""An assignment: the exercises of one chapter as cells, from which every form of notebook is made.

Nothing but the package's own listing of exercises is needed: no book, no notebook library. A notebook is the plain
dict that its file holds (nbformat 4.5), so that equal exercises give equal bytes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pkgutil import iter_modules
from typing import Literal

from mha_teach import exercises
from mha_teach.exercises import Exercise
from mha_teach.release import ReleaseError, setup

# As the chapters' first lines say them; a test compares the two. A chapter that is missing here is named by its idea.
TITLES = {
    "00_attention": "Attention in Ten Lines",
    "01_collapse": "One Row for Everything",
    "02_scaling": "Scaling the scores",
    "03_reshaping": "Splitting and Merging Heads",
    "04_masking": "Who May Look",
    "05_multihead": "The Whole Module",
    "06_specialisation": "Heads That Specialise",
}

Role = Literal["title", "setup", "prompt", "stub", "check", "hints", "progress"]


@dataclass(frozen=True)
class Assignment:
    """The exercises of one chapter. ``slug`` is the chapter's, ``03_reshaping``, and names the files."""

    slug: str
    title: str
    exercises: tuple[Exercise, ...]

    @property
    def number(self) -> str:
        """The chapter's number as ids and ``mha grade --chapters`` write it: ``03``."""
        return self.slug[:2]

    @property
    def minutes(self) -> int:
        """Minutes for all exercises together."""
        return sum(exercise.minutes for exercise in self.exercises)

    @property
    def marks(self) -> int:
        """Marks of the exercises that are marked."""
        return sum(marks_of(exercise) for exercise in self.exercises)

    def with_tag(self, tag: str) -> Assignment:
        """The same exercises with the numbers of one student."""
        return replace(self, exercises=tuple(exercise.with_tag(tag) for exercise in self.exercises))


@dataclass(frozen=True)
class Piece:
    """One cell of an assignment: its kind, what it is for, its text, and the exercise that it belongs to."""

    kind: Literal["markdown", "code"]
    role: Role
    source: str
    id: str
    exercise: Exercise | None = None


def assignments(chapters: tuple[str, ...] | list[str] = ()) -> list[Assignment]:
    """One assignment for each chapter, in order. ``chapters``: ``03``, ``3``, ``reshaping``, ``03_reshaping``; none = all.

    Raises ReleaseError for a chapter without exercises, naming those that have some.
    """
    by_slug: dict[str, list[Exercise]] = {}
    files = (module.name for module in iter_modules(exercises.__path__))
    slugs = {name[2:4]: name[2:] for name in files if re.fullmatch(r"ch\d\d_\w+", name)}
    for exercise in exercises.all():
        by_slug.setdefault(slugs[exercise.id[:2]], []).append(exercise)
    chosen = sorted({_resolve(word, list(by_slug)) for word in chapters}) if chapters else sorted(by_slug)
    return [Assignment(slug, _title(slug), tuple(by_slug[slug])) for slug in chosen]


def marks_of(exercise: Exercise) -> int:
    """The marks that an exercise gives: none for an open one, which nobody grades."""
    return exercise.marks if exercise.points else 0


def cell_id(assignment: Assignment, exercise: Exercise, role: Role) -> str:
    """``03_reshaping-strides-stub``: the same for every student, whatever the tag."""
    return f"{assignment.slug}-{exercise.id.partition('@')[0][3:]}-{role}"[:64]


def title_cell(assignment: Assignment) -> str:
    """Heading and what to do, in markdown."""
    count = len(assignment.exercises)
    return f"""\
# {assignment.title}: exercises

*{count} exercises · about {assignment.minutes} minutes · {_counted(assignment.marks, "mark")}*

1. Run the setup cell first.
2. Write each answer in the cell that begins with `# exercise:`. Keep that line and the names as they are. You may add cells.
3. Run the check below it as often as you like. It says what is right, and what is wrong and why. It helps you; the mark
   comes from the same points with other inputs.
4. Save, and hand in this file."""


def setup_source(assignment: Assignment, package: str = "") -> str:
    """The first code cell: installs the package only where it is missing, imports what the exercises need, seeds.

    ``package`` is what pip can install it from in Colab, if it is published; else Colab asks for the wheel.
    """
    return setup.source([exercise.setup for exercise in assignment.exercises], package)


def prompt_cell(exercise: Exercise) -> str:
    """Heading, what to expect, and the prompt, in markdown."""
    marks = _counted(exercise.marks, "mark") if exercise.points else "not marked"
    facts = f"{exercise.kind} · difficulty {exercise.difficulty} of 3 · {exercise.minutes} min · {marks}"
    return f"### {exercise.title}\n\n*{facts}*\n\n{exercise.prompt.strip()}"


def stub_source(exercise: Exercise) -> str:
    """The cell for the answer; its first line is ``# exercise: ID``."""
    return with_id(exercise, exercise.stub)


def with_id(exercise: Exercise, source: str) -> str:
    """Any answer, a solution for example, under the line that says to which exercise it belongs."""
    head, source = f"# exercise: {exercise.id}", source.strip("\n")
    return source if source.startswith(head) else f"{head}\n{source}"


def check_source(exercise: Exercise) -> str:
    """The cell that checks the answer; empty for an open exercise."""
    return exercise.call if exercise.points else ""


def hint_text(exercise: Exercise) -> str:
    """The hints, each inside the one before, so that nobody reads the third by accident; empty where there are none."""
    hints, inner = [hint.strip() for hint in exercise.hints if hint.strip()], ""
    for number in range(len(hints), 0, -1):
        body = f"{hints[number - 1]}\n\n{inner}".rstrip("\n")
        inner = f"<details>\n<summary>Hint {number}</summary>\n\n{body}\n\n</details>\n"
    return inner.rstrip("\n")


def pieces(assignment: Assignment, package: str = "") -> list[Piece]:
    """All cells in order: title, setup, then for each exercise prompt, stub, check, hints; at the end how far one is."""
    slug = assignment.slug
    found = [
        Piece("markdown", "title", title_cell(assignment), f"{slug}-title"),
        Piece("code", "setup", setup_source(assignment, package), f"{slug}-setup"),
    ]
    for exercise in assignment.exercises:
        for kind, role, source in (
            ("markdown", "prompt", prompt_cell(exercise)),
            ("code", "stub", stub_source(exercise)),
            ("code", "check", check_source(exercise)),
            ("markdown", "hints", hint_text(exercise)),
        ):
            if source:
                found.append(Piece(kind, role, source, cell_id(assignment, exercise, role), exercise))
    end = f'progress("{assignment.number}")'
    return [*found, Piece("code", "progress", end, f"{slug}-progress")]


def cell(piece: Piece, **metadata: object) -> dict:
    """The piece as a notebook file holds it; ``metadata`` goes into the cell's own."""
    made = {
        "cell_type": piece.kind,
        "id": piece.id,
        "metadata": metadata,
        "source": piece.source.splitlines(keepends=True),
    }
    return made if piece.kind == "markdown" else {**made, "execution_count": None, "outputs": []}


def notebook(cells: list[dict], **metadata: object) -> dict:
    """A notebook of these cells."""
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}, **metadata}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def student_notebook(assignment: Assignment, package: str = "") -> dict:
    """The notebook that a student gets."""
    return notebook([cell(piece, tags=[piece.role]) for piece in pieces(assignment, package)])


def text_of(notebook: dict) -> str:
    """The file's text, with keys in order and one line end at the end: equal notebooks are equal bytes."""
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _resolve(word: str, known: list[str]) -> str:
    stem = re.sub(r"\.(md|ipynb)$", "", word.strip())
    for slug in known:
        number, idea = slug.split("_", 1)
        if stem in (slug, number, idea) or (stem.isdecimal() and int(stem) == int(number)):
            return slug
    raise ReleaseError(f"no chapter {word!r} with exercises: choose from {', '.join(known)}")


def _title(slug: str) -> str:
    return TITLES.get(slug) or slug.split("_", 1)[1].replace("_", " ").capitalize()


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
