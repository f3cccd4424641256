"""Exercises of chapter 00: attention in ten lines."""

from __future__ import annotations

from mha_teach.exercises.ch00_attention.attend import ATTEND
from mha_teach.exercises.ch00_attention.by_hand import BY_HAND
from mha_teach.exercises.ch00_attention.crowd import CROWD
from mha_teach.exercises.ch00_attention.looked_or_used import OPEN
from mha_teach.exercises.ch00_attention.mend import MEND
from mha_teach.exercises.ch00_attention.probe import PROBE

EXERCISES = (BY_HAND, CROWD, ATTEND, MEND, PROBE, OPEN)
