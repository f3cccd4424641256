"""Whatever a cell holds, a check answers with a verdict and leaves the notebook as it was."""

from __future__ import annotations

import re
import sys
import threading
import time

import numpy as np
import pytest
import torch

from mha_teach import exercises
from mha_teach.exercises import Exercise, Mutant, Point, display, evaluate, run

SOLUTION = "def double(x, y):\n    return x * 2 + y\n"


@pytest.fixture
def exercise(monkeypatch):
    made = Exercise(
        id="99-double",
        title="Double",
        prompt="Double it.",
        stub="def double(x, y):\n    ...\n",
        solution=SOLUTION,
        points=(
            Point(
                "matrix",
                "A matrix is not doubled.",
                lambda d: (d.normal(3, 5), d.normal(5)),
                arguments=("x", "y"),
            ),
            Point(
                "vector",
                "A vector is not doubled.",
                lambda d: (d.normal(7), d.normal(7)),
                arguments=("x", "y"),
            ),
        ),
        hints=("one", "two", "three"),
        mutants=(
            Mutant("halved", "matrix", "It halves.", edits=(("* 2", "/ 2"),)),
            Mutant("not added", "matrix", "It forgets y.", edits=((" + y", ""),)),
        ),
        seconds=0.4,
    )
    known = exercises.get
    monkeypatch.setattr(exercises, "get", lambda id: made if id == made.id else known(id))
    return made


def test_right_and_wrong(exercise):
    assert exercise.check(lambda x, y: x + x + y).status == "right"
    verdict = exercise.check(lambda x, y: x)
    assert verdict.status == "wrong" and verdict.score == 0 and verdict.diagnosis is None
    assert [point.status for point in verdict.points] == ["failed", "failed"]
    assert "A matrix is not doubled." in str(verdict) and "x tensor of shape (3, 5)" in str(verdict)


def test_half_a_score_and_a_partial_diagnosis(exercise):
    verdict = exercise.check(lambda x, y: x / 2 + y if x.dim() == 2 else x * 2 + y)
    assert verdict.score == 0.5 and verdict.diagnosis == "halved"


def test_of_several_faults_the_first_is_named(exercise):
    verdict = exercise.check(lambda x, y: x / 2 + y if x.dim() == 2 else x)
    assert verdict.score == 0 and verdict.diagnosis == "halved"


def test_another_body_is_an_attempt_but_a_copy_of_the_stub_is_not(exercise):
    def double(x, y): ...

    assert exercise.check(double).status == "not attempted"

    def forgets_return(x, y):
        x * 2 + y

    verdict = exercise.check(forgets_return)
    assert verdict.status == "wrong" and "return" in str(verdict)
    assert exercise.check(...).status == "not attempted"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (3, "double is 3, but a function was expected. Has it been called already"),
        ("text", "double is 'text', but a function was expected"),
        (torch.ones(3), "double is a tensor of shape (3,), float32, but a function was expected"),
        (lambda x: x, "positional argument"),
        (lambda x, y: (x * 2 + y).tolist(), "list of 3"),
        (lambda x, y: (x * 2 + y).numpy(), "a numpy array of shape (3, 5)"),
        (lambda x, y: (x * 2 + y)[..., :-1], "has shape"),
        (lambda x, y: x.sum(), "has shape ()"),
        (lambda x, y: x * float("nan"), "NaN"),
        (lambda x, y: x * float("inf"), "differs most at"),
        (lambda x, y: torch.complex(x, x), "was expected"),
        (lambda x, y: (value for value in x), "generator, which holds no values yet"),
        (
            lambda x, y: (x * 2 + y).long(),
            "has dtype int64, too coarse for these numbers: float32 was expected",
        ),
        (
            lambda x, y: (x * 2 + y).half(),
            "has dtype float16, too coarse for these numbers: float32 was expected",
        ),
        (lambda x, y: [x * 2 + y], "matrix: The answer is a list of 1"),
        (lambda x, y: exercises, "an object of type module"),
        (lambda x, y: x @ x, "RuntimeError"),
        (lambda x, y: (_ for _ in ()).throw(SystemExit(3)), "SystemExit"),
        (lambda x, y: print, "builtin_function"),
    ],
)
def test_odd_answers_get_a_sentence(exercise, answer, words):
    verdict = exercise.check(answer)
    assert verdict.status in ("wrong", "error")
    assert words in str(verdict)
    assert "Traceback" not in str(verdict) and "mha_teach" not in str(verdict)


def test_a_generator_is_told_to_return(exercise):
    def lazy(x, y):
        yield x * 2 + y

    assert "Use `return` instead of `yield`" in str(exercise.check(lazy))


def test_what_has_another_form_is_told_before_the_mechanism(exercise):
    verdict = exercise.check(lambda x, y: (x * 2 + y).numpy())
    assert "A matrix is not doubled." not in str(verdict) and "expected:" not in str(verdict)
    assert "A matrix is not doubled." in str(exercise.check(lambda x, y: x.sum()))


def test_numbers_that_differ_look_different(exercise):
    verdict = exercise.check(lambda x, y: (x * 2 + y) * 1.0001)
    shown = re.search(r"expected: (\S+) +got: (\S+)", str(verdict))
    assert shown and shown[1] != shown[2]
    found = exercises.same(0.1, 0.1 + 1e-9, 0.0, 0.0)
    assert found.expected != found.got


def test_other_dtypes_devices_and_subclasses_are_fine(exercise):
    class Mine(torch.Tensor):
        pass

    assert exercise.check(lambda x, y: x.double() * 2 + y).status == "right"
    assert exercise.check(lambda x, y: (x * 2 + y).as_subclass(Mine)).status == "right"
    assert exercise.check(lambda x, y: (x * 2 + y).requires_grad_()).status == "right"
    assert exercise.check(lambda x, y: torch.nn.Parameter(x * 2 + y)).status == "right"


def test_a_class_that_claims_to_equal_everything_fools_nobody(exercise):
    class Yes:
        def __eq__(self, other):
            return True

        def __repr__(self):
            raise RuntimeError("no")

    class YesTensor(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return torch.tensor(True)

    assert exercise.check(lambda x, y: Yes()).status == "wrong"
    assert exercise.check(lambda x, y: x.as_subclass(YesTensor)).status in ("wrong", "error")
    assert "an object of type Yes" in str(exercise.check(Yes())) or exercise.check(Yes()).status == "error"


def test_an_endless_loop_ends(exercise):
    def endless(x, y):
        while True:
            pass

    start = time.perf_counter()
    verdict = exercise.check(endless)
    assert time.perf_counter() - start < 3
    assert verdict.status == "timeout" and "0.4 s" in str(verdict)
    assert [point.status for point in verdict.points] == ["timeout", "not run"]


def test_an_endless_loop_that_swallows_everything_ends(exercise):
    def stubborn(x, y):
        until = time.perf_counter() + 20
        while time.perf_counter() < until:
            try:
                while True:
                    pass
            except BaseException:  # a student writes this
                if time.perf_counter() > until - 18:
                    raise

    assert exercise.check(stubborn).status == "timeout"


def test_after_the_limit_nothing_rings(exercise):
    exercise.check(lambda x, y: x)
    time.sleep(0.6)


def test_without_a_main_thread_the_check_says_that_no_limit_holds(exercise):
    found = []
    thread = threading.Thread(target=lambda: found.append(exercise.check(lambda x, y: x * 2 + y)))
    thread.start()
    thread.join()
    assert found[0].status == "right" and "No time limit" in str(found[0])


def test_endless_recursion_is_the_students_error(exercise):
    def deeper(x, y):
        return deeper(x, y)

    verdict = exercise.check(deeper)
    assert verdict.status == "error" and "RecursionError" in str(verdict)


def test_a_flood_of_prints_is_caught(exercise, capsys):
    def loud(x, y):
        for _ in range(1000):
            print("x" * 1000)
        return x * 2 + y

    verdict = exercise.check(loud)
    assert verdict.status == "right" and capsys.readouterr().out == ""
    assert "2,002,000 characters" in str(verdict) and len(str(verdict)) < 1000


def test_a_changed_argument_is_reported_and_hurts_no_later_point(exercise):
    def greedy(x, y):
        x *= 2
        x += y
        return x

    verdict = exercise.check(greedy)
    assert verdict.status == "right" and "changes its argument x" in str(verdict)


def test_a_view_of_an_argument_is_read_at_once(exercise):
    held = []

    def view(x, y):
        x.mul_(2).add_(y)
        held.append(x)
        return x[:]

    verdict = exercise.check(view)
    assert verdict.status == "right"
    held[0].zero_()
    assert exercise.check(lambda x, y: x * 2 + y).status == "right"


def test_settings_and_chance_are_put_back(exercise):
    torch.manual_seed(5)
    expected = torch.rand(())
    torch.manual_seed(5)

    def meddles(x, y):
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(0)
        torch.set_grad_enabled(False)
        return x * 2 + y

    verdict = exercise.check(meddles)
    assert verdict.status == "right" and "default dtype" in str(verdict)
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()
    assert torch.rand(()) == expected


def test_the_students_own_line_is_shown(exercise):
    answer = exercise.build("def double(x, y):\n    z = x * 2\n    return z @ y.nonsense\n", "mine")
    verdict = exercise.check(answer)
    assert verdict.status == "error"
    assert "line 3: return z @ y.nonsense" in str(verdict) and "AttributeError" in str(verdict)


def test_an_interrupt_is_passed_on(exercise):
    def interrupted(x, y):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exercise.check(interrupted)


def test_wrong_number_of_answers(exercise):
    for answers in ((), (lambda x, y: x, 3)):
        verdict = exercise.check(*answers)
        assert verdict.status == "wrong" and f"double. It got {len(answers)}" in str(verdict)


def test_html_is_escaped_and_the_same_each_time(exercise):
    def attack(x, y):
        raise ValueError("<script>alert(1)</script> & more")

    first, second = (exercise.check(attack)._repr_html_() for _ in range(2))
    assert first == second and "<script>" not in first and "&lt;script&gt;" in first
    assert 'class="mha-verdict mha-error"' in first and " id=" not in first
    assert 'class="mha-verdict mha-right"' in exercise.check(lambda x, y: x * 2 + y)._repr_html_()
    assert "mha-not-attempted" in exercise.check(...)._repr_html_()


def test_a_broken_exception_text_is_survived(exercise):
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def broken(x, y):
        raise Broken

    assert exercise.check(broken).status == "error"


@pytest.fixture
def slow_module(tmp_path, monkeypatch):
    """A module that takes longer to import than a check may take."""
    (tmp_path / "slow_to_load.py").write_text("import time\ntime.sleep(0.7)\nready = True\n")
    (tmp_path / "never_loads.py").write_text("while True:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("slow_to_load", None)


def test_an_import_is_waited_for_and_does_not_count(exercise, slow_module):
    def imports(x, y):
        import slow_to_load

        time.sleep(0.1)
        return x * 2 + y if slow_to_load.ready else x

    verdict = exercise.check(imports)
    assert verdict.status == "right", f"\n{verdict}"


def test_a_loop_after_an_import_ends_all_the_same(exercise, slow_module):
    def loops(x, y):
        import slow_to_load

        while slow_to_load:
            pass

    start = time.perf_counter()
    assert exercise.check(loops).status == "timeout"
    assert time.perf_counter() - start < 4


def test_an_import_without_end_ends(exercise, slow_module, monkeypatch):
    def loads(x, y):
        import never_loads

        return never_loads

    monkeypatch.setattr(run, "PATIENCE", 2)
    assert exercise.check(loads).status == "timeout"


def test_time_limit_restores_the_alarm():
    import signal

    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(run.TimeUp), run.time_limit(0.05):
        while True:
            pass
    assert signal.getsignal(signal.SIGALRM) == before


def test_unknown_ids_are_answered_with_the_known():
    with pytest.raises(KeyError, match="00-nonsense.*Known here: 00-"):
        exercises.get("00-nonsense")


def test_a_mutant_edit_that_does_not_fit_is_an_error(exercise):
    with pytest.raises(ValueError, match="found 0 times"):
        exercise.source_of(Mutant("bad", "matrix", "", edits=(("absent", "x"),)))


def test_first_failed_is_none_for_right(exercise):
    assert display.first_failed(exercise.check(lambda x, y: x * 2 + y)) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("d*s^2", 12.0), ("-sqrt(s) + 1", -0.41421356), ("max(d, s)/2", 1.5), ("exp(log(d))", 3.0)],
)
def test_formulas(text, value):
    assert evaluate(text, {"d": 3.0, "s": 2.0}) == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "().__class__", "9**9**9**9", "(-1)**.5", "d +", "1/0", "f", "[1]", "'a'", "x" * 600]
    + ["(" * 300 + "1" + ")" * 300, "sqrt(-1)", "lambda: 1", "d if d else 1", "True", "sqrt", "min()"],
)
def test_what_is_no_formula_is_named(text):
    with pytest.raises(ValueError, match="can't be read as a formula"):
        evaluate(text, {"d": 3.0})


def test_numpy_numbers_count_as_numbers():
    assert exercises.same(0.5, np.float32(0.5)) is None
    assert exercises.same(0.5, torch.tensor([[0.5]])) is None
    assert exercises.same(torch.tensor(0.5), 0.5) is None
    assert exercises.same(True, torch.tensor(True)) is None
    assert exercises.same(1.0, True) is not None
    assert exercises.same("Key", "  key ") is None
