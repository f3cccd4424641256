"""Probes that readers take to work, on any module or function (chapters 03 to 05).

``causal_leak``, ``batch_leak``, ``mask_leak``: which outputs read what they must not. ``row_sums``: are the weights a
softmax over the keys? ``scale_law``: what multiplies q·k? ``drop_pattern``: where does dropout fall?
``ignored_inputs``: which argument is not used?
"""

from mha_teach.probes.drops import DropPattern, drop_pattern
from mha_teach.probes.forbidden import mask_leak
from mha_teach.probes.inputs import ignored_inputs
from mha_teach.probes.leaks import batch_leak, causal_leak
from mha_teach.probes.report import Leak, Pair
from mha_teach.probes.rows import RowSums, row_sums
from mha_teach.probes.scale import ScaleLaw, scale_law

__all__ = [
    "DropPattern",
    "Leak",
    "Pair",
    "RowSums",
    "ScaleLaw",
    "batch_leak",
    "causal_leak",
    "drop_pattern",
    "ignored_inputs",
    "mask_leak",
    "row_sums",
    "scale_law",
]
