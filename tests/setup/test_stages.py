"""The count at the end of ``make test`` is right, and nothing passes by not running."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import stages
from stages import Count, from_junit, from_tap

REPORT = '<testsuites><testsuite tests="{}" failures="{}" errors="{}" skipped="{}"/></testsuites>'
TAP = "ok 1 - moves\n# tests {0}\n# pass {0}\n# fail {1}\n# cancelled 0\n# skipped {2}\n"


@pytest.mark.parametrize(
    ("numbers", "code", "count"),
    [
        ((13, 0, 0, 0), 0, Count(13)),
        ((13, 2, 1, 3), 1, Count(7, 3, 3)),
        ((0, 0, 0, 0), 5, Count(0, 1)),  # no test at all
        ((5, 0, 0, 5), 0, Count(0, 1, 5)),  # all skipped
        ((5, 0, 0, 0), 3, Count(5, 1)),  # pytest itself broke
    ],
)
def test_pytest_is_counted(tmp_path: Path, numbers: tuple, code: int, count: Count) -> None:
    report = tmp_path / "r.xml"
    report.write_text(REPORT.format(*numbers))
    assert from_junit(report, code) == count


def test_pytest_without_a_report_failed(tmp_path: Path) -> None:
    assert from_junit(tmp_path / "none.xml", 0) == Count(0, 1)


def test_node_is_counted() -> None:
    assert from_tap(TAP.format(7, 0, 0), 0) == Count(7)
    assert from_tap(TAP.format(7, 2, 1), 1) == Count(7, 2, 1)
    assert from_tap(TAP.format(0, 0, 0), 0) == Count(0, 1)
    assert from_tap("crash", 1) == Count(0, 1)


def test_a_count_reads_as_agreed() -> None:
    assert str(Count(3)) == "3 passed, 0 failed"
    assert str(Count(3, 1, 2)) == "3 passed, 1 failed, 2 skipped"


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stages, "OUT", tmp_path / "out")
    return tmp_path / "out"


def test_a_failing_stage_stops_nothing_and_is_named(out: Path, capsys: pytest.CaptureFixture) -> None:
    def broken() -> Count:
        raise stages.bootstrap.Trouble("install this")

    plan = {
        "first": ("a", lambda: Count(2, 1)),
        "second": ("b", broken),
        "third": ("c", lambda: Count(5, 0, 1)),
    }
    assert stages.main([], stages=plan) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "7 passed, 2 failed, 1 skipped"
    assert "install this" in lines
    assert any(line.startswith("FAILED first") and "make test ONLY=first" in line for line in lines)
    assert any(line.startswith("ok     third") for line in lines)
    assert (out / "count.txt").read_text() == "7 passed, 2 failed, 1 skipped\n"


def test_exit_codes(out: Path, capsys: pytest.CaptureFixture) -> None:
    plan = {"full": ("a", lambda: Count(2)), "empty": ("b", Count)}
    assert stages.main([], only="full", stages=plan) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 passed, 0 failed"
    assert stages.main([], only="empty", stages=plan) == 1
    assert stages.main([], only="full,nonsense", stages=plan) == 2
    assert "No stage nonsense: choose from full, empty." in capsys.readouterr().err


def test_the_slow_stage_runs_where_it_is_asked_for(out: Path, capsys: pytest.CaptureFixture) -> None:
    plan = {"quick": ("a", lambda: Count(2)), stages.SLOW[0]: ("b", lambda: Count(3))}
    for how, total in (({}, 2), ({"slow": True}, 5), ({"only": stages.SLOW[0]}, 3)):
        assert stages.main([], stages=plan, **how) == 0
        assert capsys.readouterr().out.splitlines()[-1] == f"{total} passed, 0 failed", how
    assert set(stages.SLOW) <= set(stages.STAGES)


def test_without_notebooks_nothing_passes(tmp_path: Path) -> None:
    assert stages.notebooks("none", Path("nowhere"), tmp_path) == Count(0, 1)


def test_chromium_is_asked_for_by_its_exact_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages.shutil, "which", lambda name: None)
    with pytest.raises(stages.bootstrap.Trouble, match="on Debian: sudo apt-get install chromium"):
        stages.install_chromium()


def test_bubblewrap_is_no_condition(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(stages.shutil, "which", lambda name: None)
    stages.install_bubblewrap()
    monkeypatch.setattr(stages, "may_install", lambda: True)

    def offline(*_: object) -> None:
        raise stages.bootstrap.Trouble("no network")

    monkeypatch.setattr(stages.bootstrap, "watched", offline)
    stages.install_bubblewrap()
    assert capsys.readouterr().out == "going on without bubblewrap: no network\n"


def test_old_widgets_are_not_asked_for_their_page_form(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "ROOT", tmp_path)
    (tmp_path / "notebooks").mkdir()
    widget = {"data": {"text/html": ['<div class="mha-widget" data-widget="w">'], "text/plain": ["W()"]}}
    verdict = {"data": {"text/html": ["<p>right</p>"], "text/plain": ["right"]}}
    stream = {"output_type": "stream", "text": "words"}
    cells = [{"outputs": [widget, stream]}, {"outputs": [verdict]}, {"source": "prose"}]
    (tmp_path / "notebooks" / "a.ipynb").write_text(json.dumps({"cells": cells}))
    copy = json.loads((stages.for_old_widgets("colab") / "a.ipynb").read_text())
    assert copy["cells"][0]["outputs"][0]["data"] == {"text/plain": ["W()"]}
    assert copy["cells"][1:] == cells[1:]


def test_a_hanging_program_is_stopped(capsys: pytest.CaptureFixture) -> None:
    assert stages.limited([sys.executable, "-c", "import time; time.sleep(60)"], limit=0.5) == 124
    assert "stopped after 0 minutes: a test hangs" in capsys.readouterr().out


def test_a_program_that_ends_keeps_its_code() -> None:
    assert stages.limited([sys.executable, "-c", "raise SystemExit(3)"]) == 3
