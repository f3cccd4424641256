"""Exercises of chapter 01: one head is one softmax per position."""

from __future__ import annotations

from mha_teach.exercises.ch01_collapse.bag import BAG
from mha_teach.exercises.ch01_collapse.confusion import CONFUSION
from mha_teach.exercises.ch01_collapse.count import COUNT
from mha_teach.exercises.ch01_collapse.explore import EXPLORE
from mha_teach.exercises.ch01_collapse.slices import SLICES
from mha_teach.exercises.ch01_collapse.unmix import UNMIX

EXERCISES = (COUNT, BAG, CONFUSION, UNMIX, SLICES, EXPLORE)
