"""Notebooks made from sources, and their marks."""

from __future__ import annotations

import json
import subprocess

from mha_teach import exercises
from mha_teach.grading.judging import ExerciseGrade, grade
from mha_teach.grading.reading import parse
from mha_teach.grading.sandbox import Limits, Sandbox, bubblewrap
from mha_teach.grading.submission import match

LIMITS = Limits(seconds=3.0)
RIGHT = {id: exercises.get(id).solution for id in ("00-by-hand", "00-mend", "00-probe")}


def notebook(sources: list[str] | dict[str, str], **more: object) -> bytes:
    """A notebook file. A dict gives the answers of exercises by their ids."""
    if isinstance(sources, dict):
        sources = [f"# exercise: {id}\n{source}" for id, source in sources.items()]
    cells = [
        {"cell_type": "code", "source": s, "metadata": {}, "outputs": [], "execution_count": None}
        for s in sources
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **more}).encode()


def graded(sandbox: Sandbox, data: bytes, seed: int = 20_011) -> dict[str, ExerciseGrade]:
    """The grades of one notebook by exercise."""
    return {found.exercise: found for found in grade(match(parse(data)), sandbox, seed)}


def why_not_wrapped() -> str:
    """Why bubblewrap can't be used here, or nothing."""
    if bubblewrap():
        return ""
    try:
        probe = subprocess.run(
            ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return "bubblewrap is not installed"
    return f"bubblewrap does not work here: {probe.stderr.strip() or probe.returncode}"
