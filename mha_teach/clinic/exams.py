"""The examinations: every probe run on one attention, each answering in words."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch

from mha_teach import probes, reshaping
from mha_teach.clinic.patient import Patient
from mha_teach.masking import causal, padding
from mha_teach.shapes import Tensor

BATCH, LENGTH, SHORT = 2, 7, 5
WORDS = {
    "unread": "{count} permitted pairs are not read, first output {i} from input {j}: the mask forbids too much.",
    "silent": "No output reads another position.",
    "finite": "All numbers are finite, also for a query that may look at nothing, in float32 and float16.",
    "nan": "{dtype}: {count} of {size} outputs are not finite when sample {sample} is all filler.",
    "inputs": "Query, key and value are all used.",
    "deaf": "Replacing {names} changes nothing: the module does not listen to it.",
    "origin": "Every number of q, k and v lies where its label says, and merging undoes splitting.",
    "moved": "Numbers lie where they don't belong: {where}.",
    "padding": "No real position reads filler, and each reads all that is real.",
}


@dataclass(frozen=True)
class Finding:
    """What one examination says. ``lit``: something is wrong."""

    lit: bool
    words: str

    def __str__(self) -> str:
        return self.words


def examine(patient: Patient) -> dict[str, Finding]:
    """Every examination by its name. Inputs are drawn with a fixed seed; the patient is left as it came."""
    mode = patient.training
    try:
        return {name: exam(patient.eval()) for name, exam in EXAMS.items()}
    finally:
        patient.train(mode)


def _draw(patient: Patient, *shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, patient.d_model, generator=generator).to(next(patient.parameters()))


def _by_mask(call: Callable, x: Tensor, allowed: Tensor) -> tuple[bool, str]:
    leak = probes.mask_leak(call, x, allowed)
    if leak:
        return True, str(leak)
    if leak.silent:
        return True, WORDS["silent"]
    if leak.unread:
        i, j = leak.unread[0]
        return True, WORDS["unread"].format(count=len(leak.unread), i=i, j=j)
    return False, str(leak)


def exam_causal(patient: Patient) -> Finding:
    """Under a causal mask: does an output read the future, or miss its past?"""
    mask = causal(LENGTH)
    return Finding(*_by_mask(lambda x: patient(x, mask=mask)[0], _draw(patient, BATCH, LENGTH), mask))


def exam_batch(patient: Patient) -> Finding:
    """Does a sample read another?"""
    leak = probes.batch_leak(lambda x: patient(x)[0], _draw(patient, BATCH, LENGTH))
    return Finding(bool(leak), str(leak))


def exam_padding(patient: Patient) -> Finding:
    """With one short sample: do real positions read filler, or miss what is real?"""
    x, lengths = _draw(patient, BATCH, LENGTH), (LENGTH, SHORT)
    mask = padding(lengths)[:, None]  # (batch, 1, 1, key)
    mask = mask.expand(BATCH, 1, LENGTH, LENGTH)
    for at, length in enumerate(lengths):

        def alone(sample: Tensor, at: int = at) -> Tensor:
            return patient(torch.cat([x[:at], sample, x[at + 1 :]]), mask=mask)[0][at : at + 1]

        real = mask[at, 0].clone()
        real[length:] = True  # what filler's own outputs read is nobody's business
        leak = probes.mask_leak(alone, x[at : at + 1], real)
        missed = [(i, j) for i, j in leak.unread if i < length]
        if leak or missed:
            said = (
                str(leak)
                if leak
                else WORDS["unread"].format(count=len(missed), i=missed[0][0], j=missed[0][1])
            )
            return Finding(True, f"Sample {at} of length {length}: {said}")
    return Finding(False, WORDS["padding"])


def exam_rows(patient: Patient) -> Finding:
    """Are the weights a softmax over the keys, under a causal mask?"""
    with torch.no_grad():
        weights = patient(_draw(patient, BATCH, LENGTH), mask=causal(LENGTH))[1]
    sums = probes.row_sums(weights)
    return Finding(not sums, str(sums))


def exam_scale(patient: Patient) -> Finding:
    """What multiplies q·k?"""
    found = probes.scale_law(lambda q, k, v: patient.attend(q, k, v))
    return Finding(not found, str(found))


def exam_dropout(patient: Patient) -> Finding:
    """With dropout 0.3 and a causal mask: where does it fall, and does it stop in eval mode?"""
    rate, patient.dropout = patient.dropout, 0.3
    x = _draw(patient, BATCH, LENGTH)
    mask = causal(LENGTH)
    try:
        found = probes.drop_pattern(patient, lambda module: module(x, mask=mask)[1][..., 2:, :], draws=64)
    finally:
        patient.dropout = rate
    return Finding(not found, str(found))


def exam_finite(patient: Patient) -> Finding:
    """Does a sample of nothing but filler stay finite, in float32 and in float16?"""
    x = _draw(patient, BATCH, LENGTH)
    mask = padding((LENGTH, 0), LENGTH)[:, None].expand(BATCH, 1, LENGTH, LENGTH)
    for dtype in (torch.float32, torch.float16):
        with torch.no_grad():  # a copy: half precision would round the patient's own weights for good
            out = copy.deepcopy(patient).to(dtype)(x.to(dtype), mask=mask)[0]
        bad = int((~out.isfinite()).sum())
        if bad:
            said = WORDS["nan"].format(dtype=dtype, count=bad, size=out.numel(), sample=1)
            return Finding(True, said)
    return Finding(False, WORDS["finite"])


def exam_inputs(patient: Patient) -> Finding:
    """Are query, key and value all used?"""
    q = _draw(patient, BATCH, LENGTH)
    k, v = (_draw(patient, BATCH, LENGTH, seed=seed) for seed in (1, 2))
    deaf = probes.ignored_inputs(lambda query, key, value: patient(query, key, value)[0], q, k, v)
    said = WORDS["deaf"].format(names=" and ".join(deaf)) if deaf else WORDS["inputs"]
    return Finding(bool(deaf), said)


def exam_origin(patient: Patient) -> Finding:
    """Do splitting and merging put each number where its label says?"""
    sizes = {
        "batch": 2,
        "position": 3,
        "head": patient.num_heads,
        "dim": patient.d_model // patient.num_heads,
    }
    wrong = {}
    roles = getattr(patient, "divide", None)
    if roles is not None:
        for name, origin in zip("qkv", reshaping.trace_origin(roles, **sizes, roles=3), strict=True):
            off = origin.misplaced() | {"role": float((origin.role != "qkv".index(name)).double().mean())}
            wrong |= {f"{axis} in {name}": share for axis, share in off.items() if share}
    try:
        off = reshaping.trace_origin(patient.split, **sizes).misplaced()
        wrong |= {axis: share for axis, share in off.items() if share}
        width = patient.d_model
        merged = reshaping.trace_origin(lambda x: patient.merge(patient.split(x)), 2, 3, 1, width).misplaced(
            "batch position dim"
        )
        wrong |= {f"{axis} after merging": share for axis, share in merged.items() if share}
    except ValueError as error:  # the split's shape has no room for the labels
        wrong["shape"] = 1.0
        return Finding(True, WORDS["moved"].format(where=str(error)))
    where = ", ".join(f"{axis} ({share:.0%})" for axis, share in wrong.items())
    return Finding(bool(wrong), WORDS["moved"].format(where=where) if wrong else WORDS["origin"])


EXAMS: dict[str, Callable[[Patient], Finding]] = {
    "causal": exam_causal,
    "batch": exam_batch,
    "padding": exam_padding,
    "rows": exam_rows,
    "scale": exam_scale,
    "dropout": exam_dropout,
    "finite": exam_finite,
    "inputs": exam_inputs,
    "origin": exam_origin,
}
