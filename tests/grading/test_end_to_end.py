"""One folder with everything that can go wrong, one run of ``mha grade``: as root and not, behind bubblewrap and not."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from submitting import RIGHT, notebook, why_not_wrapped
from test_attacks import HARMLESS, REFUSED
from test_gradebook import left_over
from test_hostile_table import CHEATS, ENDINGS

from mha_teach.cli import main
from mha_teach.grading.reading import LARGEST
from mha_teach.grading.sandbox import LOST

TWO = {id: RIGHT[id] for id in ("00-by-hand", "00-mend")}
GOOD = notebook(TWO)
UNREADABLE = 77
ALL = bool(os.environ.get("MHA_ALL_ATTACKS"))  # every attack of the other files too: minutes

# One attack of each kind; name -> (its code, what may come of it)
BAD, FINE = {"wrong", "error", "timeout"}, {"right"}
FEW = [
    "opens a socket",
    "runs a program",
    "fork bomb",
    "kills everything",
    "new namespaces",
    "a result without end",
]
ATTACKS = {name: (REFUSED[name][0], BAD) for name in (REFUSED if ALL else FEW)}
ATTACKS |= {
    name: (source + TWO["00-mend"], FINE)
    for name, source in HARMLESS.items()
    if ALL or name in ("an audit hook that refuses", "other settings", "removes its folder")
}
ATTACKS |= {
    name: (source, BAD)
    for name, source in CHEATS.items()
    if not name.startswith("walks") and (ALL or name == "a tensor that equals everything")
}
ATTACKS |= {
    name: (ENDINGS[name][0], BAD)
    for name in (ENDINGS if ALL else ("os._exit", "segmentation fault", "8 GiB"))
}
OTHER = {
    "a link out of its folder": (
        "import os\ndef soft_look_up(q, k, v):\n    os.symlink({canary!r}, 'link')\n    open('link', 'a').write('!')\n    return q\n",
        BAD,
    ),
    "looks at other processes": (
        (
            "import os\ndef soft_look_up(q, k, v):\n"
            "    found = [open(f'/proc/{{p}}/environ').read() for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()]\n"
            "    raise ValueError(found)\n"
        ),
        BAD,
    ),
    "fills its folder": (
        "import os\ndef soft_look_up(q, k, v):\n    for n in range(12):\n        open(str(n), 'wb').write(bytes(2**23))\n    return q\n",
        BAD,
    ),
    "sleeps when it is thrown away": (
        (
            "import time\nclass D:\n    def __del__(self): time.sleep(90)\n"
            "def soft_look_up(q, k, v):\n    d = D()\n    del d\n    return q\n"
        ),
        BAD,
    ),
}


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def old_format() -> bytes:
    cells = [{"cell_type": "code", "input": f"# exercise: {id}\n{source}"} for id, source in TWO.items()]
    return json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}).encode()


# Name of the file -> (its bytes, the student's status, words that the overview must say)
INPUTS = {
    "ordinary.ipynb": (lambda: GOOD, "graded", ""),
    "another.ipynb": (
        lambda: notebook({"01-count": "heads = 3\n"}),
        "graded",
        "none of the exercises of chapter 00, but some of chapter 01",
    ),
    "bom.ipynb": (lambda: b"\xef\xbb\xbf" + GOOD, "graded", "begins with a byte order mark"),
    "windows.ipynb": (lambda: GOOD.replace(b"\\n", b"\\r\\n"), "graded", "the line ends of Windows"),
    "kernel.ipynb": (
        lambda: notebook(TWO, metadata={"kernelspec": {"name": "ir", "language": "R"}}),
        "graded",
        "written for R. It was read as Python",
    ),
    "old.ipynb": (old_format, "graded", "notebook format 3"),
    "merge.ipynb": (lambda: b"<<<<<<< a\n" + GOOD + b"\n=======\n{}\n>>>>>>> b\n", "unreadable", "unresolved merge"),
    "merged cells.ipynb": (
        lambda: notebook([*(f"# exercise: {i}\n{s}" for i, s in TWO.items()), "<<<<<<< a\n=======\n>>>>>>> b"]),
        "graded",
        "Some cells hold the marks of an unresolved merge",
    ),
    "double.ipynb": (
        lambda: notebook([f"# exercise: {i}\n{s}" for i, s in [*TWO.items(), ("00-mend", "x = 1\n" + TWO["00-mend"])]]),
        "graded",
        "2 cells begin with the line # exercise: 00-mend",
    ),
    "look-alike.ipynb": (lambda: notebook({"00‑mеnd": TWO["00-mend"]}), "graded", "it was read as 00-mend"),
    "cut.ipynb": (lambda: GOOD[:90], "unreadable", "It is no notebook"),
    "empty.ipynb": (lambda: b"", "unreadable", "The file is empty"),
    "large.ipynb": (lambda: GOOD[:-1] + b', "more": "' + b"x" * 50_000_000 + b'"}', "graded", "It has 47 MB"),
    "bomb.zip": (lambda: zipped(**{"0.ipynb": bytes(2 * LARGEST + 1)}), "unreadable", "unpacks to more than"),
    "path.zip": (lambda: zipped(**{"../../x.ipynb": GOOD, "/y.ipynb": GOOD, "z.ipynb": GOOD}), "graded", "../../x.ipynb"),
    "paper.pdf": (lambda: b"%PDF", "unreadable", "does not end in .ipynb or .zip"),
    "two/first.ipynb": (lambda: notebook({"00-mend": "def soft_look_up(q, k, v):\n    return q\n"}), "graded", ""),
    "two/second.ipynb": (lambda: GOOD, "graded", "2 files of this student hold this exercise"),
    "<b>&.ipynb": (lambda: GOOD, "graded", ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that every user may enter, with the class in it."""
    folder = Path(tempfile.mkdtemp(prefix="mha-end-"))
    folder.chmod(0o755)
    (folder / "class" / "two").mkdir(parents=True)
    (folder / "canary").write_text("gradebook")
    for name, (make, _, _) in INPUTS.items():
        (folder / "class" / name).write_bytes(make())
    (folder / "class" / "locked.ipynb").write_bytes(GOOD)
    (folder / "class" / "locked.ipynb").chmod(0)
    (folder / "class" / "link.ipynb").symlink_to("/etc/passwd")
    canary = str(folder / "canary")
    every = ATTACKS | {name: (source.format(canary=canary), may) for name, (source, may) in OTHER.items()}
    for name, (source, _) in every.items():
        data = notebook({"00-by-hand": TWO["00-by-hand"], "00-mend": source})
        (folder / "class" / f"attack {name}.ipynb").write_bytes(data)
    yield folder
    shutil.rmtree(folder)


def graded(place: Path, user, wrap: bool) -> tuple[Path, str]:
    """Run the command in a process of that user; where its results are, and what it said."""
    out = Path(tempfile.mkdtemp(prefix="out-", dir=place))
    out.chmod(0o777)
    options = ["--chapters", "00", "--jobs", "1", "--seconds", "2", *([] if wrap else ["--no-bubblewrap"])]
    said = out / "said"
    if (child := os.fork()) == 0:
        code = 1
        try:
            user()
            if not os.access(sys.executable, os.X_OK) or not os.access(__file__, os.R_OK):
                os._exit(UNREADABLE)
            with said.open("w", buffering=1) as file:
                os.dup2(file.fileno(), 2)
                sys.stderr, sys.stdout = file, open(os.devnull, "w")  # noqa: SIM115
                code = main(["grade", str(place / "class"), "--out", str(out / "grades"), *options])
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == UNREADABLE:
        pytest.skip("an ordinary user may not read this environment")
    text = said.read_text()
    assert code == 0, text
    return out / "grades", text


@pytest.mark.parametrize("wrap", [True, False], ids=["behind bubblewrap", "without bubblewrap"])
def test_everything_is_named_and_nothing_stops_the_rest(place, user, wrap, request):
    if wrap and (reason := why_not_wrapped()):
        pytest.skip(reason)
    (place / "canary").chmod(0o666)
    (place / "canary").write_text("gradebook")
    out, said = graded(place, user, wrap)
    root = os.geteuid() == 0 and "as root" in request.node.name
    rows = {row["student"]: row for row in csv.DictReader((out / "grades.csv").open(newline=""))}
    page = (out / "overview.html").read_text()
    for name, (_, status, words) in INPUTS.items():
        student = name.split("/")[0].rsplit(".", 1)[0]
        status = "nothing of this assignment" if student == "another" else status
        assert rows[student]["status"] in (status, "graded" if student == "another" else status), name
        assert words.replace("&", "&amp;") in page, name
    good = [n.split("/")[0].rsplit(".", 1)[0] for n, (_, status, _) in INPUTS.items() if status == "graded"]
    for student in set(good) - {"another", "look-alike"}:
        assert rows[student]["00-mend status"] == rows[student]["00-by-hand status"] == "right", student
    assert rows["look-alike"]["00-mend status"] == "right"
    assert rows["locked"]["status"] == ("graded" if root else "unreadable")
    assert root or "It can&#x27;t be opened: Permission denied" in page
    assert rows["link"]["status"] == "unreadable" and "links are not followed" in page
    for name, (_, may) in (ATTACKS | OTHER).items():
        mine = rows[f"attack {name}"]
        if not wrap and name in OTHER:  # what the warning says is possible, or what only the wall ends
            may = may | {"wrong", "right", "error"}
        assert mine["00-mend status"] in may, (name, mine)
        assert mine["00-by-hand status"] == "right", (name, mine)
    canary = (place / "canary").read_text()
    assert canary == "gradebook" if wrap else (LOST["bubblewrap"] in said and "WARNING" in said)
    assert "<b>&." not in page and "&lt;b&gt;&amp;" in page
    assert not left_over()
