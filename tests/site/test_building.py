"""Building and serving: errors are one line and name the page, the old site survives, the address rules the buttons."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest
from test_pages import ROOT

from mha_teach.press import pages, site
from mha_teach.press.address import Address


@pytest.fixture
def tiny(tmp_path) -> Path:
    """A book of two short pages with the real settings."""
    for name in ("_config.yml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("book/site_static", "mha_teach"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: book/index\nparts:\n- chapters:\n  - file: notebooks/00_attention\n"
    )
    (tmp_path / "book" / "index.md").write_text("# Home\n\n<!--colab-->unset<!--/colab-->\n")
    (tmp_path / "notebooks" / "00_attention.ipynb").write_text(NOTEBOOK % "# One\\n\\nA page.")
    return tmp_path


NOTEBOOK = """{"cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["%s"]}],
"metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
"nbformat": 4, "nbformat_minor": 5}"""


def test_a_failing_page_is_named_and_the_old_site_survives(tiny, capsys):
    html = site.build_site(tiny)
    assert site.is_fresh(tiny)
    assert "reading 100 %" in capsys.readouterr().out
    (tiny / "notebooks" / "00_attention.ipynb").write_text(NOTEBOOK % "# One\\n\\n[gone](nowhere.md)")
    assert not site.is_fresh(tiny)
    with pytest.raises(site.SiteError) as caught:
        site.build_site(tiny)
    message = str(caught.value)
    assert message.startswith("notebooks/00_attention.ipynb, cell 1: ")
    assert "nowhere.md" in message
    assert "\n" not in message
    assert (html / "notebooks" / "00_attention.html").exists()
    assert not site.is_fresh(tiny)


def test_with_an_address_the_buttons_are_one_click(tiny):
    config = (tiny / "_config.yml").read_text()
    (tiny / "_config.yml").write_text(config.replace('url: ""', "url: https://github.com/someone/a-book"))
    html = site.build_site(tiny)
    page = (html / "notebooks" / "00_attention.html").read_text()
    link = "https://colab.research.google.com/github/someone/a-book/blob/main/notebooks/00_attention.ipynb"
    assert link in page
    home = (html / "book" / "index.html").read_text()
    assert link in home
    assert "unset" not in home
    assert 'href="https://github.com/someone/a-book"' in page


def test_without_an_address_the_landing_page_keeps_its_words():
    assert pages.colab_door(Address()) == ""
    assert pages.colab_door(Address("https://codeberg.org/someone/a-book")) == ""


def test_the_landing_page_takes_titles_and_promises_from_the_notebooks(tiny):
    top = "# A < B\\n\\n*See it.* · 25 minutes · needs: *nothing*"
    (tiny / "notebooks" / "00_attention.ipynb").write_text(NOTEBOOK % top)
    listed = pages.chapter_list(tiny)
    assert listed == '<li><a href="../notebooks/00_attention.html">A &lt; B</a><span>See it.</span></li>'


@pytest.mark.parametrize(
    ("paragraph", "is_caption"),
    [
        ("<p><em>The point of the figure.</em></p>", True),
        ("<p><em>Its <code>mask</code>, in\ntwo lines.</em></p>", True),
        ("<p>Here <em>one</em> word is set apart.</p>", False),
        ("<p><em>One</em> word begins it.</p>", False),
        ("<p><em>One</em> and <em>another</em></p>", False),
    ],
)
def test_only_a_paragraph_of_nothing_but_emphasis_is_a_caption(paragraph, is_caption):
    assert (pages.CAPTION.fullmatch(paragraph) is not None) == is_caption


def test_a_page_that_the_toc_lists_but_nobody_built(tiny):
    (tiny / "notebooks" / "00_attention.ipynb").unlink()
    with pytest.raises(
        site.SiteError, match=r"lists notebooks/00_attention.*`mha build 00_attention` makes it"
    ):
        site.build_site(tiny)


def test_the_wheel_depends_on_its_contents_alone(tiny, tmp_path):
    made = []
    for name in ("one", "two"):
        site._build_wheel(tiny, tmp_path / name)
        [wheel] = (tmp_path / name).glob("*.whl")
        made.append(wheel.read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/b/book/index.md:12: WARNING: no such thing", "book/index.md:12: no such thing"),
        ("/b/notebooks/01.ipynb:30002: WARNING: bad", "notebooks/01.ipynb, cell 3: bad"),
        ("/b/book/x.md: WARNING: document isn't included", "book/x.md: document isn't included"),
        ("Extension error:", "Jupyter Book stopped: Extension error:"),
    ],
)
def test_the_first_complaint_becomes_one_line(line, message):
    log = ["Running Jupyter-Book", "reading sources... [ 50%] book/index", line, ""]
    assert site.failure(log, Path("/b")) == f"{message} (the whole log: _build/site.log)"


def test_an_occupied_port_is_left_alone(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with site.listen(tmp_path, port) as server:
            assert server.server_address[0] == "127.0.0.1"
            assert port < server.server_address[1] < port + 20


def test_no_free_port_says_what_to_do(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError

    monkeypatch.setattr(site, "ThreadingHTTPServer", refuse)
    with pytest.raises(site.SiteError, match=r"ports 8000 to 8019 are all in use.*--port"):
        site.listen(tmp_path, 8000)


def test_serving_prints_the_address_and_says_when_the_port_is_taken(tmp_path, monkeypatch, capsys):
    def interrupted(_self):
        raise KeyboardInterrupt

    monkeypatch.setattr(site.ThreadingHTTPServer, "serve_forever", interrupted)
    monkeypatch.setattr(site, "ensure_site", lambda root: root)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        site.serve(tmp_path, port)
    said = capsys.readouterr().out
    assert f"Port {port} is in use by another program" in said
    assert "The book is at http://127.0.0.1:" in said
    assert said.endswith("Stopped.\n")
