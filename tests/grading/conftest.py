"""One sandbox for a whole session, behind bubblewrap and without."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest
import torch
from submitting import LIMITS, RIGHT, graded, notebook

from mha_teach.grading.judging import ExerciseGrade
from mha_teach.grading.sandbox import Sandbox, bubblewrap

os.environ.setdefault("OMP_NUM_THREADS", "1")


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


@pytest.fixture(scope="session")
def limited():
    """A sandbox without bubblewrap: the limits and the filter alone."""
    torch.set_num_threads(1)
    with Sandbox(LIMITS, wrap=False) as made:
        yield made


@pytest.fixture(scope="session")
def wrapped():
    """A sandbox behind bubblewrap."""
    if reason := why_not_wrapped():
        pytest.skip(reason)
    torch.set_num_threads(1)
    with Sandbox(LIMITS, wrap=True) as made:
        yield made


@pytest.fixture(params=["wrapped", "limited"])
def sandbox(request) -> Sandbox:
    """Both, one after the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def with_answer(sandbox) -> Callable[..., dict[str, ExerciseGrade]]:
    """Grade a notebook of chapter 00 that is right but for one answer."""

    def run(source: str, id: str = "00-mend") -> dict[str, ExerciseGrade]:
        return graded(sandbox, notebook({**RIGHT, id: source}))

    return run
