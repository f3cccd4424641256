"""The page for teachers is run as it is written: what it tells to type is typed, what it shows must come out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "book" / "instructors.md"
BLOCK = re.compile(r"^```(bash|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Setting up the machine, other programs, and a class of whom the page only tells.
ELSEWHERE = re.compile(r"make |mkdir \.\.|sqlite3 |dask |nbgrader |otter |mha grade own|.* --scheduler")
PROGRESS = re.compile(r"grad(ing|ed) \d+ |.*\d+%\|.*\d+/\d+ \[|WARNING: ")


def blocks(page: str) -> list[tuple[str, str]]:
    """The lines to type, each block with what is shown after it, or ``None``; a table is a file."""
    found: list[tuple[str, str | None]] = []
    for kind, text in BLOCK.findall(page):
        if kind == "bash":
            found.append((text, None))
        elif text.startswith("id,name\n"):
            found.append((f"cat > roster.csv <<'END'\n{text}END\n", ""))
        else:
            found[-1] = (found[-1][0], text)
    once = dict(reversed(found))  # what stands there twice is typed once
    return [(lines, once.pop(lines)) for lines, _ in found if lines in once and not ELSEWHERE.match(lines)]


def typed(lines: str, folder: Path) -> str:
    """What a terminal shows, without progress and warnings; the folder is called as on the page."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", lines],
        cwd=folder,
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    told = done.stdout.replace(str(folder), "/home/me/my-class").replace("\r", "\n")
    kept = [line for line in told.splitlines() if line.strip() and not PROGRESS.match(line)]
    return "".join(f"{line}\n" for line in kept)


def test_what_the_page_tells_to_type_does_what_it_shows(tmp_path):
    page = PAGE.read_text(encoding="utf-8")
    ours = blocks(page)
    assert len(ours) >= 7
    for lines, shown in ours:
        told = typed(lines, tmp_path)
        assert shown is None or told == shown, lines
    table = (tmp_path / "handed-in-grades" / "grades.csv").read_text(encoding="utf-8").splitlines()
    marks = [line.split(",")[2] for line in table[1:]]
    assert f"{marks[0]} for the first, {marks[1]} for the second" in page
    assert marks[2] == ""
    [mine] = (tmp_path / "handed-in-grades" / "feedback").glob("s1002-*.html")
    assert mine.name in page


def test_other_words_than_those_that_come_are_noticed(tmp_path):
    page = "```bash\necho one\n```\n\n```text\ntwo\n```\n\n```bash\nmake site\n```\n"
    [(lines, shown)] = blocks(page)
    assert typed(lines, tmp_path) == "one\n" != shown
