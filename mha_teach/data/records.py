"""What was measured before and takes too long for a chapter's cells: JSON with machine, versions and date."""

from __future__ import annotations

import json
from importlib import resources

FOLDER = resources.files("mha_teach.data").joinpath("measured")


def measured(name: str) -> dict:
    """The record ``measured/<name>.json``: ``rows`` by name, and ``hardware``, ``versions``, ``date``, ``script``.

    Raises ``KeyError`` that names the records there are.
    """
    known = sorted(p.name.removesuffix(".json") for p in FOLDER.iterdir() if p.name.endswith(".json"))
    if name not in known:
        raise KeyError(
            f"no record {name!r}; there are {', '.join(known)}: run the script in benchmarks/ that makes it"
        )
    return json.loads(FOLDER.joinpath(f"{name}.json").read_text("utf-8"))
