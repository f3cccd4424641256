"""What was measured before and takes too long for a chapter's cells: JSON with machine, versions and date."""

from __future__ import annotations

import json
from importlib import resources


def measured(name: str) -> dict:
    """The record ``measured/<name>.json``: ``rows`` by name, and ``hardware``, ``versions``, ``date``, ``script``.

    Raises ``KeyError`` that names the records there are.
    """
    folder = resources.files(__name__).joinpath("measured")
    known = sorted(p.name.removesuffix(".json") for p in folder.iterdir() if p.name.endswith(".json"))
    if name not in known:
        raise KeyError(
            f"no record {name!r}; there are {', '.join(known)}: run the script in benchmarks/ that makes it"
        )
    return json.loads(folder.joinpath(f"{name}.json").read_text("utf-8"))
