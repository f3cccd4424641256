"""Files in memory, and the zips and wheels made of them: equal files give equal bytes, on every day."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import mha_teach
from mha_teach.release import ReleaseError

PACKAGE = "mha_teach"
WHEEL = f"{PACKAGE}-{mha_teach.__version__}-py3-none-any.whl"
DATE = (2025, 1, 1, 0, 0, 0)  # one date for all, so that bytes depend on contents alone
_HERE_ONLY = {
    "RECORD",
    "INSTALLER",
    "REQUESTED",
    "direct_url.json",
}  # what an installer writes for one machine


def zipped(files: Mapping[str, bytes], folder: str = "") -> bytes:
    """A zip of ``files`` (name → contents), all inside ``folder``."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(f"{folder}/{name}" if folder else name, DATE)
            entry.create_system = 3  # so that the rights below are read, and all systems write the same
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(".whl") else zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return made.getvalue()


def wheel() -> bytes:
    """The installed package as a wheel, from its own files: no build tool and no copy of the book is needed."""
    about = installed()
    info = f"{PACKAGE}-{mha_teach.__version__}.dist-info"
    home = Path(mha_teach.__file__).parent
    files = {f"{PACKAGE}/{path.relative_to(home).as_posix()}": path.read_bytes() for path in _own(home)}
    for file in sorted(about.files or (), key=str):
        if file.parts[0].endswith(".dist-info") and file.name not in _HERE_ONLY:
            files["/".join((info, *file.parts[1:]))] = file.read_binary()
    lines = [f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items()]
    files[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"]).encode()
    return zipped(files)


def requirements() -> list[str]:
    """What the package needs, without extras: ``torch>=2.4`` and so on."""
    return sorted(line for line in installed().requires or () if ";" not in line)


def installed() -> Distribution:
    """The installed package's own description; raises ReleaseError where it is a mere folder on Python's path."""
    try:
        about, has = distribution(PACKAGE), mha_teach.__version__
        fault = f"is installed as {about.version} but runs as {has}" if about.version != has else ""
        fault = fault or ("" if about.files else "was installed without a list of its files")
    except PackageNotFoundError:
        fault = "is not installed"
    if fault:
        raise ReleaseError(
            f"{PACKAGE} {fault}, so no wheel can be made: run `make book`, or pip install the package, then try again"
        )
    return about


def _own(home: Path) -> list[Path]:
    """The package's files, in order; nothing hidden, nothing compiled."""
    found = {path.relative_to(home): path for path in home.rglob("*") if path.is_file()}
    return sorted(
        path
        for inner, path in found.items()
        if path.suffix not in (".pyc", ".pyo")
        and not any(p[0] == "." or p == "__pycache__" for p in inner.parts)
    )


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
