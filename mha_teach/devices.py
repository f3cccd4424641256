"""Where tensors live and how chance is fixed: the only file that names an accelerator."""

from __future__ import annotations

import torch


def available() -> list[str]:
    """Names of the devices that torch can use here, the fastest first; ``"cpu"`` is always last."""
    found = ["cuda"] if torch.cuda.is_available() else []
    if torch.backends.mps.is_available():
        found.append("mps")
    return [*found, "cpu"]


def synchronize(device: str) -> None:
    """Wait until the device has finished its queued work, so that a clock read next to it means something.

    ``device`` is a torch name such as ``"cuda:0"``; on a CPU there is nothing to wait for.
    """
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    elif device.startswith("mps"):
        torch.mps.synchronize()


def reproducible(seed: int = 0) -> None:
    """Seed torch and use one thread: tiny tensors run faster so, and sums are always added in one order."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
