"""Exercises of chapter 02: why √d_k, where the reason fails, what the factor does to gradients."""

from __future__ import annotations

from mha_teach.exercises.ch02_scaling.broken_heads import BROKEN
from mha_teach.exercises.ch02_scaling.gradients import GRADIENTS
from mha_teach.exercises.ch02_scaling.how_long import EXPLORE
from mha_teach.exercises.ch02_scaling.numbers import NUMBERS
from mha_teach.exercises.ch02_scaling.offset import OFFSET
from mha_teach.exercises.ch02_scaling.scaled_weights import WEIGHTS

EXERCISES = (NUMBERS, OFFSET, WEIGHTS, GRADIENTS, BROKEN, EXPLORE)
