"""Pages of solutions: what is right, why, and why the tempting wrong answers are wrong. Nothing shows before it is asked for.

A page a chapter, made from the exercises while the site is built and taken away again: the exercises are the one place
where a solution is written. The pages stand in the table of contents, but not in the site's search.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from mha_teach.exercises import Exercise, Mutant, get
from mha_teach.exercises import all as every_exercise
from mha_teach.press.notebook import facts
from mha_teach.press.problems import PressError

FOLDER = "solutions"  # beside notebooks/, while the site is built
CAPTION = "Solutions"
BLANK = "\n\n"
LONG = 14  # lines of a difference; a wrong answer that differs in more is told in words
ID = re.compile(r"\A# exercise: (\S+)$", re.MULTILINE)
TITLE = re.compile(r"\A# (.+)$", re.MULTILINE)
# Neither the site's own search nor the web's should give a solution to who looks for something else.
FRONT = "---\nnosearch: true\nmyst:\n  html_meta:\n    robots: noindex\n---\n"

_INTRO = """\
These are the answers to the exercises of [chapter {number}]({chapter}). Each opens on its own. A hint from the check is
often enough: look here when you are done, or when you are stuck.

In a comparison, the line with `-` stands in the solution, and the line with `+` in the wrong answer. Other right answers
are right too: the check compares what comes out, not how it is written.
"""


def solutions_markdown(slug: str, title: str = "", chosen: Sequence[Exercise] = ()) -> str:
    """The page of solutions to the chapter ``slug`` (``"03_reshaping"``), as markdown for the site.

    ``chosen`` are the exercises in their order; none means all of that chapter. Raises PressError where it has none.
    """
    number = slug[:2]
    chosen = list(chosen) or [exercise for exercise in every_exercise() if exercise.id[:2] == number]
    if not chosen:
        raise PressError(f"there are no exercises for chapter {slug}: write some, or leave its solutions out")
    intro = _INTRO.format(number=number, chapter=f"../notebooks/{slug}.ipynb#exercises")
    heading = f"# Solutions: {title or f'chapter {number}'}"
    return BLANK.join([FRONT + heading, intro.rstrip(), *map(section, chosen)]) + "\n"


def section(exercise: Exercise) -> str:
    """One exercise: its question in the open, the rest in a box that opens on demand."""
    open_question = not exercise.points
    word = "Show what one reader found" if open_question else "Show the solution"
    parts = [fence(exercise.solution)]
    if exercise.why.strip():
        parts.append(f"**Why.** {exercise.why.strip()}")
    if exercise.mutants:
        wrong = BLANK.join(told(exercise, mutant) for mutant in exercise.mutants)
        parts.append(details(f"Tempting, and wrong ({len(exercise.mutants)})", wrong))
    head = f"## {exercise.title}\n\n*{facts(exercise)}*\n\n{exercise.prompt.strip()}"
    return BLANK.join([head, details(f"{word}: {exercise.title}", BLANK.join(parts))])


def told(exercise: Exercise, mutant: Mutant) -> str:
    """A wrong answer: its name, what is wrong with it, and the lines in which it differs."""
    name, words = f"{mutant.name[:1].upper()}{mutant.name[1:]}", mutant.words.strip()
    lines = difference(exercise.solution, exercise.source_of(mutant))
    if exercise.kind in ("recall", "derive"):  # the answer says it all
        given = ", ".join(f"`{line[2:]}`" for line in lines.splitlines() if line.startswith("+"))
        return f"**{name}**, {given}: {words}" if given else f"**{name}.** {words}"
    return f"**{name}.** {words}\n\n{fence(lines, 'diff')}" if lines else f"**{name}.** {words}"


def difference(right: str, wrong: str) -> str:
    """The lines in which two texts differ, ``-`` for the right and ``+`` for the wrong; empty where they are many."""
    both = difflib.ndiff(right.strip("\n").splitlines(), wrong.strip("\n").splitlines())
    lines = [line for line in both if line[0] in "+-" and line[2:].strip()]
    return "\n".join(lines) if len(lines) <= LONG else ""


def fence(code: str, language: str = "python") -> str:
    """A block of code that no line of it can end."""
    marks = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", code)), 3)
    return f"{marks}{language}\n{code.strip(chr(10))}\n{marks}"


def details(summary: str, body: str) -> str:
    """A box that opens on demand."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


@contextlib.contextmanager
def staged(root: Path) -> Iterator[Path]:
    """The pages stand in ``solutions/`` meanwhile; gives the table of contents that names them too."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    listed = [chapter for part in toc.get("parts", []) for chapter in part["chapters"]]
    folder, pages = root / FOLDER, []
    shutil.rmtree(folder, ignore_errors=True)
    try:
        for chapter in listed:
            slug = chapter["file"].rpartition("/")[2]
            if chapter["file"].startswith("notebooks/") and (found := _asked(root, slug)):
                folder.mkdir(exist_ok=True)
                title, chosen = found
                text = solutions_markdown(slug, title, chosen)
                (folder / f"{slug}.md").write_text(text, encoding="utf-8")
                pages.append({"file": f"{FOLDER}/{slug}", "title": chapter.get("title", title)})
        if pages:
            toc["parts"].append({"caption": CAPTION, "chapters": pages})
        path = root / "_build" / "toc.yml"
        path.write_text(yaml.safe_dump(toc, sort_keys=False, allow_unicode=True), encoding="utf-8")
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _asked(root: Path, slug: str) -> tuple[str, list[Exercise]] | None:
    """Title and exercises of a chapter's notebook, in its order; None where it asks nothing."""
    cells = json.loads((root / "notebooks" / f"{slug}.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    ids = [found[1] for source in sources if (found := ID.match(source))]
    if not ids:
        return None
    title = TITLE.match(sources[0])
    try:
        return (title[1] if title else slug), [get(id) for id in ids]
    except KeyError as error:
        raise PressError(f"notebooks/{slug}.ipynb: {error.args[0]} `mha build {slug}` renews it") from None
