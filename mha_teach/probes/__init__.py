"""Probes that readers take to work: leaks in any module or function, and the sums of weight rows (chapters 03, 04)."""

from mha_teach.probes.leaks import batch_leak, causal_leak
from mha_teach.probes.report import Leak, Pair
from mha_teach.probes.rows import RowSums, row_sums

__all__ = ["Leak", "Pair", "RowSums", "batch_leak", "causal_leak", "row_sums"]
