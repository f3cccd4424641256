"""Each file of a class gets inputs of its own: those that an error message shows are of no use to the next file."""

from __future__ import annotations

import json

import pytest

from mha_teach.grading import batch
from mha_teach.grading.batch import Plan, grade_data, own_seed


def handed_in(source: str) -> bytes:
    cells = [
        {
            "cell_type": "code",
            "id": "a",
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def test_the_seed_is_the_files_and_the_classs() -> None:
    assert own_seed(7, "ab") == own_seed(7, "ab")
    assert len({own_seed(seed, digest) for seed in (7, 11) for digest in ("ab", "cd", "ef")}) == 6


def test_a_file_that_was_changed_is_judged_on_other_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []
    monkeypatch.setattr(batch, "grade", lambda submission, sandbox, seed: seeds.append(seed) or [])
    for digest in ("first", "second", "first"):
        told = {"student": "s1", "file": "s1.ipynb", "digest": digest, "canvas": ""}
        assert (
            grade_data(told, handed_in("# exercise: 02-numbers\nvariance = 1"), Plan(), 13, None).status
            == "graded"
        )
    assert seeds[0] == seeds[2] != seeds[1]
