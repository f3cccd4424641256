"""Attacks of other kinds: on the process, the machine, the next submission, the judge, and the teacher who reads."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from submitting import RIGHT, graded, notebook

from mha_teach.grading.sandbox import bubblewrap

SOLUTION = RIGHT["00-mend"]
ELSE = "def soft_look_up(q, k, v):\n    "

# What else than the wall holds: these run without bubblewrap as well; all of them do where there is none.
WITHOUT = (
    "opens a socket",
    "runs a program",
    "fork bomb",
    "kills everything",
    "raises its own limits",
    "traces itself",
)
WITHOUT += ("new namespaces", "a file of 1 GiB", "forges the protocol", "removes its folder", "odd builtins")


def both(names) -> list[tuple[str, str]]:
    """Every name behind bubblewrap, and some of them, or all, without it."""
    few = [name for name in names if name in WITHOUT or not bubblewrap()]
    return [("wrapped", name) for name in names] + [("limited", name) for name in few]


# Each fails, and costs the attacker this exercise at most: (code, what the feedback says somewhere)
REFUSED = {
    "opens a socket": (ELSE + "import socket\n    return socket.create_connection(('127.0.0.1', 80), 1)\n", ""),
    "fetches a page": (ELSE + "import urllib.request\n    return urllib.request.urlopen('http://example.org')\n", ""),
    "runs a program": (ELSE + "import subprocess\n    return subprocess.check_output(['id'])\n", "not permitted"),
    "os.system": (ELSE + "import os\n    return os.system('id')\n", ""),
    "forks": (ELSE + "import os\n    return os.fork()\n", "not permitted"),
    "fork bomb": (ELSE + "import os\n    while True: os.fork()\n", "not permitted"),
    "kills everything": (ELSE + "import os\n    os.kill(-1, 9)\n", "not permitted"),
    "kills the warm process": (ELSE + "import os\n    os.kill(os.getppid(), 9)\n", "not permitted"),
    "raises its own limits": (
        ELSE + "import resource as r\n    r.setrlimit(r.RLIMIT_AS, (2**40, 2**40))\n    return torch.ones(2**33)\n",
        "",
    ),
    "traces itself": (
        ELSE + "import ctypes\n    c = ctypes.CDLL(None, use_errno=True)\n"
        "    assert c.ptrace(0, 0, 0, 0) == 0, ctypes.get_errno()\n",
        "AssertionError",
    ),
    "new namespaces": (
        ELSE + "import ctypes\n    c = ctypes.CDLL(None, use_errno=True)\n    assert c.unshare(0x10000000) == 0\n",
        "AssertionError",
    ),
    "many threads": (
        ELSE + "import threading, time\n    for _ in range(10**6):\n        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
        "",
    ),
    "a file of 1 GiB": (
        ELSE + "import tempfile\n    with tempfile.TemporaryFile() as f:\n        for _ in range(1024): f.write(b'x' * 2**20)\n",
        "",
    ),
    "a signal handler and an alarm": (
        "import signal\nsignal.signal(signal.SIGALRM, lambda *a: 1 / 0)\nsignal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\n"
        + ELSE + "while True: pass\n",
        "",
    ),
    "a huge result": (ELSE + "return torch.zeros(3 * 10**7, dtype=torch.float64)\n", ""),
    "a result without end": (ELSE + "a = []\n    a.append(a)\n    return a\n", ""),
    "a million parts": (ELSE + "return [[0.0]] * 10**6\n", ""),
    "raises in __del__": (
        "import time\nclass D:\n    def __del__(self): time.sleep(0.2); raise ValueError\n" + ELSE + "return D()\n",
        "",
    ),
    "an error that lies": (
        "class E(BaseException):\n    def __str__(self): raise RuntimeError\n    __class__ = KeyboardInterrupt\n" + ELSE + "raise E\n",
        "E",
    ),
    "a KeyboardInterrupt": (ELSE + "raise KeyboardInterrupt\n", "KeyboardInterrupt"),
    "forges the protocol": (
        "import os, gc, socket\n" + ELSE + "for s in gc.get_objects():\n        if isinstance(s, socket.socket): s.sendall(b'\\xff' * 64)\n    return 1\n",
        "",
    ),
    "writes on every descriptor": (
        "import os\nfor d in range(3, 64):\n    try: os.write(d, b'{}' * 40)\n    except OSError: pass\n" + SOLUTION,
        "",
    ),
    "wrong on the judge's inputs alone": (
        "import torch\nseen = torch.Generator().manual_seed(0)\n" + ELSE + "return torch.randn(len(q), v.shape[1], generator=seen)\n",
        "",
    ),
    "null bytes": ("x = '\0'\n" + ELSE + "return q\n", ""),
    "deep brackets": ("x = " + "(" * 5000 + ")" * 5000 + "\n" + ELSE + "return q\n", ""),
    "a cell that is no Python": ("this is not\n  python(\n", "SyntaxError"),
}  # fmt: skip


@pytest.mark.parametrize(("sandbox", "name"), both(REFUSED), indirect=["sandbox"])
def test_an_attack_fails_alone(with_answer, name):
    source, word = REFUSED[name]
    start = time.monotonic()
    found = with_answer(source)
    mine = found["00-mend"]
    assert mine.status in ("wrong", "error", "timeout") and mine.score < 1, mine
    told = " ".join([*(point.message for point in mine.points), *(note.words for note in mine.notes)])
    assert word in told, told
    assert len(told) < 10_000
    assert found["00-by-hand"].status == found["00-probe"].status == "right"
    assert time.monotonic() - start < 15


HARMLESS = {
    "a trace function": "import sys\nsys.settrace(lambda *a: None)\nsys.setprofile(lambda *a: None)\n",
    "an audit hook": "import sys\nsys.addaudithook(lambda *a: None)\n",
    "an audit hook that refuses": (
        "import sys\ndef hook(event, args):\n    if event.startswith(('socket', 'open')): raise RuntimeError\n"
        "sys.addaudithook(hook)\n"
    ),
    "atexit": "import atexit, time\natexit.register(time.sleep, 60)\n",
    "closes the outputs": "import sys, os\nsys.stdout.close()\nos.close(2)\nsys.stdout = None\n",
    "other settings": "torch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)\ntorch.manual_seed(5)\n",
    "no garbage collection": "import gc\ngc.set_threshold(1)\ngc.disable()\n",
    "odd builtins": "import builtins\nbuiltins.isinstance = builtins.len = builtins.type = builtins.print = None\n",
    "a slow thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n",
    "removes its folder": "import os, shutil\nshutil.rmtree(os.getcwd(), ignore_errors=True)\n",
}


@pytest.mark.parametrize(("sandbox", "name"), both(HARMLESS), indirect=["sandbox"])
def test_what_hurts_nobody_costs_nothing(with_answer, name):
    found = with_answer(HARMLESS[name] + SOLUTION)
    assert found["00-mend"].score == 1.0, found["00-mend"]
    assert found["00-by-hand"].status == found["00-probe"].status == "right"


def _says(source: str) -> str:
    """An answer whose error message carries what it found out."""
    return f"import os\ndef soft_look_up(q, k, v):\n    {source}\n    raise ValueError(repr(found))\n"


def _told(sandbox, source: str) -> str:
    return graded(sandbox, notebook({"00-mend": _says(source)}))["00-mend"].points[0].message


def test_behind_the_wall_there_is_nothing_to_see(wrapped, tmp_path, monkeypatch):
    monkeypatch.setenv("GRADING_TOKEN", "secret-of-the-teacher")
    secret = tmp_path / "gradebook.db"
    secret.write_text("secret")
    home = str(next(filter(Path.is_file, Path.home().iterdir()), Path.home() / "nothing"))
    found = _told(
        wrapped,
        f"found = [os.path.exists(p) for p in ({str(secret)!r}, {home!r}, '/home', '/etc/passwd', '/proc/1')]",
    )
    assert "[False, False, False, False, False]" in found
    assert "secret-of-the-teacher" not in _told(wrapped, "found = dict(os.environ)")
    solutions = "import mha_teach; d = mha_teach.__path__[0]; found = os.listdir(d + '/exercises'), os.listdir(d + '/grading')"
    assert "([], ['child'])" in _told(wrapped, solutions)


@pytest.mark.parametrize(
    "place", ["/usr/x", "/x", "/dev/x", "/dev/shm/x", "os.path.dirname(torch.__file__) + '/x'", "/proc/x"]
)
def test_nothing_outside_the_scratch_folder_can_be_written(wrapped, place):
    place = place if place.startswith("os") else repr(place)
    assert "Error" in _told(wrapped, f"found = open({place}, 'w')").split("(line")[0]


def test_one_submission_leaves_nothing_for_the_next(sandbox):
    leave = (
        "import builtins, torch\nbuiltins.left = torch.left = 1\nopen('left', 'w').write('x')\n" + SOLUTION
    )
    assert graded(sandbox, notebook({"00-mend": leave}))["00-mend"].status == "right"
    found = _told(
        sandbox,
        "import builtins; found = hasattr(torch, 'left'), hasattr(builtins, 'left'), os.path.exists('left')",
    )
    assert "(False, False, False)" in found


def test_the_inputs_are_not_those_of_the_notebook(wrapped):
    hard_coded = "def soft_look_up(q, k, v):\n    raise ValueError(repr(q.tolist()))\n"
    first, second = (graded(wrapped, notebook({"00-mend": hard_coded}), seed)["00-mend"] for seed in (3, 5))
    at = [p.point for p in first.points].index("ordinary numbers")
    assert first.points[at].message != second.points[at].message


def test_expected_numbers_and_inputs_stay_out_of_the_messages(wrapped):
    mine = graded(
        wrapped, notebook({"00-mend": "def soft_look_up(q, k, v):\n    return v[:1].repeat(len(q), 1)\n"})
    )["00-mend"]
    assert mine.status == "wrong"
    assert not any(
        "expected:" in point.message or "tensor of shape" in point.message for point in mine.points
    )
