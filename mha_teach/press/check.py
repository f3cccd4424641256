"""Is every notebook the product of its source, and does every chapter keep the rules?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from nbformat import NotebookNode

from mha_teach.press import build, dialect, lint
from mha_teach.press.notebook import Draft, find_exercise
from mha_teach.press.problems import Finding, PressError
from mha_teach.press.project import SLUG, notebook_path, slugs, source_path
from mha_teach.press.source import Chapter, parse, read

FIGURES = (4, 7)
UNSTABLE = re.compile(r"\bat 0x[0-9a-f]{6,}|/(?:home|Users|root|tmp)/[\w.]+")


def check(root: Path, chosen: list[str] | None = None, find: build.Find = find_exercise) -> list[Finding]:
    """All findings on the chosen chapters (default: all, and then the prose pages and strays too), in order."""
    names = slugs(root) if chosen is None else chosen
    anchors = cache(lambda file: page_anchors(root, file, find))
    found = [finding for slug in names for finding in _chapter(root, slug, find, anchors)]
    if set(names) == set(slugs(root)):
        found += [*strays(root), *_prose_pages(root, anchors)]
    return sorted(set(found))


def _chapter(root: Path, slug: str, find: build.Find, anchors: dialect.Anchors) -> Iterator[Finding]:
    try:
        chapter = read(root, source_path(root, slug))
        yield from lint.lint(root, chapter)
        yield from dialect.dialect(chapter)
        yield from dialect.links(chapter.name, chapter.cells, root, anchors)
        yield from product(root, chapter, build.planned(root, slug, find))
    except PressError as error:
        yield error.finding or Finding(f"book/{slug}.md", 1, str(error), "mend this first")


def product(root: Path, chapter: Chapter, planned: Draft) -> Iterator[Finding]:
    """Whether the stored notebook is what the source gives, whole and without errors; its pictures have alt text."""
    path = notebook_path(root, chapter.slug)
    name, rebuild = path.relative_to(root).as_posix(), f"run `mha build {chapter.slug}`"
    old = build.stored(path)
    if old is None:
        yield Finding(name, 1, "missing or no notebook" if path.exists() else "no such notebook", rebuild)
        return
    if not build.same_input(planned.notebook, old):
        yield Finding(name, 1, f"not the product of {chapter.name}", f"never edit it by hand; {rebuild}")
    elif planned.notebook.metadata["mha"]["run"] != old.metadata["mha"].get("run"):
        yield Finding(name, 1, "built with other modules or versions", rebuild)
    lines = planned.lines if len(planned.lines) == len(old.cells) else [1] * len(old.cells)
    place = chapter.name if lines is planned.lines else name
    code = [(cell, line) for cell, line in zip(old.cells, lines, strict=True) if cell.cell_type == "code"]
    for cell, line in code:
        yield from _cell(cell, place, line, rebuild)
    figures = sum(_draws(cell) or "data-widget=" in str(cell.outputs) for cell, _ in code)
    if not FIGURES[0] <= figures <= FIGURES[1]:
        cure = "a chapter that is all text, or all pictures, is hard to read"
        yield Finding(place, 1, f"{figures} figures, the budget is {FIGURES[0]}–{FIGURES[1]}", cure)


def _cell(cell: NotebookNode, place: str, line: int, rebuild: str) -> Iterator[Finding]:
    if not cell.execution_count:
        yield Finding(place, line, "this cell has not run", rebuild)
    if _draws(cell) and not str(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")).strip():
        yield Finding(place, line, "a figure without alt text", "add mystnb: image: alt: … at the cell's top")
    allowed = "raises-exception" in cell.metadata.get("tags", [])
    for output in cell.outputs:
        if output.output_type == "error" and not allowed:
            wrong = f"stored error {output.ename}: {output.evalue}"
            yield Finding(place, line, wrong, "mend the cell, or tag it raises-exception")
        shown = output.get("text", "") or str(
            {k: v for k, v in output.get("data", {}).items() if "image" not in k}
        )
        if unstable := UNSTABLE.search(shown):
            yield Finding(
                place, line, f"the output shows {unstable[0]!r}", "end the cell in something stable"
            )


def _draws(cell: NotebookNode) -> bool:
    return any(kind.startswith("image/") for output in cell.outputs for kind in output.get("data", {}))


def strays(root: Path) -> Iterator[Finding]:
    """Notebooks without a source, and sources that the table of contents forgets."""
    known = slugs(root)
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        if path.stem not in known:
            name = path.relative_to(root).as_posix()
            yield Finding(
                name, 1, f"no source book/{path.stem}.md", "delete the notebook or write its source"
            )
    toc = root / "_toc.yml"
    listed = set(_files(yaml.safe_load(toc.read_text("utf-8")))) if toc.is_file() else set()
    for slug in known:
        if f"notebooks/{slug}" not in listed:
            yield Finding(f"book/{slug}.md", 1, "not in _toc.yml", f"add the line `- file: notebooks/{slug}`")


def _files(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (str(node[key]).removesuffix(".ipynb") for key in ("file", "root") if key in node)
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _files(inner)


def _prose_pages(root: Path, anchors: dialect.Anchors) -> Iterator[Finding]:
    for path in sorted((root / "book").glob("*.md")):
        if not SLUG.fullmatch(path.stem):
            name = path.relative_to(root).as_posix()
            yield from dialect.links(name, parse(path.read_text("utf-8"), path, name).cells, root, anchors)


def page_anchors(root: Path, file: str, find: build.Find) -> set[str] | None:
    """Anchors of a page of ``book/``, exercises' headings included; None when there is no such page."""
    path = root / "book" / file
    if not path.is_file():
        return None
    if not SLUG.fullmatch(path.stem):
        return dialect.anchors_of([path.read_text("utf-8")])
    try:
        cells = build.planned(root, path.stem, find).notebook.cells
    except PressError:
        return dialect.anchors_of([path.read_text("utf-8")])
    return dialect.anchors_of([cell.source for cell in cells if cell.cell_type == "markdown"])
