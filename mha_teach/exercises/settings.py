"""Everything that an answer may turn and the notebook wants back: chance, torch's settings, torch's own functions."""

from __future__ import annotations

import builtins
import contextlib
import math
import operator
import os
import random
import sys
import warnings
from collections.abc import Iterator, Mapping

import numpy as np
import torch

_GLOBALS = (torch, torch.nn.functional, torch.linalg, math, builtins)


@contextlib.contextmanager
def kept() -> Iterator[list[str]]:
    """Chance and settings are as before afterwards; the list that is given then names the settings that were not."""
    changed: list[str] = []
    before, patched = _read(), [dict(vars(module)) for module in _GLOBALS]
    own = dict(vars(torch.Tensor))
    grad = torch.is_grad_enabled()
    chance = torch.get_rng_state(), random.getstate(), np.random.get_state()
    torch.default_generator.manual_seed(0)  # torch.manual_seed takes longer: it turns to every other device
    random.seed(0)
    np.random.seed(0)
    torch.set_grad_enabled(True)
    try:
        with warnings.catch_warnings():
            yield changed
    finally:
        names = _mend(patched, own)
        torch.set_grad_enabled(grad)
        after = _read()
        for name, (value, put) in before.items():
            if after[name][0] != value:
                put(value)
                changed.append(name)
        changed += names
        torch.set_rng_state(chance[0])
        random.setstate(chance[1])
        np.random.set_state(chance[2])


def _read() -> dict[str, tuple]:
    """Each setting's value, and what puts it back."""
    return {
        "default dtype": (torch.get_default_dtype(), torch.set_default_dtype),
        "threads": (torch.get_num_threads(), torch.set_num_threads),
        "default device": (_device(), torch.set_default_device),
        "deterministic algorithms": (
            torch.are_deterministic_algorithms_enabled(),
            torch.use_deterministic_algorithms,
        ),
        "matmul precision": (torch.get_float32_matmul_precision(), torch.set_float32_matmul_precision),
        "anomaly detection": (torch.is_anomaly_enabled(), torch.autograd.set_detect_anomaly),
        "recursion limit": (sys.getrecursionlimit(), sys.setrecursionlimit),
        "working directory": (_here(), os.chdir),
    }


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # the directory is gone
        return os.sep


def _device() -> torch.device | None:
    """``None`` where no default device is set: setting the CPU as one would slow every later call."""
    mode = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if mode is None else mode.device


def _mend(before: list[dict], own: dict) -> list[str]:
    """Put back functions of torch, math and Python that were replaced; returns their names."""
    names = []
    for module, values in zip(_GLOBALS, before, strict=True):
        now = vars(module)
        if _identical(now, values):
            continue
        for name, value in values.items():
            if now.get(name, names) is not value and not _torchs_own(name, now.get(name)):
                setattr(module, name, value)
                names.append(f"{module.__name__}.{name}")
    for name, value in () if _identical(vars(torch.Tensor), own) else dict(vars(torch.Tensor)).items():
        if name in own and own[name] is not value:
            setattr(torch.Tensor, name, own[name])
        elif name not in own and any(name in vars(base) for base in torch.Tensor.__mro__[1:]):
            delattr(torch.Tensor, name)
        else:
            continue
        names.append(f"torch.Tensor.{name}")
    return names


def _identical(left: Mapping[str, object], right: Mapping[str, object]) -> bool:
    """Whether both hold the same things under the same names, in the same order; nothing's own ``==`` is asked."""
    same = all(map(operator.is_, left.values(), right.values()))
    return same and len(left) == len(right) and list(left) == list(right)


def _torchs_own(name: str, value: object) -> bool:
    """Torch replaces some functions itself when a part of it is first loaded; IPython keeps its last result in ``_``."""
    # A class, such as torch.Storage, follows the default dtype.
    return (
        name.startswith("_")
        or isinstance(value, type)
        or str(getattr(value, "__module__", "")).startswith("torch.")
    )
