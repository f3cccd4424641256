"""The first code cell of an assignment: makes the package importable, imports what the exercises need, seeds."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mha_teach.release.packing import WHEEL

_SETUP = """\
# Setup: installs the course's package only where it is missing.
try:
    import mha_teach
except ImportError:
    import glob, sys

    colab = "google.colab" in sys.modules
    found = glob.glob("mha_teach-*.whl") + glob.glob("../mha_teach-*.whl")
{elsewhere}
    if not found:
        raise ImportError("mha_teach is missing: put {wheel} beside this notebook") from None
    options = "--no-deps" if colab else ""  # Colab's own packages stay as they are
    %pip install -q {{options}} "{{found[0]}}"

from mha_teach import devices
from mha_teach.exercises import check, progress

devices.reproducible(0)
"""
_UPLOAD = """\
    if not found and colab:
        from google.colab import files

        print("Please choose {wheel}, which came with this notebook")
        found = [name for name in files.upload() if name.endswith(".whl")]"""
_ADDRESS = """\
    if not found and colab:
        found = ["{package}"]"""


def source(setups: Iterable[str], package: str = "") -> str:
    """The cell's code. ``setups`` are the exercises' own; ``package`` is what pip installs from in Colab, if published."""
    elsewhere = _ADDRESS.format(package=package) if package else _UPLOAD.format(wheel=WHEEL)
    own = _statements(setups)
    top = _SETUP.format(wheel=WHEEL, elsewhere=elsewhere).rstrip("\n")
    return "\n".join([top, *([""] if own else []), *own])


def _statements(sources: Iterable[str]) -> list[str]:
    """The statements of all sources, each once."""
    found: dict[str, str] = {}
    for source in sources:
        for node in ast.parse(source).body:
            found.setdefault(ast.dump(node), ast.get_source_segment(source, node) or ast.unparse(node))
    return list(found.values())
