"""Answers that mean harm, or do it by accident: a sentence for each, in time, and everything as it was before."""

from __future__ import annotations

import os
import random
import sys
import time

import numpy as np
import pytest
import torch

from mha_teach import exercises
from mha_teach.exercises import Exercise, Mutant, Point

TWO = ("x", "y")


@pytest.fixture
def exercise(monkeypatch):
    made = Exercise(
        id="99-sum",
        title="Sum",
        prompt="Add.",
        stub="def add(x, y):\n    ...\n",
        solution="def add(x, y):\n    return x + y\n",
        points=(
            Point("matrix", "A matrix is not added.", lambda d: (d.normal(3, 5), d.normal(5)), arguments=TWO),
            Point("vector", "A vector is not added.", lambda d: (d.normal(7), d.normal(7)), arguments=TWO),
        ),
        hints=("one", "two", "three"),
        mutants=(Mutant("less", "matrix", "It takes off.", edits=(("+", "-"),)),),
        seconds=0.4,
    )
    monkeypatch.setattr(exercises, "get", lambda id: made)
    return made


class LyingName(type):
    @property
    def __name__(cls):
        raise RuntimeError("no name")


class Liar(metaclass=LyingName):
    def __len__(self):
        raise RuntimeError("no length")

    def __eq__(self, other):
        return True

    def __hash__(self):
        raise RuntimeError("no hash")

    def __repr__(self):
        raise RuntimeError("no text")

    def __iter__(self):
        return self

    def __next__(self):
        return self


class NoClass:
    @property
    def __class__(self):
        raise RuntimeError("no class")


def endless_list() -> list:
    found: list = []
    found.append(found)
    return found


ODD = {
    "lying object": Liar,
    "no class": NoClass,
    "meta device": lambda: torch.empty(3, 5, device="meta"),
    "sparse": lambda: torch.ones(3, 5).to_sparse(),
    "sparse rows": lambda: torch.ones(3, 5).to_sparse_csr(),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2)]),
    "complex": lambda: torch.ones(3, 5, dtype=torch.complex64),
    "list in itself": endless_list,
    "long list": lambda: [0.0] * 3_000_000,
    "far too large": lambda: torch.ones(1).expand(10**6, 10**6),
    "huge number": lambda: 10**5000,
    "empty": lambda: torch.empty(0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ODD)
def test_odd_values_are_wrong_and_say_so(exercise, name):
    for answer in (lambda x, y: ODD[name](), ODD[name]()):
        verdict = exercise.check(answer)
        assert verdict.status in ("wrong", "error") and len(str(verdict)) < 2000
        assert "mha_teach" not in verdict._repr_html_() and "Traceback" not in str(verdict)


class Own(BaseException):
    pass


@pytest.mark.parametrize(
    "error",
    [
        Own("<script>"),
        BaseException("base"),
        GeneratorExit(),
        BaseExceptionGroup("all", [Own()]),
        MemoryError(),
    ],
)
def test_every_kind_of_error_is_the_students(exercise, error):
    def raises(x, y):
        raise error

    verdict = exercise.check(raises)
    assert verdict.status == "error" and type(error).__name__ in str(verdict)
    assert "<script>" not in verdict._repr_html_()


def test_a_class_with_markup_in_its_name_is_escaped(exercise):
    for kind in (type("<script>", (Exception,), {}), type("<script>", (), {})):

        def answer(x, y, kind=kind):
            if issubclass(kind, Exception):
                raise kind
            return kind()

        assert "<script>" not in exercise.check(answer)._repr_html_()


@pytest.mark.parametrize("body", ["pass", "time.sleep(9)", "x @ x.mT"])
def test_a_loop_that_swallows_every_error_ends(exercise, body):
    answer = exercise.build(
        "import time\n\ndef add(x, y):\n    while True:\n        try:\n"
        f"            {body}\n        except:\n            pass\n",
        "stubborn",
    )
    start = time.perf_counter()
    assert exercise.check(answer).status == "timeout"
    assert time.perf_counter() - start < 5
    assert exercise.check(lambda x, y: x + y).status == "right"


def test_the_limit_holds_for_the_whole_check(exercise):
    def slow(x, y):
        time.sleep(0.3)
        return x + y

    assert exercise.check(slow).status == "timeout"


def state() -> tuple:
    return (
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.get_default_device(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_float32_matmul_precision(),
        torch.is_anomaly_enabled(),
        torch.is_grad_enabled(),
        torch.get_rng_state().tolist(),
        random.getstate(),
        np.random.get_state()[1].tolist(),
        sys.getrecursionlimit(),
        os.getcwd(),
        sys.stdout,
        torch.softmax,
        torch.isclose,
        torch.Tensor.softmax,
        torch.nn.functional.softmax,
        max,
    )


def test_everything_is_put_back_and_named(exercise):
    def meddles(x, y):
        found = x + y
        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(2 if torch.get_num_threads() == 1 else 1)
        torch.set_float32_matmul_precision("medium")
        torch.autograd.set_detect_anomaly(True)
        torch.set_grad_enabled(False)
        random.seed(7)
        np.random.seed(7)
        sys.setrecursionlimit(5000)
        os.chdir("/")
        sys.stdout = None
        torch.softmax = torch.nn.functional.softmax = torch.Tensor.softmax = lambda *a, **b: 0
        torch.isclose = lambda *a, **b: torch.tensor(True)
        __builtins__["max"] = min
        torch.set_default_device("meta")
        return found

    object.__setattr__(exercise, "seconds", 60)  # torch loads parts of itself for this
    before = state()
    verdict = exercise.check(meddles)
    assert state() == before
    assert verdict.status == "right"
    for name in (
        "default dtype",
        "default device",
        "working directory",
        "torch.Tensor.softmax",
        "builtins.max",
    ):
        assert name in str(verdict)


def test_a_patched_comparison_fools_nobody(exercise):
    def patches(x, y):
        torch.isclose = torch.Tensor.isclose = lambda *a, **b: torch.ones(3, 5, dtype=torch.bool)
        torch.Tensor.any = lambda *a: False
        return x * 0

    assert exercise.check(patches).status == "wrong"
    assert exercise.check(lambda x, y: x + y).status == "right"


def test_chance_is_the_same_at_each_check(exercise):
    found = []

    def draws(x, y):
        found.append((random.random(), float(np.random.rand()), float(torch.rand(()))))
        return x + y

    exercise.check(draws)
    assert found[0] == found[1]


def test_a_number_that_agrees_by_chance_is_not_diagnosed(monkeypatch, exercise):
    """The mutant belongs to another point, which this answer passes."""

    def answer(x, y):
        return x + y if x.dim() == 2 else x - y

    verdict = exercise.check(answer)
    assert verdict.status == "wrong" and verdict.diagnosis is None
