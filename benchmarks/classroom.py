"""How fast is a class graded, how often is the right mistake named, and how do nbgrader and otter fare beside it?

    python benchmarks/classroom.py                       a short run of both: half a minute
    python benchmarks/classroom.py class [--count 300] [--seeds 4] [--jobs 2] [--save]
    python benchmarks/classroom.py tools [--nbgrader PYTHON] [--otter PYTHON] [--jobs 2] [--save]

``class``: the students of a made-up class hand in right answers, variants, stubs and mutants of all assignments; the
command ``mha grade`` judges them. Then every mutant is judged once more under each of ``--seeds`` other seeds.
A mutant counts as named if the diagnosis is its name.

``tools``: the same notebooks of one assignment go to ``mha grade``, to nbgrader and to otter, in turn, on the same cores,
with as many jobs each. ``PYTHON`` is the interpreter of an environment that has the tool and this package
(``tests/release/real`` lists what is in it). Every total must be the same in all three.

``--save`` writes ``mha_teach/data/measured/classroom.json``, which the instructors' page shows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch
from _classes import Handed, every_mutant, mixed, write
from _contenders import MHA, Nbgrader, Otter, Ours, environment, seeded
from _watch import Used, watch
from measure_collapse import hardware

from mha_teach.grading.gradebook import Gradebook
from mha_teach.grading.sandbox import bubblewrap

FILE = Path(__file__).parents[1] / "mha_teach" / "data" / "measured" / "classroom.json"
SEEDS = (730_241_889, 20_012, 1_999_999_943, 424_242, 1_073_741_789, 88_172_645, 7, 60_000_011)
OURS = Path(sys.executable)


def judged(handed: list[Handed], work: Path, seed: int, jobs: int) -> tuple[Used, dict, list[str]]:
    """Grade with ``mha grade`` under this seed. What it used, student → exercise → (status, diagnosis), and what is odd."""
    write(handed, work / "in")
    seeded(work / "out", seed)
    used = watch(
        [[*MHA, str(work / "in"), "--out", str(work / "out"), "--jobs", str(jobs)]], work, environment(OURS)
    )
    with Gradebook(work / "out" / "gradebook.db") as book:
        attempts = book.attempts()
    found = {a.student: {g.exercise: (g.status, g.diagnosis) for g in a.grades} for a in attempts}
    wanted = {"(solution)": "right", "(variant)": "right", "(stub)": "not attempted"}
    odd = [
        f"{one.student} {id}: {name} was judged {found[one.student][id][0]}"
        for one in handed
        for id, name in one.truth().items()
        if found[one.student][id][0] != wanted.get(name, found[one.student][id][0])
        or (name not in wanted and found[one.student][id][0] == "right")
    ]
    return used, found, odd


def confusions(handed: list[Handed], found: dict) -> tuple[int, Counter]:
    """How many answers are mutants, and (exercise, mutant, what it was taken for) → how often."""
    pairs = [
        (id, name, found[one.student][id][1])
        for one in handed
        for id, name in one.truth().items()
        if not name.startswith("(")
    ]
    return len(pairs), Counter(pair for pair in pairs if pair[1] != pair[2])


def race_class(count: int, seeds: int, jobs: int, work: Path) -> dict:
    """The class under the first seed, timed; then every mutant under the others."""
    handed = mixed(count, seed=1)
    used, found, odd = judged(handed, work / "class", SEEDS[0], jobs)
    answers = sum(len(one.answers) for one in handed)
    number, wrong = confusions(handed, found)
    print(
        f"class of {count}, {answers} marked answers, {number} of them mutants, {jobs} jobs: {used.seconds:.1f} s, "
        f"{used.seconds / count:.3f} s a submission ({used.cpu / count:.3f} s of CPU)"
    )
    peaks = {name: round(value) for name, value in used.peaks.items()}
    print("peak MiB:", ", ".join(f"{name} {value}" for name, value in peaks.items()), flush=True)
    shares = [1 - wrong.total() / number]
    for seed in SEEDS[1 : seeds + 1]:
        again = every_mutant()
        _, found, more = judged(again, work / str(seed), seed, jobs)
        one, missed = confusions(again, found)
        shares.append(1 - missed.total() / one)
        number, wrong, odd = number + one, wrong + missed, odd + more
    print(
        f"named rightly: {1 - wrong.total() / number:.2%} of {number} mutants over {len(shares)} seeds, "
        f"the least under one seed {min(shares):.2%}"
    )
    rows = [
        {"exercise": e, "mutant": m, "named": n or None, "times": t} for (e, m, n), t in wrong.most_common()
    ]
    for row in rows:
        print("  {times} x {exercise}: {mutant!r} taken for {named!r}".format(**row))
    print(f"judged otherwise than they are: {len(odd)} answers", *odd[:20], sep="\n  ", flush=True)
    return {
        "class": {
            "students": count,
            "answers": answers,
            "jobs": jobs,
            "seconds": round(used.seconds, 1),
            "seconds_each": round(used.seconds / count, 3),
            "cpu_each": round(used.cpu / count, 3),
            "peak_mib": peaks,
        },
        "diagnosis": {
            "mutants": number,
            "kinds": len(
                {(e.id, m.name) for h in every_mutant() for e in h.assignment.exercises for m in e.mutants}
            ),
            "seeds": len(shares),
            "named": round(1 - wrong.total() / number, 4),
            "least": round(min(shares), 4),
            "confusions": rows,
            "misjudged": odd,
        },
    }


def race_tools(pythons: dict[str, Path | None], count: int, chapter: str, jobs: int, work: Path) -> dict:
    """Ours before, between and after the others, so that a machine that grows busier hurts all alike."""
    handed = mixed(count, seed=2, chapters=(chapter,), wrong=0.3)
    ours = Ours(handed, work, jobs)
    others = [
        kind(handed, work, jobs, pythons[kind.name]) for kind in (Nbgrader, Otter) if pythons[kind.name]
    ]
    turns = [*(part for other in others for part in (ours, other)), ours]
    runs: dict[str, list[Used]] = {}
    marks: dict[str, dict] = {}
    for one in turns:
        used = watch(one.commands(), one.work, environment(one.python))
        runs.setdefault(one.name, []).append(used)
        marks[one.name] = one.marks()
        print(f"  {one.name}: {used.seconds:.1f} s", flush=True)
    points = sum(len(e.points) for e in handed[0].assignment.exercises)
    marked = len(handed[0].answers)
    print(
        f"{count} submissions of {handed[0].assignment.slug}: {marked} exercises, {points} points, {jobs} jobs"
    )
    rows, own = {}, statistics.median(used.seconds for used in runs[ours.name])
    for name in (ours.name, Nbgrader.name, Otter.name):
        if name not in runs:
            print(f"{name:10} not installed")
            rows[name] = None
            continue
        each = [round(used.seconds / count, 3) for used in runs[name]]
        cpu = statistics.median(used.cpu / count for used in runs[name])
        rows[name] = {
            "seconds_each": statistics.median(each),
            "runs": each,
            "cpu_each": round(cpu, 3),
            "ratio": round(statistics.median(each) * count / own, 1),
            "differ": _differing(marks[ours.name], marks[name]),
            "version": _version(one.python, name)
            if (one := next(t for t in turns if t.name == name))
            else "",
        }
        print(
            f"{name:10} {rows[name]['seconds_each']:.3f} s a submission, {rows[name]['ratio']:.1f} x ours, "
            f"{cpu:.3f} s of CPU; other marks than ours for {rows[name]['differ']} of {count}",
            flush=True,
        )
    about = {"assignment": handed[0].assignment.slug, "submissions": count, "jobs": jobs}
    return {"tools": about | {"exercises": marked, "points": points, "rows": rows}}


def _differing(ours: dict, theirs: dict) -> int:
    return sum(theirs.get(name) is None or abs(theirs[name] - marks) > 1e-6 for name, marks in ours.items())


def _version(python: Path, name: str) -> str:
    package = {"mha grade": "mha_teach", "otter": "otter-grader"}.get(name, name)
    ask = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False).stdout.strip()


def save(found: dict) -> None:
    """Put these parts into the record and keep its others."""
    kept = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    facts = {
        "script": "benchmarks/classroom.py class --save; benchmarks/classroom.py tools --save",
        "hardware": f"{hardware()}, {os.cpu_count()} cores",
        "bubblewrap": bubblewrap(),
        "date": time.strftime("%Y-%m-%d"),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
    }
    FILE.write_text(json.dumps(kept | found | facts, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=("class", "tools"), help="(default: a short run of both)")
    parser.add_argument("--count", type=int, help="notebooks (default: 300 of a class, 30 for the tools)")
    parser.add_argument("--seeds", type=int, help="further seeds for every mutant, at most 7 (default: 4)")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 2))
    parser.add_argument("--chapter", default="04", help="whose exercises the tools grade")
    parser.add_argument("--nbgrader", type=Path, metavar="PYTHON")
    parser.add_argument("--otter", type=Path, metavar="PYTHON")
    parser.add_argument("--save", action="store_true", help="write the record")
    args = parser.parse_args()
    torch.set_num_threads(1)
    began, found, short = time.perf_counter(), {}, args.part is None
    os.sched_setaffinity(
        0, sorted(os.sched_getaffinity(0))[: args.jobs]
    )  # and so does everything started from here
    print(f"torch {torch.__version__}, {hardware()}, {args.jobs} cores; bubblewrap: {bubblewrap()}")
    with tempfile.TemporaryDirectory(prefix="classroom-") as made:
        if args.part != "tools":
            seeds = args.seeds if args.seeds is not None else 0 if short else 4
            found |= race_class(args.count or (28 if short else 300), seeds, args.jobs, Path(made))
        if args.part != "class":
            pythons = {"nbgrader": args.nbgrader, "otter": args.otter}
            found |= race_tools(pythons, args.count or 30, args.chapter, args.jobs, Path(made))
    if args.save:
        save(found)
    print(f"{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
