"""Exercises of chapter 06: what a head does, what is lost without it, and what chance would give."""

from __future__ import annotations

from mha_teach.exercises.ch06_specialisation.alike import EXPLORE
from mha_teach.exercises.ch06_specialisation.closing import CLOSING
from mha_teach.exercises.ch06_specialisation.knockouts import KNOCKOUTS
from mha_teach.exercises.ch06_specialisation.previous import PREVIOUS
from mha_teach.exercises.ch06_specialisation.saved import SAVED
from mha_teach.exercises.ch06_specialisation.who_carries import WHO

EXERCISES = (WHO, SAVED, PREVIOUS, KNOCKOUTS, CLOSING, EXPLORE)
