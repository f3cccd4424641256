"""constraints.txt pins everything that an installation with all extras pulls in."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from drift import EXTRAS, read
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCK = Path(__file__).resolve().parents[2] / "constraints.txt"
# torch pins its accelerator's companions itself, and which it needs depends on its build.
COMPANIONS = ("nvidia-", "cuda-", "triton")


def pins(text: str) -> dict[str, str]:
    """Name → version of the lines that hold for this Python and this system."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found = {}
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate():
            found[canonicalize_name(requirement.name)] = str(requirement.specifier)
    return found


def closure(roots: list[Requirement]) -> set[str]:
    """Names of everything that ``roots`` need on this machine, by the metadata of what is installed."""
    seen: set[tuple[str, str]] = set()
    waiting = [(root.name, extra) for root in roots for extra in ("", *root.extras)]
    while waiting:
        name, extra = waiting.pop()
        name = canonicalize_name(name)
        if (name, extra) in seen or name.startswith(COMPANIONS):
            continue
        seen.add((name, extra))
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue  # named all the same: the lock must hold it
        for requirement in map(Requirement, lines):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting += [(requirement.name, more) for more in ("", *requirement.extras)]
    return {name for name, _ in seen}


def roots() -> list[Requirement]:
    project, _ = read()
    lines = project["dependencies"] + [
        line for extra in EXTRAS for line in project["optional-dependencies"][extra]
    ]
    return [Requirement(line) for line in lines]


def test_every_pin_is_exact() -> None:
    wrong = [f"{name}{rule}" for name, rule in pins(LOCK.read_text()).items() if not rule.startswith("==")]
    assert not wrong, f"not exact: {wrong}"


def test_the_lock_covers_the_closure() -> None:
    missing = closure(roots()) - pins(LOCK.read_text()).keys()
    assert not missing, f"constraints.txt lacks {sorted(missing)}: make lock"


def test_a_hole_in_the_lock_is_found() -> None:
    text = "\n".join(line for line in LOCK.read_text().splitlines() if not line.startswith("tornado=="))
    assert closure(roots()) - pins(text).keys() == {"tornado"}


def test_the_lock_satisfies_pyproject() -> None:
    held = pins(LOCK.read_text())
    for requirement in roots():
        pin = held[canonicalize_name(requirement.name)].removeprefix("==")
        assert requirement.specifier.contains(pin, prereleases=True), (
            f"{requirement} refuses {pin}: make lock"
        )


def test_what_is_installed_is_what_is_locked() -> None:
    held = pins(LOCK.read_text())
    off = {}
    for name in closure(roots()) & held.keys():
        installed = version(name).split("+")[0]  # a build's own label, such as +cpu
        if f"=={installed}" != held[name]:
            off[name] = (installed, held[name])
    assert not off, f"installed and locked versions differ: {off}; run make again"
