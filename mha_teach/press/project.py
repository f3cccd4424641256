"""Where a book keeps its files."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from mha_teach.press.problems import PressError

SLUG = re.compile(r"\d\d_[a-z][a-z0-9_]*")


def find_root(start: Path) -> Path:
    """The folder that holds ``_config.yml`` and ``book/``, from ``start`` upwards."""
    for folder in [start.resolve(), *start.resolve().parents]:
        if (folder / "_config.yml").is_file() and (folder / "book").is_dir():
            return folder
    raise PressError(
        f"{start}: no _config.yml with a book/ beside it, here or above: run mha inside the book"
    )


def source_path(root: Path, slug: str) -> Path:
    return root / "book" / f"{slug}.md"


def notebook_path(root: Path, slug: str) -> Path:
    return root / "notebooks" / f"{slug}.ipynb"


def slugs(root: Path) -> list[str]:
    """The chapters, in order: every ``book/NN_slug.md``."""
    return sorted(path.stem for path in (root / "book").glob("*.md") if SLUG.fullmatch(path.stem))


def resolve(root: Path, wanted: list[str]) -> list[str]:
    """The slugs that the words on the command line mean; ``1``, ``01``, ``collapse`` and a path all do."""
    known = slugs(root)
    if not wanted:
        return known
    return [_resolve_one(word, known) for word in wanted]


def _resolve_one(word: str, known: list[str]) -> str:
    stem = Path(word).stem
    for slug in known:
        number, idea = slug.split("_", 1)
        if stem in (slug, number, idea) or (stem.isdigit() and int(stem) == int(number)):
            return slug
    near = difflib.get_close_matches(stem, known, 1, 0.3) or [known[i] for i in _close_idea(stem, known)]
    hint = f"did you mean {near[0]}?" if near else f"chapters are {', '.join(known) or 'none yet'}"
    raise PressError(f"no chapter {word}: {hint}")


def _close_idea(stem: str, known: list[str]) -> list[int]:
    ideas = [slug.split("_", 1)[1] for slug in known]
    return [ideas.index(found) for found in difflib.get_close_matches(stem, ideas, 1, 0.5)]


def version(root: Path) -> str:
    """The package's version, read as text so that nothing is imported."""
    text = (root / "mha_teach" / "__init__.py").read_text("utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    if not found:
        raise PressError('mha_teach/__init__.py:1: no line __version__ = "…": add it')
    return found[1]


def wheel_name(root: Path) -> str:
    """File name of the wheel that the site serves beside the notebooks."""
    return f"mha_teach-{version(root)}-py3-none-any.whl"
