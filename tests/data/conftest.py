"""One load of the real encoder for all tests of this folder."""

from __future__ import annotations

import pytest
import torch

from mha_teach.data import encoder, sentences


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def minilm():
    return encoder()


@pytest.fixture(scope="session")
def untrained():
    return encoder("random")


@pytest.fixture(scope="session")
def texts():
    """Short and long together, so that filler is in the batch."""
    return [
        "Dogs bark at strange cats.",
        *sentences(4),
        "The boat that the crew of the other boat left drifted.",
    ]


@pytest.fixture(scope="session")
def encoded(minilm, texts):
    return minilm(texts)
