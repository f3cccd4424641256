"""Who may import whom inside the package, at any depth of any file; and what `import mha_teach` may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "mha_teach"

CHAPTERS = ["attention", "collapse", "scaling", "reshaping", "masking", "multihead", "specialisation"]
CHAPTERS += [
    "headcount",
    "cost",
    "stability",
    "diagnostics",
    "clinic",
    "sparse",
    "rotary",
    "flash",
    "sharing",
]

LAW: dict[str, set[str]] = {
    "": set(),  # mha_teach/__init__.py
    "shapes": set(),
    "bounds": set(),
    "conventions": {"shapes"},  # what masking's readers meet as mha_teach.masking.to_convention
    "quick": {"shapes"},  # the arithmetic of multihead
    "devices": set(),
    "theme": set(),
    "data": {
        "shapes",
        "attention",
        "masking",
        "multihead",
        "specialisation",
    },  # real weights run in our module
    "tasks": {"shapes", "bounds", *CHAPTERS},
    "training": {"shapes", "tasks", *CHAPTERS},
    "probes": {"shapes", *CHAPTERS[: CHAPTERS.index("clinic")]},
    "figures": {"shapes", "theme"},
    "widgets": {"shapes", "theme", "tasks", "devices", "data", "probes", *CHAPTERS},
    "exercises": {"shapes", *CHAPTERS},
    "grading": {"exercises", "release"},  # mha repair gives back what a release had
    "release": {"exercises"},
    "press": {"exercises", "theme", "widgets"},  # the site carries the palette and the widgets' script
    **{name: {"shapes", *CHAPTERS[:at]} for at, name in enumerate(CHAPTERS)},
}
LAW["masking"] |= {"conventions"}
LAW["multihead"] |= {"quick"}
LAW["clinic"] |= {"probes", "bounds"}
LAW["cli"] = set(LAW) - {"cli"}


def imports(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name below the package) of every import of the package in a file, also inside functions."""
    inside = [package.name, *path.relative_to(package).with_suffix("").parts]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = (
                [*inside[: -node.level], *filter(None, [node.module])] if node.level else [node.module or ""]
            )
            names = [".".join([*base, alias.name]) for alias in node.names]
        else:
            continue
        for name in names:
            if name == package.name or name.startswith(f"{package.name}."):
                yield node.lineno, name.removeprefix(package.name).lstrip(".")


def rooms(package: Path) -> set[str]:
    return {path.stem for path in package.iterdir() if path.suffix == ".py" or path.is_dir()}


def room_of(path: Path, package: Path) -> str:
    first = path.relative_to(package).parts[0]
    return first.removesuffix(".py").replace("__init__", "")


def violations(package: Path, law: dict[str, set[str]]) -> list[str]:
    """Every import that the law forbids, and every room that the law does not know."""
    found, known = [], rooms(package)
    for path in sorted(package.rglob("*.py")):
        room, name = room_of(path, package), path.relative_to(package).as_posix()
        if room not in law:
            found.append(f"{name}: no rule for the room {room}: add it to the table")
            continue
        for line, target in imports(path, package):
            other = target.split(".")[0]
            other = other if other in known else ""  # a name that mha_teach/__init__ defines
            if other not in law[room] | {room, ""}:
                found.append(f"{name}:{line}: {room or '__init__'} may not import {other}")
    return found


def circle(package: Path) -> list[str]:
    """Rooms that import each other in a ring, empty when there is none."""
    known = rooms(package)
    arrows: dict[str, set[str]] = {}
    for path in package.rglob("*.py"):
        targets = {target.split(".")[0] for _, target in imports(path, package)} & known
        arrows.setdefault(room_of(path, package), set()).update(targets - {room_of(path, package)})
    while leaves := [room for room, targets in arrows.items() if not targets & arrows.keys()]:
        for room in leaves:
            del arrows[room]
    return sorted(arrows)


def test_no_arrow_goes_up():
    assert violations(PACKAGE, LAW) == []


def test_the_press_knows_exercises_by_their_public_listing_only():
    seen = {
        target
        for path in (PACKAGE / "press").glob("*.py")
        for _, target in imports(path, PACKAGE)
        if target.split(".")[0] == "exercises"
    }
    assert seen <= {f"exercises.{name}" for name in ("get", "all", "Exercise", "Mutant")}


def test_the_table_knows_reshaping_and_the_probes():
    assert LAW["reshaping"] == {"shapes", "attention", "collapse", "scaling"}
    assert LAW["probes"] == {"shapes", *CHAPTERS[: CHAPTERS.index("clinic")]}
    assert {"reshaping", "probes"} <= rooms(PACKAGE)
    assert "probes" not in LAW["figures"]


def test_no_circle():
    assert circle(PACKAGE) == []


def test_the_table_itself_has_no_circle():
    left = dict(LAW)
    while free := [room for room in left if not LAW[room] & left.keys()]:
        for room in free:
            del left[room]
    assert left == {}


@pytest.fixture
def planted(tmp_path):
    """A package of two rooms; the caller plants an import and looks whether it is found."""
    package = tmp_path / "mha_teach"
    (package / "figures").mkdir(parents=True)
    for name in ("__init__.py", "shapes.py", "attention.py", "collapse.py", "figures/__init__.py"):
        (package / name).write_text("")

    def plant(name: str, code: str) -> Path:
        (package / name).write_text(code)
        return package

    return plant


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("attention.py", "import mha_teach.collapse", "attention.py:1: attention may not import collapse"),
        ("attention.py", "def f():\n    from mha_teach import collapse", "attention.py:2: attention may not import collapse"),
        ("shapes.py", "from mha_teach.attention import attend", "shapes.py:1: shapes may not import attention"),
        ("shapes.py", "from .attention import attend", "shapes.py:1: shapes may not import attention"),
        ("figures/heat.py", "from ..collapse import x", "figures/heat.py:1: figures may not import collapse"),
        ("figures/heat.py", "from mha_teach import devices, collapse", "figures/heat.py:1: figures may not import collapse"),
        ("reshaping.py", "from mha_teach.collapse import x\nfrom mha_teach.figures import y", "reshaping.py:2: reshaping may not import figures"),
        ("probes.py", "from mha_teach.collapse import x\nfrom mha_teach.figures import y", "probes.py:2: probes may not import figures"),
        ("surprise.py", "", "surprise.py: no rule for the room surprise: add it to the table"),
    ],
)  # fmt: skip
def test_a_planted_violation_is_found(planted, name, code, said):
    assert violations(planted(name, code), LAW) == [said]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("collapse.py", "from mha_teach.attention import attend\nfrom mha_teach.shapes import Float"),
        ("figures/heat.py", "from mha_teach.figures import base\nfrom . import base\nimport torch"),
        ("attention.py", "from mha_teach import __version__"),
    ],
)
def test_what_the_law_allows_passes(planted, name, code):
    assert violations(planted(name, code), LAW) == []


def test_a_planted_circle_is_found(planted):
    planted("attention.py", "def f():\n    import mha_teach.collapse")
    assert circle(planted("collapse.py", "import mha_teach.attention")) == ["attention", "collapse"]


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_else():
    ours = {name for name in loaded_by("import mha_teach") if name.split(".")[0] == "mha_teach"}
    assert ours == {"mha_teach"}
    assert not loaded_by("import mha_teach") & {"torch", "numpy", "matplotlib", "ipywidgets", "anywidget"}


def test_importing_a_chapter_draws_in_no_pictures_and_no_widgets():
    heads = {name.split(".")[0] for name in loaded_by("import mha_teach.attention, mha_teach.exercises")}
    assert not heads & {"matplotlib", "ipywidgets", "anywidget", "IPython"}
