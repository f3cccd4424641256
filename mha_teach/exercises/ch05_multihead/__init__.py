"""Exercises of chapter 05: the whole module."""

from __future__ import annotations

from mha_teach.exercises.ch05_multihead.attend_heads import ATTEND_HEADS
from mha_teach.exercises.ch05_multihead.count import COUNT
from mha_teach.exercises.ch05_multihead.gates import GATES
from mha_teach.exercises.ch05_multihead.ignored import IGNORED
from mha_teach.exercises.ch05_multihead.inner_width import INNER_WIDTH

EXERCISES = (COUNT, INNER_WIDTH, ATTEND_HEADS, IGNORED, GATES)
