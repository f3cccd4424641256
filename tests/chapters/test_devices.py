"""Devices, seeds and threads."""

from __future__ import annotations

import torch

from mha_teach import devices


def test_the_cpu_is_always_there_and_last():
    found = devices.available()
    assert found[-1] == "cpu" and len(set(found)) == len(found)
    for name in found:
        torch.ones(3, device=name).sum()
        devices.synchronize(name)


def test_faster_devices_come_first(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert devices.available() == ["cuda", "mps", "cpu"]


def test_synchronize_waits_on_the_device_named(monkeypatch):
    waited = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waited.append("cuda"))
    monkeypatch.setattr(torch.mps, "synchronize", lambda: waited.append("mps"))
    for name in ("cuda:0", "mps", "cpu"):
        devices.synchronize(name)
    assert waited == ["cuda", "mps"]


def test_reproducible_fixes_chance_and_threads():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        devices.reproducible(17)
        first = torch.rand(5)
        assert torch.get_num_threads() == 1
        devices.reproducible(17)
        assert torch.equal(torch.rand(5), first)
        devices.reproducible(18)
        assert not torch.equal(torch.rand(5), first)
    finally:
        torch.set_num_threads(before)
