"""Compare what environment.yml asks for with what pyproject.toml asks for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = ("widgets", "book", "models", "dev")
CONDA_NAMES = {"pytorch": "torch"}
CONDA_ONLY = {"pip"}


def wanted(project: dict) -> dict[str, str]:
    """Name → version range of the package's requirements and of its extras, from pyproject's ``project`` table."""
    lines = [*project["dependencies"]]
    lines += [line for extra in EXTRAS for line in project["optional-dependencies"][extra]]
    found = {canonicalize_name(r.name): str(r.specifier) for r in map(Requirement, lines)}
    return found | {"python": project["requires-python"]}


def offered(environment: dict) -> tuple[dict[str, str], list[str]]:
    """Name → version range of environment.yml, and its pip lines that are no requirements, such as ``-e .``."""
    conda = [line for line in environment["dependencies"] if isinstance(line, str)]
    pip = [line for part in environment["dependencies"] if isinstance(part, dict) for line in part["pip"]]
    options = [line for line in pip if line.startswith("-")]
    parsed = [Requirement(line) for line in conda + [line for line in pip if line not in options]]
    found = {}
    for requirement in parsed:
        name = canonicalize_name(CONDA_NAMES.get(requirement.name, requirement.name))
        if name not in CONDA_ONLY:
            found[name] = str(requirement.specifier)
    return found, options


def differences(project: dict, environment: dict) -> list[str]:
    """One line for each thing in which the two disagree; an empty list when they agree."""
    left, (right, options) = wanted(project), offered(environment)
    lines = []
    for name in sorted(left.keys() | right.keys()):
        ours, theirs = left.get(name, "nothing"), right.get(name, "nothing")
        if ours != theirs:
            lines.append(
                f"{name}: pyproject.toml says {ours or 'any'}, environment.yml says {theirs or 'any'}"
            )
    if options != ["-e ."]:
        lines.append(f"environment.yml installs {options} instead of this package by -e .")
    return lines


def read() -> tuple[dict, dict]:
    """pyproject's ``project`` table and environment.yml, as they stand in the repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project, yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
