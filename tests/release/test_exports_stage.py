"""The stage with the real tools can't pass without having compared anything."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]
import stages
from stages import Count


@pytest.fixture
def stage(tmp_path, monkeypatch):
    """The stage with environments that are there already, and a run that writes ``count`` and ends with ``code``."""

    def made(count: dict | None, code: int) -> Count:
        def run(command, **_):
            if count is not None:
                Path(command[command.index("--count") + 1]).write_text(json.dumps(count))
            return code

        monkeypatch.setattr(stages, "limited", run)
        return stages.exports()

    monkeypatch.setattr(stages, "OUT", tmp_path)
    monkeypatch.setattr(stages.bootstrap, "environment", lambda name, installs, inputs: Path(name))
    monkeypatch.setattr(stages.bootstrap, "main_environment", lambda: Path(".venv"))
    monkeypatch.setattr(stages, "with_wheel", lambda environment: environment)
    return made


@pytest.mark.parametrize(
    ("count", "code", "found"),
    [
        ({"passed": 90, "failed": 0}, 0, Count(90)),
        ({"passed": 89, "failed": 1}, 1, Count(89, 1)),
        ({"passed": 90, "failed": 0}, 124, Count(90, 1)),  # it was stopped
        ({"passed": 0, "failed": 0}, 0, Count(0, 1)),  # it compared nothing
        (None, 1, Count(0, 1)),  # it broke
        (None, 0, Count(0, 1)),
    ],
)
def test_the_count_is_the_comparisons(stage, count, code, found):
    assert stage(count, code) == found


def test_an_old_count_is_no_result(stage, tmp_path):
    (tmp_path / "exports.json").write_text('{"passed": 90, "failed": 0}')
    assert stage(None, 0) == Count(0, 1)


def test_tools_that_cannot_be_installed_fail_the_stage(monkeypatch, tmp_path, capsys):
    def none(name, installs, inputs):
        raise stages.bootstrap.Trouble(stages.bootstrap.diagnose("NewConnectionError"))

    monkeypatch.setattr(stages, "OUT", tmp_path)
    monkeypatch.setattr(stages.bootstrap, "environment", none)
    assert stages.main([], only="exports") == 1
    said = capsys.readouterr().out
    assert "No package index answers" in said
    assert said.splitlines()[-1] == "0 passed, 1 failed"
