"""The axis vocabulary: every shape in the book is spelled with these names.

======== ============================================== =================
name     meaning                                        torch calls it
======== ============================================== =================
batch    independent samples, any number of axes        ``N`` or ``...``
query    positions that ask (rows of a weight matrix)   ``L``
key      positions that answer (columns)                ``S``
head     parallel attentions                            ``num_heads``
d_model  width of a token's vector                      ``embed_dim``
d_k      width of one head's query and key vectors      ``head_dim``
d_v      width of one head's value vectors              ``vdim / num_heads``
======== ============================================== =================

``Float[Tensor, "*batch query d_k"]`` in a signature reads: floating point, any leading axes, then these.
"""

from __future__ import annotations

from torch import Tensor

__all__ = ["Bool", "Float", "Int", "Tensor"]

try:
    from jaxtyping import Bool, Float, Int
except ImportError:  # Colab does not preload jaxtyping; the annotations then only document.

    class _Documented:
        """Accepts ``Float[Tensor, "..."]`` and stands for the tensor."""

        def __class_getitem__(cls, item: tuple) -> type:
            return item[0]

    Bool = Float = Int = _Documented
