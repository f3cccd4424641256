"""The command ``mha``: build, check and begin chapters; build, serve and pack the site; grade a class."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit status: 0 done, 1 the check found something, 2 told what to mend."""
    options = _parser().parse_args(arguments)
    from mha_teach.press.problems import PressError

    try:
        if getattr(options, "alone", False):  # needs no book, only the package
            return options.run(options.root, options) or 0
        from mha_teach.press.project import find_root

        root = find_root(options.root or Path.cwd())
        return options.run(root, options) or 0
    except KeyboardInterrupt:
        return _fail("stopped; what was finished is kept, run it again to go on", 130)
    except PressError as error:
        return _fail(str(error))
    except ModuleNotFoundError as error:
        if str(error.name).startswith("mha_teach"):
            raise
        return _fail(
            f"the Python package {error.name} is missing: run `make book`, or pip install -e .[widgets,book,models,dev]"
        )
    except (OSError, RuntimeError) as error:  # RuntimeError: the site's own one-line errors
        return _fail(str(error) or type(error).__name__)


def _fail(message: str, status: int = 2) -> int:
    print(f"mha: {' '.join(message.split())}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mha", description=__doc__, allow_abbrev=False)
    parser.add_argument("--root", type=Path, help="the book's folder (default: found from here upwards)")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    verb = verbs.add_parser("build", help="run the chapters that changed and store their notebooks")
    verb.add_argument(
        "chapters", nargs="*", metavar="slug", help="e.g. 01_collapse, collapse or 1 (default: all)"
    )
    verb.add_argument("--force", action="store_true", help="run them even if nothing changed")
    verb.set_defaults(run=_build)

    verb = verbs.add_parser(
        "check", help="fail unless every notebook is the product of its source and keeps the rules"
    )
    verb.add_argument("chapters", nargs="*", metavar="slug")
    verb.set_defaults(run=_check)

    verb = verbs.add_parser("new", help="begin a chapter: source, module, test and exercises")
    verb.add_argument("chapter", metavar="slug", help="NN_idea, e.g. 07_specialisation")
    verb.set_defaults(run=_new)

    verbs.add_parser("site", help="build the static site into _build/html").set_defaults(run=_site)
    verb = verbs.add_parser("serve", help="serve the site on this machine")
    verb.add_argument("--port", type=int, default=8000)
    verb.set_defaults(run=_serve)
    verbs.add_parser("offline", help="pack the site into a zip that opens from disk").set_defaults(
        run=_offline
    )
    verb = verbs.add_parser(
        "grade", help="grade what a class handed in: gradebook, tables, feedback, an overview"
    )
    verb.add_argument(
        "folder", type=Path, metavar="DIR", help="notebooks, zip files, or a folder per student"
    )
    verb.add_argument("--out", type=Path, help="where everything is written (default: DIR-grades)")
    verb.add_argument("--chapters", nargs="+", default=[], metavar="NN", help="those expected, e.g. 00 01")
    verb.add_argument("--jobs", type=int, help="how many at a time (default: one a processor, at most 4)")
    verb.add_argument(
        "--scheduler", default="", metavar="tcp://HOST:PORT", help="let the workers of a Dask cluster do it"
    )
    verb.add_argument(
        "--roster", type=Path, metavar="CSV", help="who is in the class: a column id, and a name"
    )
    verb.add_argument("--seconds", type=float, default=8.0, help="time for one exercise (default: 8)")
    verb.add_argument(
        "--no-bubblewrap", action="store_true", help="only limits: for a machine that holds nothing else"
    )
    verb.set_defaults(run=_grade, alone=True)

    verb = verbs.add_parser(
        "repair", help="restore ids, check cells and format of what was handed in, in a new place"
    )
    verb.add_argument("place", type=Path, metavar="DIR_OR_FILE", help="as for grade, or a single notebook")
    verb.add_argument("--out", type=Path, help="where it is written (default: beside it, -repaired)")
    verb.add_argument("--chapters", nargs="+", default=[], metavar="NN", help="those expected, e.g. 00 01")
    verb.set_defaults(run=_repair, alone=True)

    verb = verbs.add_parser("release", help="write what a class is handed, and what its teacher keeps")
    verb.add_argument("out", type=Path, metavar="OUT", help="a new or empty folder")
    verb.add_argument("--chapters", nargs="+", default=[], metavar="NN", help="e.g. 03 04 (default: all)")
    verb.add_argument("--no-solutions", action="store_true", help="leave the solutions out")
    verb.add_argument(
        "--seed-per-student",
        type=Path,
        metavar="ROSTER",
        help="a table of the class: own numbers for each student",
    )
    verb.add_argument(
        "--format",
        nargs="+",
        choices=("class", "nbgrader", "otter"),
        default=["class"],
        help="(default: class)",
    )
    verb.set_defaults(run=_release, alone=True)
    return parser


def _build(root: Path, options: argparse.Namespace) -> None:
    from mha_teach.press.build import build
    from mha_teach.press.project import resolve

    build(root, resolve(root, options.chapters), force=options.force)


def _check(root: Path, options: argparse.Namespace) -> int:
    from mha_teach.press.check import check
    from mha_teach.press.project import resolve

    chosen = resolve(root, options.chapters)
    findings = check(root, chosen)
    for finding in findings:
        print(finding)
    chapters = "1 chapter" if len(chosen) == 1 else f"{len(chosen)} chapters"
    print(f"{chapters}: {len(findings) or 'no'} finding{'' if len(findings) == 1 else 's'}", file=sys.stderr)
    return 1 if findings else 0


def _new(root: Path, options: argparse.Namespace) -> None:
    from mha_teach.press.new import new

    for line in new(root, options.chapter):
        print(line)


def _site(root: Path, options: argparse.Namespace) -> None:
    from mha_teach.press.site import build_site

    build_site(root)


def _serve(root: Path, options: argparse.Namespace) -> None:
    from mha_teach.press.site import serve

    serve(root, options.port)


def _offline(root: Path, options: argparse.Namespace) -> None:
    from mha_teach.press.offline import make_offline

    make_offline(root)


def _repair(root: Path | None, options: argparse.Namespace) -> None:
    from mha_teach.grading.repair_all import run

    found = run(options.place, options.out, tuple(sorted({chapter[:2] for chapter in options.chapters})))
    left = sum(bool(one.left) for one in found)
    print(
        f"{sum(one.kind == 'mended' for one in found)} of {len(found)} notebooks mended; {left} need a look at"
    )


def _grade(root: Path | None, options: argparse.Namespace) -> None:
    from mha_teach.grading.batch import Plan
    from mha_teach.grading.command import default_jobs, run
    from mha_teach.grading.sandbox import Limits
    from mha_teach.release.roster import read_roster

    chapters = tuple(sorted({chapter[:2] for chapter in options.chapters}))
    wrap = False if options.no_bubblewrap else None
    limits = Limits(seconds=options.seconds)
    roster = tuple(read_roster(options.roster)) if options.roster else ()
    plan = Plan(chapters, options.jobs or default_jobs(), wrap, limits, options.scheduler, roster)
    everyone = run(options.folder, options.out, plan)
    out = options.out or options.folder.resolve().with_name(f"{options.folder.resolve().name}-grades")
    graded = sum(one.status == "graded" for one in everyone)
    print(f"{graded} of {len(everyone)} students graded: see {out / 'overview.html'}")


def _release(root: Path | None, options: argparse.Namespace) -> None:
    from mha_teach.release.command import Order, run

    order = Order(
        options.chapters, options.format, not options.no_solutions, options.seed_per_student, _published(root)
    )
    for line in run(options.out, order):
        print(line)


def _published(root: Path | None) -> str:
    """What pip installs the package from, where the book here says it; a release needs no book."""
    from mha_teach.press.problems import PressError
    from mha_teach.press.project import find_root

    try:
        root = find_root(root or Path.cwd())
    except PressError:
        return ""
    from mha_teach.press.address import read_address

    address = read_address(root)
    return address.pip if address else ""


if __name__ == "__main__":
    sys.exit(main())
