"""Exercises of chapter 04: what a mask says, where it belongs, and what leaks around it."""

from __future__ import annotations

from mha_teach.exercises.ch04_masking.decoder_mask import DECODER_MASK
from mha_teach.exercises.ch04_masking.kept_share import KEPT_SHARE
from mha_teach.exercises.ch04_masking.leaky_decoder import LEAKY_DECODER
from mha_teach.exercises.ch04_masking.masked_softmax import MASKED_SOFTMAX
from mha_teach.exercises.ch04_masking.own_leak import OWN_LEAK
from mha_teach.exercises.ch04_masking.what_true_means import WHAT_TRUE_MEANS

EXERCISES = (WHAT_TRUE_MEANS, KEPT_SHARE, DECODER_MASK, MASKED_SOFTMAX, LEAKY_DECODER, OWN_LEAK)
