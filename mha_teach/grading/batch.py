"""Grade everything below one folder: several at a time, each recorded as soon as it is whole, and resumable."""

from __future__ import annotations

import ctypes
import hmac
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

import torch

from mha_teach import exercises
from mha_teach.grading.collect import Entry, collect
from mha_teach.grading.collect import digest as digest_of
from mha_teach.grading.gradebook import Attempt, Gradebook
from mha_teach.grading.judging import grade, whole
from mha_teach.grading.reading import Note, Notebook, note, parse
from mha_teach.grading.sandbox import Limits, Sandbox, SandboxError
from mha_teach.grading.submission import match
from mha_teach.grading.whose import Member, tags_of

_sandbox: Sandbox | None = None


@dataclass(frozen=True)
class Plan:
    """How a class is graded. ``wrap`` False does without bubblewrap; ``chapters`` are those expected, or all found.

    ``scheduler`` is the address of a Dask scheduler whose workers do the work, ``tcp://HOST:PORT``. ``roster`` tells whose
    numbers a submission should have.
    """

    chapters: tuple[str, ...] = ()
    jobs: int = 1
    wrap: bool | None = None
    limits: Limits = field(default_factory=Limits)
    scheduler: str = ""
    roster: tuple[Member, ...] = ()


def grade_entry(entry: Entry, digest: str, plan: Plan, seed: int, sandbox: Sandbox) -> Attempt:
    """Read and judge one file; whatever it holds, an attempt comes back. ``digest`` is what it had when it was listed; it
    may have gone or changed since."""
    data = entry.data()
    return grade_data(told(entry, digest_of(data)), data, plan, seed, sandbox)


def own_seed(seed: int, digest: str) -> int:
    """The seed of one file's inputs. A message of a student's code may show its inputs; they are no other file's."""
    return int(hmac.new(str(seed).encode(), digest.encode(), "sha256").hexdigest()[:8], 16)


def told(entry: Entry, digest: str) -> dict[str, str]:
    """Whose file it is, and which: what an attempt says about itself."""
    return {"student": entry.student, "file": entry.name, "digest": digest, "canvas": entry.canvas}


def grade_data(told: dict, data: bytes | Note, plan: Plan, seed: int, sandbox: Sandbox | None) -> Attempt:
    """Judge the bytes of one file, or say why there are none; that alone needs no sandbox."""
    notes: list[Note] = []
    try:
        notebook = Notebook(problem=data) if isinstance(data, Note) else parse(data)
        notes = notebook.notes
        if notebook.problem is None:
            tags = tags_of(told["student"], plan.roster, told["canvas"]) if plan.roster else None
            submission = match(notebook, plan.chapters, tags)
            grades, notes = (
                tuple(grade(submission, sandbox, own_seed(seed, told["digest"]))),
                submission.notes,
            )
            return Attempt(**told, status="graded", grades=grades, notes=tuple(notes))
        problem = notebook.problem
    except SandboxError:
        raise
    except Exception as error:  # noqa: BLE001  a fault of ours must not stop the class, and must not be a nought
        problem = note("judge", error=f"{type(error).__name__}: {error}"[:200])
    lost = [e for e in exercises.all() if e.id[:2] in plan.chapters and e.points]
    grades = tuple(whole(exercise, "unreadable", problem.words) for exercise in lost)
    return Attempt(**told, status="unreadable", grades=grades, notes=(problem, *notes))


def waiting(folder: Path, book: Gradebook) -> tuple[list[tuple[Entry, str]], int]:
    """What is not in the gradebook yet, each with its digest; and how many files there are in all."""
    entries, done, found = collect(folder), book.done(), {}
    listed = [(entry, entry.digest()) for entry in entries]
    for entry, digest in listed:
        key = entry.name, digest
        if key not in done:
            found.setdefault(key, (entry, key[1]))
    book.lies((entry.name, digest) for entry, digest in listed)
    return list(found.values()), len(entries)


def grade_all(
    work: list[tuple[Entry, str]], book: Gradebook, plan: Plan, step: Callable[[Attempt], None]
) -> tuple[str, ...]:
    """Grade and record; ``step`` is called after each. Returns the names of the protections that are missing."""
    seed = book.seed()
    if min(plan.jobs, len(work)) <= 1 and not plan.scheduler:
        with Sandbox(plan.limits, plan.wrap) as sandbox:
            for entry, digest in work:
                attempt = grade_entry(entry, digest, plan, seed, sandbox)
                book.record(attempt)
                step(attempt)
            return sandbox.missing
    missing: dict[str, None] = {}
    if plan.scheduler:
        from mha_teach.grading.cluster import spread  # loads Dask, which takes seconds

        found = spread(work, plan, seed)
    else:
        found = _spread(work, plan, seed)
    for attempt, lacking in found:
        book.record(attempt)
        missing |= dict.fromkeys(lacking)
        step(attempt)
    return tuple(missing)


def _spread(work: list, plan: Plan, seed: int) -> Iterator[tuple[Attempt, tuple[str, ...]]]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        min(plan.jobs, len(work)), context, _begin, (plan.limits, plan.wrap, os.getpid())
    ) as pool:
        futures = [pool.submit(_one, entry, digest, plan, seed) for entry, digest in work]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool:
            raise SandboxError(
                "A grading process was ended from outside, perhaps for want of memory. What is graded is kept: run the "
                "same command again, with fewer --jobs."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(limits: Limits, wrap: bool | None, parent: int) -> None:
    """A worker ends when the command ends, also when that is killed."""
    global _sandbox
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ctypes.CDLL(None).prctl(1, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    except (AttributeError, OSError):
        pass
    if os.getppid() != parent:
        os._exit(1)
    torch.set_num_threads(1)
    _sandbox = Sandbox(limits, wrap)


def _one(entry: Entry, digest: str, plan: Plan, seed: int) -> tuple[Attempt, tuple[str, ...]]:
    return grade_entry(entry, digest, plan, seed, _sandbox), _sandbox.missing
