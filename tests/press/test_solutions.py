"""The pages of solutions: complete, closed until they are asked for, made for every chapter, gone after the build."""

from __future__ import annotations

import json
import re
import shutil

import pytest
import yaml

from mha_teach import exercises
from mha_teach.exercises import Exercise, Mutant, Point
from mha_teach.press import solutions
from mha_teach.press.problems import PressError

SLUGS = sorted(name[2:] for name in exercises._chapters())


def outside_of_details(page: str) -> str:
    """What a reader sees who has opened nothing."""
    depth, seen = 0, []
    for line in page.splitlines():
        depth += line.count("<details>")
        if not depth:
            seen.append(line)
        depth -= line.count("</details>")
    assert depth == 0, "a box is not closed"
    return "\n".join(seen)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_page_holds_solution_why_and_every_wrong_answer(slug):
    page = solutions.solutions_markdown(slug)
    for exercise in exercises.all():
        if not exercise.id.startswith(slug[:2]):
            continue
        assert f"## {exercise.title}" in page
        assert exercise.solution.strip() in page
        assert exercise.why.strip() and exercise.why.strip() in page, f"{exercise.id} has no why"
        for mutant in exercise.mutants:
            assert mutant.words.strip() in page, f"{exercise.id}: {mutant.name}"


@pytest.mark.parametrize("slug", SLUGS)
def test_nothing_shows_before_it_is_asked_for(slug):
    seen = outside_of_details(solutions.solutions_markdown(slug))
    for exercise in exercises.all():
        if exercise.id.startswith(slug[:2]):
            assert exercise.prompt.strip() in seen
            assert exercise.solution.strip() not in seen
            assert all(mutant.words not in seen for mutant in exercise.mutants if mutant.words)


def test_a_solution_in_the_open_is_noticed():
    assert "x = 1" in outside_of_details("x = 1\n<details>\ny = 2\n</details>")
    with pytest.raises(AssertionError, match="not closed"):
        outside_of_details("<details>\n")


def test_the_search_engines_are_asked_to_look_away():
    front = yaml.safe_load(solutions.solutions_markdown(SLUGS[0]).split("---\n")[1])
    assert front == {"nosearch": True, "myst": {"html_meta": {"robots": "noindex"}}}


CODE = Exercise(
    "99-sum",
    "Sum",
    "Add.",
    "def add(x, y):\n    ...\n",
    "def add(x, y):\n    # both\n    return x + y\n",
    (Point("sum", "No."),),
    mutants=(
        Mutant("less", "sum", "It takes off.", edits=(("+", "-"),)),
        Mutant("quite different", "sum", "It is long.", source="\n".join(f"a{n} = {n}" for n in range(20))),
    ),
)


def test_a_wrong_function_shows_the_line_that_differs():
    page = solutions.section(CODE)
    assert "**Less.** It takes off.\n\n```diff\n-     return x + y\n+     return x - y\n```" in page
    assert "**Quite different.** It is long.\n\n</details>" in page, "a long difference is told in words"
    assert "*code · difficulty 1 of 3 · 5 min · 1 mark*" in page


def test_a_wrong_number_is_shown_itself():
    recall = Exercise(
        "99-one",
        "One",
        "?",
        "x = ...\n",
        "x = 1\n",
        (Point("x", "No."),),
        kind="recall",
        mutants=(Mutant("two", "x", "That is two.", source="x = 2\n"),),
    )
    assert "**Two**, `x = 2`: That is two." in solutions.section(recall)


def test_code_with_backticks_does_not_end_its_block():
    assert solutions.fence("a = '```'") == "````python\na = '```'\n````"


def test_a_chapter_without_exercises_is_told():
    with pytest.raises(PressError, match="no exercises for chapter 99_none"):
        solutions.solutions_markdown("99_none")


@pytest.fixture
def root(tmp_path):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "_build").mkdir()
    chapters = [{"file": f"notebooks/{name}", "title": name[:2]} for name in ("00_attention", "01_bare")]
    toc = {"format": "jb-book", "root": "book/index", "parts": [{"chapters": chapters}]}
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(toc))
    write(tmp_path, "00_attention", "# Attention", "# exercise: 00-crowd\nx = ...")
    write(tmp_path, "01_bare", "# Bare", "x = 1")
    return tmp_path


def write(root, slug, *sources):
    cells = [{"cell_type": "code", "source": [source]} for source in sources]
    (root / "notebooks" / f"{slug}.ipynb").write_text(json.dumps({"cells": cells}))


def test_pages_are_there_while_the_site_is_built_and_gone_afterwards(root):
    before = (root / "_toc.yml").read_text()
    with solutions.staged(root) as toc:
        assert [path.name for path in (root / "solutions").iterdir()] == ["00_attention.md"]
        page = (root / "solutions" / "00_attention.md").read_text()
        assert "# Solutions: Attention\n" in page and re.findall("^## (.*)", page, re.MULTILINE) == [
            exercises.get("00-crowd").title
        ]
        *_, part = yaml.safe_load(toc.read_text())["parts"]
        assert part == {
            "caption": "Solutions",
            "chapters": [{"file": "solutions/00_attention", "title": "00"}],
        }
    assert not (root / "solutions").exists() and (root / "_toc.yml").read_text() == before


def test_they_are_gone_after_a_build_that_failed_too(root):
    with pytest.raises(RuntimeError), solutions.staged(root):
        raise RuntimeError
    assert not (root / "solutions").exists()


def test_a_book_without_exercises_has_no_such_part(root):
    shutil.copy(root / "notebooks" / "01_bare.ipynb", root / "notebooks" / "00_attention.ipynb")
    with solutions.staged(root) as toc:
        assert len(yaml.safe_load(toc.read_text())["parts"]) == 1


def test_a_stale_notebook_is_named_with_the_cure(root):
    write(root, "00_attention", "# Attention", "# exercise: 00-gone\nx = ...")
    with (
        pytest.raises(PressError, match=r"notebooks/00_attention.ipynb: .*00-gone.*mha build 00_attention"),
        solutions.staged(root),
    ):
        pass
