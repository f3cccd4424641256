"""Exercises of chapter 03: strides, splits and merges, fused layouts, and what no probe sees."""

from __future__ import annotations

from mha_teach.exercises.ch03_reshaping.addresses import ADDRESSES
from mha_teach.exercises.ch03_reshaping.broken_layer import BROKEN
from mha_teach.exercises.ch03_reshaping.fused_layouts import FUSED
from mha_teach.exercises.ch03_reshaping.split_and_merge import SPLIT
from mha_teach.exercises.ch03_reshaping.strides import STRIDES
from mha_teach.exercises.ch03_reshaping.twice_wrong import EXPLORE

EXERCISES = [ADDRESSES, STRIDES, SPLIT, FUSED, BROKEN, EXPLORE]
