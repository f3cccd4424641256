from __future__ import annotations

import pytest

from mha_teach.press.address import Address, read_address
from mha_teach.press.problems import PressError


@pytest.mark.parametrize(
    "text", ["", "repository:\n", "repository: {url: ''}", "title: x\n", "repository: {url: }"]
)
def test_unset_is_false_and_links_nowhere(book, text):
    book.write("_config.yml", text)
    address = read_address(book.root)
    assert not address
    assert address.colab("01_collapse") is None


@pytest.mark.parametrize(
    "url", ["https://github.com/o/r", "https://github.com/o/r/", "https://github.com/o/r.git"]
)
def test_set_gives_colab_and_pip(book, url):
    book.write("_config.yml", f"repository: {{url: '{url}', branch: v2}}")
    address = read_address(book.root)
    assert address == Address("https://github.com/o/r", "v2")
    colab = "https://colab.research.google.com/github/o/r/blob/v2/notebooks/01_collapse.ipynb"
    assert address.colab("01_collapse") == colab
    assert address.pip == "mha_teach @ git+https://github.com/o/r@v2"


def test_colab_opens_github_only():
    assert Address("https://example.org/o/r").colab("01_collapse") is None


@pytest.mark.parametrize(
    "url", ["git@github.com:o/r", "http://github.com/o/r", "https://github.com/o", "github.com/o/r"]
)
def test_a_wrong_address_is_refused(book, url):
    book.write("_config.yml", f"repository: {{url: '{url}'}}")
    with pytest.raises(PressError, match=r"_config.yml: repository.url is .*: write https://HOST/OWNER/REPO"):
        read_address(book.root)


def test_broken_yaml_names_its_line(book):
    book.write("_config.yml", "a: b\nrepository: {url: [\n")
    with pytest.raises(PressError, match=r"_config.yml:\d: not YAML"):
        read_address(book.root)
