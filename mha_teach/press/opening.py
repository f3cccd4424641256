"""The top of every notebook: the byline under the title, and the cell that makes ``mha_teach`` importable."""

from __future__ import annotations

from mha_teach.press.address import Address
from mha_teach.press.source import Chapter

_INSTALL_FROM_ADDRESS = """\
    import sys
    package = "{pip}"
    if "google.colab" not in sys.modules:
        raise ImportError(f'mha_teach is missing: run pip install "{{package}}"') from None
    %pip install -q --no-deps "{{package}}"
"""

_INSTALL_FROM_WHEEL = """\
    import glob, sys
    wheel = "{wheel}"  # this chapter's page offers it
    found = glob.glob("mha_teach-*.whl")
    if not found and "google.colab" in sys.modules:
        from google.colab import files
        print("Please choose", wheel)
        found = [name for name in files.upload() if name.endswith(".whl")]
    if not found:
        raise ImportError(f"mha_teach is missing: put {{wheel}} beside this notebook") from None
    %pip install -q --no-deps "{{found[0]}}"
"""

_SETUP = """\
# Setup: installs the book's package only where it is missing.
try:
    import mha_teach
except ImportError:
{install}
from mha_teach import devices
from mha_teach.exercises import check

devices.reproducible(0)
"""


def setup_cell(address: Address, wheel: str) -> str:
    """Code of the first cell; where the package is there, it imports and seeds, and does nothing else."""
    install = (
        _INSTALL_FROM_ADDRESS.format(pip=address.pip) if address else _INSTALL_FROM_WHEEL.format(wheel=wheel)
    )
    return _SETUP.format(install=install).rstrip("\n")


def byline(chapter: Chapter, address: Address, wheel: str) -> str:
    """Promise · minutes · needs, then how to take the notebook along."""
    about = chapter.promise
    facts = [f"*{about['promise']}*"] if about.get("promise") else []
    facts += [f"{about['minutes']} minutes"] if about.get("minutes") else []
    facts += [f"needs: {about['needs']}"] if about.get("needs") else []
    download = f'<a href="{chapter.slug}.ipynb" download>Download this notebook</a>'
    colab = address.colab(chapter.slug)
    if colab:
        badge = f"[Open in Colab]({colab})"
        return "\n\n".join([" · ".join(facts), f"{badge} · {download}"]).strip()
    return "\n\n".join([" · ".join(facts), download, _upload(chapter.slug, address, wheel)]).strip()


def _upload(slug: str, address: Address, wheel: str) -> str:
    get = f'1. Download <a href="{slug}.ipynb" download>the notebook</a>'
    package = f' and <a href="../downloads/{wheel}" download>the package</a> (`{wheel}`)'
    asks = " It asks for the package: choose the second file." if not address else ""
    return f"""\
<details>
<summary>Open it in Colab</summary>

{get}{package if not address else ""}.
2. In Colab, choose *File → Upload notebook* and pick the notebook.
3. Run the first cell.{asks}

</details>"""


def elsewhere(links: list[tuple[str, str]], address: Address) -> str:
    """Colab can't follow a link to a neighbouring file, so the chapters that this one names get full addresses."""
    known = [(title, address.colab(slug)) for slug, title in links]
    if not links or not all(url for _, url in known):
        return ""
    return (
        "In Colab, open the other chapters here: "
        + " · ".join(f"[{title}]({url})" for title, url in known)
        + "."
    )
