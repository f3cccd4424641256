"""A right answer is right in whatever form people write it; what can't be read is answered with the cure."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch

from mha_teach import exercises
from mha_teach.exercises import Exercise, Misfit, evaluate, expression, points, value
from mha_teach.exercises.compare import same
from mha_teach.exercises.display import html, plain, text

WHERE = {"d_k": 3.0, "m": 2.0}


@pytest.mark.parametrize(
    "formula",
    [
        "d_k*(1+2*m**2)",
        "d_k * (1 + 2·m²)",
        "d_k × (1 + 2*m^2)",
        "Var = d_k*((1+m^2)^2 − m^4)",
        "$d_k*(1+2*m**2)$",
        "`d_k + 2*d_k*m*m`",
        "d_k*(1+½*4*m²)",
        "d_k * math.exp(ln(1 + 2*m**2))",
        "np.sqrt(d_k²) * (1+2*m**2)",
        "√(d_k²) * (1 + √4*m²)",
        "d_k*(1+2*m**2)*log(e)*math.pi/π",
        "d_k\u00a0* (1+2*m**2) \n",
    ],
)
def test_signs_that_people_type(formula):
    assert evaluate(formula, WHERE) == pytest.approx(27.0)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("d_k(1+2*m)", "every product needs its [*]"),
        ("2m", "every product needs its [*]"),
        ("dk*m", "the name 'dk' has no meaning here, the names are d_k, m"),
        ("d_k*(1+2*m", "out of place"),
        ("m == 2", "is not allowed in a formula"),
        ("math.system(1)", "is not allowed|calls something"),
        ("m.real", "is not allowed"),
    ],
)
def test_what_cannot_be_read_says_the_cure(formula, words):
    with pytest.raises(Misfit, match=words):
        evaluate(formula, WHERE)


def made(*tests, stub="x = ...\n", solution="x = 'a + b'\n"):
    return Exercise("99-forms", "Forms", "Write it.", stub, solution, tests, ("one", "two", "three"))


@pytest.fixture
def sum_of_two(monkeypatch):
    exercise = made(expression("sum", "Add them.", {"a": (1.0, 2.0), "b": (5.0, 9.0)}))
    monkeypatch.setattr(exercises, "get", lambda id: exercise)
    return exercise


@pytest.mark.parametrize(
    "answer",
    [
        "b + a",
        "x = a + b",
        lambda a, b: a + b,
        lambda b, a: a + b,
        lambda a, b: torch.tensor(a, dtype=torch.float64) + b,
        lambda a, b: np.float64(a) + b,
        lambda a, b, c=0: a + b + c,
        lambda **names: names["a"] + names["b"],
    ],
)
def test_formulas_as_text_or_function(sum_of_two, answer):
    assert sum_of_two.check(answer).status == "right"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("a - b", "the answer at a = 1."),
        ("a + c", "the names are a, b"),
        ("a + (b + 9)**9**9", "its value is too large to be computed"),
        ("a / (b - b)", "it divides by 0"),
        (lambda u, v: u + v, "must be called a, b"),
        (lambda a, b: None, "returned nothing"),
        (lambda a, b: "a + b", "is 'a + b', but a number was expected"),
        (7, "is another number"),
        (b"a + b", "an object of type bytes"),
        ([1], "list of 1"),
    ],
)
def test_wrong_formulas_get_a_sentence_and_no_error(sum_of_two, answer, words):
    verdict = sum_of_two.check(answer)
    assert verdict.status == "wrong" and words in str(verdict), f"\n{verdict}"
    assert "Misfit" not in str(verdict) and "Error" not in str(verdict) and "inputs" not in str(verdict)


def test_the_name_of_a_single_argument_does_not_matter(monkeypatch):
    exercise = made(expression("root", "Take the root.", {"n": (1.0, 9.0)}), solution="x = 'n**0.5'\n")
    monkeypatch.setattr(exercises, "get", lambda id: exercise)
    assert exercise.check(lambda number: number**0.5).status == "right"
    assert exercise.check(math.sqrt).status == "right"
    assert exercise.check(math.exp).status == "wrong"


@pytest.mark.parametrize(
    "half",
    [0.5, "1/2", "½", " 0.5 ", "sqrt(0.25)", "√0.25", Fraction(1, 2), Decimal("0.5"), np.float32(0.5)]
    + [torch.tensor(0.5), torch.tensor([0.5]), torch.tensor(0.5, requires_grad=True), np.array([[0.5]])],
)
def test_numbers(half):
    assert made(value("half", "Halve it.", 0.5)).check(half).status == "right"


@pytest.mark.parametrize(
    "halves",
    [
        [0.5, 1],
        (0.5, 1),
        ["1/2", "1"],
        torch.tensor([0.5, 1]),
        torch.tensor([[0.5], [1.0]]),
        np.array([0.5, 1]),
    ]
    + [[torch.tensor(0.5), np.int64(1)], [Fraction(1, 2), Decimal(1)]],
)
def test_lists_of_numbers(halves):
    assert made(value("halves", "Halve them.", [0.5, 1.0])).check(halves).status == "right"


@pytest.mark.parametrize(
    "wrong",
    [1, "1/3", "half", "", True, [0.5], 10**400, math.nan, math.inf, 0.5j, "1e999", torch.ones(2)]
    + [torch.zeros((), device="meta"), {0.5}, np.array([0.5, 0.5]), Decimal("NaN")],
)
def test_what_is_not_this_number_is_wrong_and_no_error(wrong):
    verdict = made(value("half", "Halve it.", 0.5), stub="x = 3\n").check(wrong)
    assert verdict.status == "wrong" and "0.5\n" not in str(verdict).split("got:")[0], f"\n{verdict}"


def test_a_pair_is_asked_for_by_name():
    names = ("output", "weights")
    assert points.part_of([1, 2], 1, names) == 2
    for found, words in (
        (None, "returned nothing"),
        (torch.ones(2, 3), "tensor of shape"),
        ((1, 2, 3), "tuple of 3"),
    ):
        with pytest.raises(Misfit, match=f"return 2 things, output, weights.*{words}"):
            points.part_of(found, 0, names)


def test_a_detached_output_is_told_so():
    x = torch.ones(3, requires_grad=True)
    assert points.gradients(2 * x, [x])[0].tolist() == [8, 8, 8]
    assert points.gradients(2 * x, [x, torch.ones(2, requires_grad=True)])[1].tolist() == [0, 0]
    for output in ((2 * x).detach(), None):
        with pytest.raises(Misfit, match="No gradient reaches"):
            points.gradients(output, [x])


def test_hints_are_read_without_mathematics_set():
    assert plain(r"$\mathrm{Var}(q_i k_i) = (1+m^2)^2 - m^4$.") == "Var(q_i k_i) = (1+m²)² - m⁴."
    assert plain(r"$\partial p_i$, $\frac12 \cdot \sqrt{d_k}$, $\frac{a}{b}$") == "∂p_i, 1/2 · √d_k, (a)/(b)"
    assert plain(r"$4\,d_{model}\;h = 4$") == "4 d_model h = 4"
    for exercise in exercises.all():
        for hint in exercise.hints:
            assert "$" not in plain(hint) and "\\" not in plain(hint), hint


def test_the_second_hint_is_for_who_has_half_of_it(monkeypatch):
    tests = [
        value(f"point {n}", "No.", n, part=None, measure=lambda answer, n=n: answer[n]) for n in range(3)
    ]
    exercise = made(*tests, stub="x = []\n", solution="x = [0, 1, 2]\n")
    assert exercise.check([0, 8, 9]).hint == "one" and exercise.check([0, 1, 9]).hint == "two"
    verdict = exercise.check([0, 1, 2])
    assert verdict.status == "right" and not verdict.hint


def test_code_in_a_hint_is_code_and_escaped():
    from mha_teach.exercises import Verdict

    shown = Verdict("99-x", "wrong", hint="`a < b` & $d_k$")
    assert "<code>a &lt; b</code> &amp; d_k" in html(shown) and "`a < b` & d_k" in text(shown)


def test_a_part_that_was_left_as_it_was_is_shown_as_it_stands():
    assert same(3.0, ...).message == "the answer is `...`, but a number was expected"
