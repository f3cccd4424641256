"""The book's public address: the one reader of ``repository:`` in ``_config.yml``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from mha_teach.press.problems import PressError


@dataclass(frozen=True)
class Address:
    """Where the repository is published. ``url`` is empty while nobody knows."""

    url: str = ""
    branch: str = "main"

    def __bool__(self) -> bool:
        return bool(self.url)

    @property
    def pip(self) -> str:
        """What pip installs the package from."""
        return f"mha_teach @ git+{self.url}@{self.branch}"

    def colab(self, slug: str) -> str | None:
        """The link that opens a chapter in Colab; None where Colab can't (no address, or not on GitHub)."""
        parts = urlsplit(self.url)
        if parts.netloc != "github.com":
            return None
        return (
            f"https://colab.research.google.com/github{parts.path}/blob/{self.branch}/notebooks/{slug}.ipynb"
        )


def read_address(root: Path) -> Address:
    """The address that ``root/_config.yml`` states; raises PressError when it is no https address."""
    path = root / "_config.yml"
    try:
        config = yaml.safe_load(path.read_text("utf-8")) or {}
    except FileNotFoundError:
        return Address()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise PressError(f"_config.yml:{mark.line + 1 if mark else 1}: not YAML: mend it") from None
    block = config.get("repository") or {}
    url = str(block.get("url") or "").strip().rstrip("/").removesuffix(".git")
    branch = str(block.get("branch") or "main").strip()
    if url and (urlsplit(url).scheme != "https" or len(urlsplit(url).path.strip("/").split("/")) < 2):
        raise PressError(
            f"_config.yml: repository.url is {url!r}: write https://HOST/OWNER/REPO or leave it empty"
        )
    return Address(url, branch)
