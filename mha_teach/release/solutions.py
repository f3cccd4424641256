"""The teacher's copy of an assignment: answers in place of stubs, why they are right, and the tempting wrong ones."""

from __future__ import annotations

from mha_teach.exercises import Exercise
from mha_teach.release.assignment import Assignment, Piece, cell, cell_id, notebook, pieces, with_id

WARNING = "**For the teacher. Don't hand this out: it holds the solutions.**"


def solution_notebook(assignment: Assignment, whose: str = "", package: str = "") -> dict:
    """The assignment with its solutions; ``whose`` names the student whose numbers these are."""
    cells = []
    for piece in pieces(assignment, package):
        if piece.role == "title":
            cells.append(cell(_title(piece, whose), tags=["title", "solutions"]))
        elif piece.role == "stub":
            answer = with_id(piece.exercise, piece.exercise.solution)
            cells.append(cell(Piece("code", "stub", answer, piece.id, piece.exercise), tags=["solution"]))
        else:
            cells.append(cell(piece, tags=[piece.role]))
        last = piece.role == "check" or (piece.role == "stub" and not piece.exercise.points)
        if last and (text := why_text(piece.exercise)):
            id = f"{cell_id(assignment, piece.exercise, 'stub')}-why"[:64]
            cells.append(cell(Piece("markdown", "hints", text, id, piece.exercise), tags=["solution"]))
    return notebook(cells)


def why_text(exercise: Exercise) -> str:
    """Why the solution is right, and for each tempting wrong answer what is wrong with it, in markdown."""
    parts = [f"**Why.** {exercise.why.strip()}"] if exercise.why.strip() else []
    if exercise.mutants:
        wrong = [f"- *{mutant.name}*: {mutant.words.strip()}" for mutant in exercise.mutants]
        parts.append("**Wrong answers that the check names.**\n\n" + "\n".join(wrong))
    return "\n\n".join(parts)


def _title(piece: Piece, whose: str) -> Piece:
    head, _, _ = piece.source.partition("\n")
    lines = [head.replace(": exercises", ": solutions"), WARNING]
    lines += [f"With the numbers of {_plain(whose)}."] if whose else []
    return Piece("markdown", "title", "\n\n".join(lines), piece.id)


def _plain(text: str) -> str:
    """A name that markdown leaves as it is."""
    return "".join(f"&#{ord(sign)};" if sign in "\\`*_{}[]<>()#+!|&$~" else sign for sign in text)
