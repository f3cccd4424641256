"""Real models to look into, sentences to feed them, and what was measured before (chapter 06).

``encoder()`` runs a real encoder's weights in our own ``MultiHeadAttention``; ``sentences()`` has text for it and
``relations()`` its grammar; ``induction_model()`` is a small causal model and ``repeated()`` its text;
``without_heads`` closes heads, in ours and in models of transformers; ``measured`` reads a record that took too long for
a chapter's cells. Files of weights are looked for on use, never at import.
"""

from __future__ import annotations

from mha_teach.data.bert import Encoded, Encoder, encoder
from mha_teach.data.causal import CausalModel, induction_model, repeated
from mha_teach.data.hooks import without_heads
from mha_teach.data.records import measured
from mha_teach.data.text import sentences
from mha_teach.data.weights import MissingWeights
from mha_teach.data.words import by_word, relations, words

__all__ = [
    "CausalModel",
    "Encoded",
    "Encoder",
    "MissingWeights",
    "by_word",
    "encoder",
    "induction_model",
    "measured",
]
__all__ += ["relations", "repeated", "sentences", "without_heads", "words"]
