"""No name that a student chooses is a formula in a teacher's spreadsheet, and no number equals infinity."""

import math
import os

import pytest

from mha_teach.exercises.compare import same
from mha_teach.grading.marks import _safe
from mha_teach.release.classroom import _cell


@pytest.mark.parametrize("safe", [_safe, _cell])
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("=1+1", "'=1+1"),
        (" =1+1", "' =1+1"),
        ("a;=1+1", "a;'=1+1"),
        ("a; =1;@x", "a;' =1;'@x"),
        ("＝1", "'＝1"),
        ("Jean-Luc O'Neill; M.", "Jean-Luc O'Neill; M."),
        ("a+b=c", "a+b=c"),
    ],
)
def test_a_name_is_no_formula(safe, name, shown):
    assert safe(name) == shown


def test_only_infinity_is_infinite():
    for expected in (math.inf, -math.inf):
        assert same(expected, expected) is None
        assert all(same(expected, wrong) for wrong in (5.0, -expected, math.nan))
    assert same(1e300, math.inf) and same(2.0, 2.0 + 1e-6) is None


def test_code_has_no_terminal(limited):
    assert os.getsid(limited._process.pid) != os.getsid(0)
