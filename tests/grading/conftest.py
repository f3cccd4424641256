"""One sandbox for a whole session, behind bubblewrap and without."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from submitting import LIMITS, RIGHT, graded, notebook, why_not_wrapped

from mha_teach.grading.judging import ExerciseGrade
from mha_teach.grading.sandbox import Sandbox, bubblewrap

os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def limited():
    """A sandbox without bubblewrap: the limits and the filter alone."""
    torch.set_num_threads(1)
    with Sandbox(LIMITS, wrap=False) as made:
        yield made


@pytest.fixture(scope="session")
def wrapped():
    """A sandbox behind bubblewrap."""
    if reason := why_not_wrapped():
        pytest.skip(reason)
    torch.set_num_threads(1)
    with Sandbox(LIMITS, wrap=True) as made:
        yield made


@pytest.fixture(params=["wrapped", "limited"])
def sandbox(request) -> Sandbox:
    """Both, one after the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["as root", "as an ordinary user"])
def user(request) -> Callable[[], None]:
    """Who grades: call it in a forked process, which is that user from then on. Root becomes nobody; who is not root stays."""
    root = os.geteuid() == 0
    if request.param == "as root" and not root:
        pytest.skip("these tests do not run as root")
    return become_nobody if root and request.param != "as root" else lambda: None


def become_nobody() -> None:
    """From root to the user without rights, for good; the environment stays readable, also where it lies in root's home."""
    uncover({Path(path).resolve() for path in (sys.base_prefix, sys.prefix, Path(__file__).parents[2])})
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    bubblewrap.cache_clear()  # what root may is not what an ordinary user may


def uncover(needed: set[Path]) -> None:
    """Folders inside one that others may not enter become visible to this process, by mounts that only it sees."""
    hidden: dict[Path, list[Path]] = {}
    for path in needed:
        shut = [up for up in reversed(path.parents) if not up.stat().st_mode & 0o001]
        if shut:
            hidden.setdefault(shut[0], []).append(path)
    if not hidden:
        return
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source: object, target: object, kind: str | None, flags: int, data: str | None = None) -> None:
        texts = [None if text is None else str(text).encode() for text in (source, target, kind, data)]
        if libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]):
            raise OSError(ctypes.get_errno(), f"mount {target}")

    try:
        if libc.unshare(0x00020000):  # CLONE_NEWNS
            return
        mount("none", "/", None, 0x4000 | 0x40000)  # MS_REC | MS_PRIVATE
        aside = Path("/mnt")
        mount("none", aside, "tmpfs", 0)
        for cover, paths in hidden.items():
            for number, path in enumerate(paths):
                (aside / str(number)).mkdir(exist_ok=True)
                mount(path, aside / str(number), None, 0x1000)  # MS_BIND
            mount("none", cover, "tmpfs", 0, "mode=755")
            for number, path in enumerate(paths):
                path.mkdir(parents=True, exist_ok=True)
                mount(aside / str(number), path, None, 0x1000)
    except OSError:
        return  # then the environment can't be read, and the test says so


@pytest.fixture
def with_answer(sandbox) -> Callable[..., dict[str, ExerciseGrade]]:
    """Grade a notebook of chapter 00 that is right but for one answer."""

    def run(source: str, id: str = "00-mend") -> dict[str, ExerciseGrade]:
        return graded(sandbox, notebook({**RIGHT, id: source}))

    return run
