"""Build the static site with Jupyter Book, and serve it on this machine only.

``_config.yml`` and ``_toc.yml`` at the root are the input; ``_build/html`` is the product. What they need and git
does not hold (widget script, palette, MathJax, the wheel) is staged under ``_build/static`` and ``_build/extra``.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import yaml
from filelock import FileLock

from mha_teach import theme, widgets
from mha_teach.press import pages, solutions
from mha_teach.press.address import read_address
from mha_teach.press.problems import PressError

EPOCH = "1735689600"  # 2025-01-01: the wheel's time stamps, so that its bytes depend on its contents alone
INPUTS = ("_config.yml", "_toc.yml", "pyproject.toml", "README.md", "book", "notebooks", "mha_teach")
MATHJAX = ("tex-chtml-full.js", "output/chtml/fonts/woff-v2")
STEP = re.compile(r"^(reading sources|writing output)\.\.\. *\[ *(\d+)%\] (\S+)")
WARNING = re.compile(
    r"^(?P<page>[^:\n]+?)(?::(?P<line>\d+))?: (?:WARNING|ERROR|CRITICAL|SEVERE): (?P<what>.+)"
)


class SiteError(PressError):
    """The site can't be built or served; the message is one line that says where and what to do."""


def build_site(root: Path) -> Path:
    """Build ``_build/html`` from clean and return its path.

    The new site replaces the old one only when it is whole. Raises SiteError naming the first failing page.
    """
    with _lock(root):
        return _build(Path(root).resolve())


def ensure_site(root: Path) -> Path:
    """The path of ``_build/html``, built first if it is not the product of the tree as it stands."""
    with _lock(root):
        root = Path(root).resolve()
        return root / "_build" / "html" if is_fresh(root) else _build(root)


def digest(root: Path) -> str:
    """A hash over everything that the site is made from."""
    total = hashlib.sha256()
    for name in INPUTS:
        top = root / name
        files = [top] if top.is_file() else sorted(p for p in top.rglob("*") if p.is_file())
        for path in files:
            if "__pycache__" not in path.parts and ".ipynb_checkpoints" not in path.parts:
                total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def is_fresh(root: Path) -> bool:
    """Whether ``_build/html`` is the product of the tree as it stands."""
    stamp = root / "_build" / "site.stamp"
    built = (root / "_build" / "html" / "index.html").exists() and stamp.exists()
    return built and stamp.read_text(encoding="utf-8") == digest(root)


def stage(root: Path) -> None:
    """Put the generated static files where ``_config.yml`` looks for them."""
    static, extra = root / "_build" / "static", root / "_build" / "extra"
    for folder in (static, extra):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    (static / "mha-palette.css").write_text(theme.css_variables() + "\n", encoding="utf-8")
    bundle = getattr(widgets, "static_bundle", lambda: "")
    (static / "mha-widgets.js").write_text(bundle(), encoding="utf-8")
    _stage_mathjax(static / "vendor" / "mathjax")
    _build_wheel(root, extra / "downloads")
    (extra / "notebooks").mkdir()
    for notebook in (root / "notebooks").glob("*.ipynb"):  # beside its page, where the byline looks for it
        shutil.copyfile(notebook, extra / "notebooks" / notebook.name)


def serve(root: Path, port: int = 8000) -> None:
    """Serve the site on 127.0.0.1 until Ctrl-C, building it first if it is not fresh.

    An occupied port is left alone: the next free one among twenty is taken, and said.
    """
    html = ensure_site(root)
    with listen(html, port) as server:
        taken = server.server_address[1]
        if port and taken != port:
            print(f"Port {port} is in use by another program; taking {taken} instead.", flush=True)
        print(f"The book is at http://127.0.0.1:{taken}/ (Ctrl-C stops it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nStopped.", flush=True)


def listen(html: Path, port: int) -> ThreadingHTTPServer:
    """A server for ``html`` on loopback, at ``port`` or the next free one (0 = any)."""
    handler = partial(_Quiet, directory=str(html))
    for candidate in range(port, port + 20 if port else 1):
        try:
            return ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError:
            continue
    raise SiteError(
        f"ports {port} to {port + 19} are all in use: choose another, e.g. `mha serve --port 8100`"
    )


class _Quiet(SimpleHTTPRequestHandler):
    """No line per request: the address stays the last thing on the screen."""

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""


def _lock(root: Path) -> FileLock:
    (Path(root) / "_build").mkdir(exist_ok=True)
    return FileLock(Path(root) / "_build" / "site.lock")


def _build(root: Path) -> Path:
    began, stamp = time.monotonic(), digest(root)
    _check_pages(root)
    stage(root)
    with solutions.staged(root) as toc:
        fresh = _run_jupyter_book(root, toc)
    pages.polish(fresh, read_address(root), root)
    html = root / "_build" / "html"
    shutil.rmtree(html, ignore_errors=True)
    fresh.rename(html)
    shutil.rmtree(root / "_build" / "next", ignore_errors=True)
    (root / "_build" / "site.stamp").write_text(stamp, encoding="utf-8")
    print(f"site: {html} ({time.monotonic() - began:.0f} s)", flush=True)
    return html


def _check_pages(root: Path) -> None:
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    names = [toc["root"], *(c["file"] for part in toc.get("parts", []) for c in part["chapters"])]
    for name in names:
        if not any((root / name).with_suffix(s).exists() for s in (".md", ".ipynb")):
            cure = (
                f"`mha build {Path(name).name}` makes it" if name.startswith("notebooks/") else "add the file"
            )
            raise SiteError(f"_toc.yml lists {name}, but there is no such page: {cure}, or take the line out")


def _stage_mathjax(target: Path) -> None:
    try:
        package = distribution("sphinx-mathjax-offline")
    except PackageNotFoundError:
        raise SiteError(
            "MathJax is missing: `pip install sphinx-mathjax-offline`, or run `make book`"
        ) from None
    home = Path(str(package.locate_file("sphinx-mathjax-offline/static/mathjax")))
    for part in MATHJAX:
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (home / part).is_dir() else shutil.copyfile
        copy(home / part, target / part)


def _build_wheel(root: Path, target: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    env = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SiteError(f"the wheel does not build: {(done.stderr.strip() or 'no message').splitlines()[-1]}")


def _run_jupyter_book(root: Path, toc: Path) -> Path:
    out = root / "_build" / "next"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", str(root)]
    command += ["--path-output", str(out), "--config", str(_config(root)), "--toc", str(toc)]
    command += ["-n", "-W", "--keep-going"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "COLUMNS": "200"}
    run = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    log: list[str] = []
    for line in run.stdout or ():
        line = re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip()
        log.append(line)
        if step := STEP.match(line):
            print(f"  {step[1].split()[0]} {step[2]:>3} %  {step[3]}", flush=True)
    html = out / "_build" / "html"
    if run.wait() or not (html / "index.html").exists():
        (root / "_build" / "site.log").write_text("\n".join(log), encoding="utf-8")
        raise SiteError(failure(log, root))
    return html


def failure(log: list[str], root: Path) -> str:
    """The first complaint in a Jupyter Book log as one line with its page."""
    for line in log:
        if found := WARNING.match(line):
            page = found["page"].replace(f"{root}{os.sep}", "")
            at = int(found["line"] or 0)
            # myst-nb counts lines of a notebook as 10000 · cell + line
            where = f", cell {at // 10000}" if page.endswith(".ipynb") and at else f":{at}" if at else ""
            return f"{page}{where}: {found['what']} (the whole log: _build/site.log)"
    last = next((line for line in reversed(log) if line.strip()), "no output")
    return f"Jupyter Book stopped: {last.strip()} (the whole log: _build/site.log)"


def _config(root: Path) -> Path:
    """``_config.yml`` plus what a known repository address allows: a link to it, and Colab for GitHub."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    address = read_address(root)
    known = any(host in address.url for host in ("//github.com/", "//gitlab.com/", "//bitbucket.org/"))
    config["repository"] = {"url": address.url if known else "", "branch": address.branch}
    config.setdefault("html", {})["use_repository_button"] = known
    if address.colab("any"):
        config["launch_buttons"] = {"colab_url": "https://colab.research.google.com"}
    path = root / "_build" / "config.yml"
    path.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path
