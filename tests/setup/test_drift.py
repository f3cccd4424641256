"""environment.yml and pyproject.toml ask for the same."""

from __future__ import annotations

from copy import deepcopy

import pytest
from drift import differences, read


def test_they_agree() -> None:
    assert differences(*read()) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("numpy>=1.26", None, "numpy: pyproject.toml says >=1.26, environment.yml says nothing"),
        ("numpy>=1.26", "numpy>=2", "numpy: pyproject.toml says >=1.26, environment.yml says >=2"),
        ("pytorch>=2.4", "pytorch", "torch: pyproject.toml says >=2.4, environment.yml says any"),
        ("pip", "scipy", "scipy: pyproject.toml says nothing, environment.yml says any"),
        ("python>=3.11", "python>=3.10", "python: pyproject.toml says >=3.11, environment.yml says >=3.10"),
    ],
)
def test_drift_in_conda_is_found(old: str, new: str | None, complaint: str) -> None:
    project, environment = deepcopy(read())
    lines = environment["dependencies"]
    place = lines.index(old)
    lines[place : place + 1] = [new] if new else []
    assert differences(project, environment) == [complaint]


def test_drift_in_pyproject_is_found() -> None:
    project, environment = deepcopy(read())
    project["optional-dependencies"]["book"].append("pandas>=2")
    assert differences(project, environment) == [
        "pandas: pyproject.toml says >=2, environment.yml says nothing"
    ]


def test_a_missing_package_line_is_found() -> None:
    project, environment = deepcopy(read())
    environment["dependencies"][-1]["pip"].remove("-e .")
    assert len(differences(project, environment)) == 1
