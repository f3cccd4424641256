"""The whole module: project, attend in every head at once, mix (chapter 05)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn

from mha_teach.masking import over_heads
from mha_teach.quick import attend_quickly, merge_quickly
from mha_teach.shapes import Float, Tensor


class MultiHeadAttention(nn.Module):
    """Multi-head attention: ``output = concat(head_1 … head_h) W_oᵀ + b_o``, batch first.

    ``head_i = softmax(q_i k_iᵀ / √d_k + mask) v_i`` with ``q_i = query W_q,iᵀ + b_q,i`` and so on: every head reads
    all of ``d_model``. The inner width ``num_heads · d_k`` is free; d_k defaults to d_model / num_heads, d_v to d_k.

    Parameters carry the names of ``nn.MultiheadAttention`` and, where the inner width is d_model, its shapes, its
    starting values and its state dict:

    ================== =================================== ====================================
    name               shape                               holds
    ================== =================================== ====================================
    ``in_proj_weight`` (num_heads · (2 d_k + d_v), d_model) W_q, W_k, W_v one below the other
    ``in_proj_bias``   (num_heads · (2 d_k + d_v),)         b_q, b_k, b_v
    ``out_proj``       Linear(num_heads · d_v, d_model)     W_o, b_o
    ================== =================================== ====================================

    ``gate`` multiplies each head's output before W_o: None (all open), or a float tensor (num_heads,) or
    (*batch, num_heads), which may need a gradient, or be an ``nn.Parameter``. ``without(2, 5)`` closes heads for the
    length of a ``with``. ``dropout`` falls on the weights, in training only.

    Raises ``ValueError`` where num_heads does not divide d_model and no d_k is given, and where a size is no whole number from 1 on.
    Source: Vaswani et al. 2017, section 3.2.2. Taught in chapter 05.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if isinstance(d_model + num_heads, float) or min(d_model, num_heads) < 1:
            raise ValueError(
                f"d_model = {d_model} and num_heads = {num_heads}; each must be a whole number, at least 1."
            )
        if d_k is None and d_model % num_heads:
            wide = -(-d_model // num_heads)
            raise ValueError(
                f"d_model = {d_model} is not a multiple of num_heads = {num_heads}. "
                f"Give the heads a width: d_k={wide} makes an inner width of {num_heads * wide}, and W_o maps it back."
            )
        d_k = d_model // num_heads if d_k is None else d_k
        d_v = d_k if d_v is None else d_v
        if isinstance(d_k + d_v, float) or min(d_k, d_v) < 1:
            raise ValueError(
                f"d_k = {d_k} and d_v = {d_v}; a head needs a whole number for its width, at least 1."
            )
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout is {dropout}; it is a probability: 0 or more, and below 1.")
        self.d_model, self.num_heads, self.d_k, self.d_v, self.dropout = d_model, num_heads, d_k, d_v, dropout
        self.rows = (num_heads * d_k, num_heads * d_k, num_heads * d_v)
        self.in_proj_weight = nn.Parameter(torch.empty(sum(self.rows), d_model))
        self.register_parameter("in_proj_bias", nn.Parameter(torch.zeros(sum(self.rows))) if bias else None)
        self.out_proj = nn.Linear(num_heads * d_v, d_model, bias=bias)
        self.register_buffer("gate", None, persistent=False)
        nn.init.xavier_uniform_(
            self.in_proj_weight
        )  # after W_o: torch's order, so one seed gives both the same
        if bias:
            nn.init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Float[Tensor, "*batch query d_model"],
        key: Float[Tensor, "*batch key d_model"] | None = None,
        value: Float[Tensor, "*batch key d_model"] | None = None,
        mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "*batch query d_model"], Float[Tensor, "*batch head query key"] | None]:
        """Attend from ``query`` to ``key``: ``(output, weights)``, weights None unless asked for.

        ``key`` defaults to ``query`` (self-attention), ``value`` to ``key``.

        ``mask`` as in ``attention.attend``: boolean, True = may look, or float, added to the scores. Its shape is
        (query, key), or (*batch, query, key) for all heads alike, or (*batch, head, query, key); an axis may be 1.
        A query that may look at nothing gets zeros from every head, so its output is b_o.

        ``weights`` are those that were used, per head, after dropout. Unasked, they are never stored: torch's
        ``scaled_dot_product_attention`` does the work.

        Raises ``ValueError`` with both sizes where shapes don't fit, ``TypeError`` for a mask of integers and for
        what is no tensor.
        """
        if key is None and value is not None:
            raise ValueError("value came without key; pass key as well: one key for each value.")
        key = query if key is None else key
        value = key if value is None else value
        self._check(query, key, value)
        q, k, v = self._project(query, key, value)  # (*batch, head, query | key, d_k | d_v)
        if mask is not None:
            if not isinstance(mask, Tensor):
                raise TypeError(f"mask is {type(mask).__name__}; give a tensor: torch.as_tensor(mask).")
            mask = over_heads(mask, (*q.shape[:-1], k.shape[-2]))
            mask = mask if mask.dtype == torch.bool else mask.to(q.dtype)
        heads, weights = attend_quickly(q, k, v, mask, self.dropout if self.training else 0.0, need_weights)
        if self.gate is not None:
            heads = heads * self._gate(heads)
        return self.out_proj(merge_quickly(heads, spare=k)), weights  # (*batch, query, d_model)

    def extra_repr(self) -> str:
        """What ``print(module)`` shows."""
        return f"d_model={self.d_model}, num_heads={self.num_heads}, d_k={self.d_k}, d_v={self.d_v}, dropout={self.dropout}"

    @contextmanager
    def without(self, *heads: int) -> Iterator[MultiHeadAttention]:
        """Close these heads inside the ``with``; whatever ``gate`` was before is back after it.

        Raises ``IndexError`` for a head that isn't there.
        """
        for head in heads:
            if not -self.num_heads <= head < self.num_heads:
                raise IndexError(
                    f"head {head} of num_heads = {self.num_heads}; heads count from 0 to {self.num_heads - 1}."
                )
        before, weight, trained = self.gate, self.out_proj.weight, "gate" in self._parameters
        if trained:  # a parameter's place takes no product; gradients still reach it
            del self.gate
            self.register_buffer("gate", None, persistent=False)
        shut = torch.ones(self.num_heads, dtype=weight.dtype, device=weight.device)
        shut[list(heads)] = 0.0
        try:
            self.gate = shut if before is None else before * shut
            yield self
        finally:
            if trained:
                del self.gate
                self.register_parameter("gate", before)
            self.gate = before

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> MultiHeadAttention:
        """A copy with the same weights, dtype, device and mode. Ours is batch first, whatever ``batch_first`` was.

        Raises ``ValueError`` for what we have no place for: ``kdim``, ``vdim``, ``add_bias_kv``, ``add_zero_attn``.
        """
        if not isinstance(module, nn.MultiheadAttention):
            raise TypeError(f"got {type(module).__name__}; from_torch copies an nn.MultiheadAttention.")
        if not module._qkv_same_embed_dim:
            raise ValueError(
                f"embed_dim is {module.embed_dim}, kdim {module.kdim} and vdim {module.vdim}; here all three are one "
                "d_model. Put a Linear in front that maps keys and values to it."
            )
        if module.bias_k is not None or module.add_zero_attn:
            raise ValueError(
                "add_bias_kv and add_zero_attn add keys of their own; append those to key and value."
            )
        options = {"bias": module.in_proj_bias is not None, "dropout": module.dropout}
        ours = cls(module.embed_dim, module.num_heads, **options)
        ours.to(module.in_proj_weight).load_state_dict(module.state_dict())
        return ours.train(module.training)

    def to_torch(self) -> nn.MultiheadAttention:
        """The same weights as an ``nn.MultiheadAttention``, ``batch_first=True``, same dtype, device and mode.

        Raises ``ValueError`` where torch has no such module: inner width ≠ d_model, d_v ≠ d_k, a gate.
        """
        inner = (self.num_heads * self.d_k, self.num_heads * self.d_v)
        if inner != (self.d_model, self.d_model):
            raise ValueError(
                f"the inner widths num_heads · d_k and num_heads · d_v are {inner} and d_model is {self.d_model}; "
                "nn.MultiheadAttention needs all equal. Leave d_k and d_v out."
            )
        if self.gate is not None:
            raise ValueError("nn.MultiheadAttention has no gate; set gate = None first.")
        options = {"dropout": self.dropout, "bias": self.in_proj_bias is not None, "batch_first": True}
        theirs = nn.MultiheadAttention(self.d_model, self.num_heads, **options)
        theirs.to(self.in_proj_weight).load_state_dict(self.state_dict())
        return theirs.train(self.training)

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """q, k and v of all heads, each (*batch, head, position, width).

        Three matmuls, though self-attention could do with a fused one: on the CPU of chapter 05's record they take as
        long, and without gradients each uses the memory that the one before it has freed.
        """
        weights = self.in_proj_weight.split(self.rows)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.split(self.rows)
        inputs = (query, key, value)
        return [self._lay_out(F.linear(*part)) for part in zip(inputs, weights, biases, strict=True)]

    def _lay_out(self, x: Tensor) -> Tensor:
        heads = x.view(*x.shape[:-1], self.num_heads, x.shape[-1] // self.num_heads).transpose(-3, -2)
        # Measured on CPUs: short rows that lie a whole matmul's width apart fight for the same cache lines.
        return heads.contiguous() if x.device.type == "cpu" else heads

    def _gate(self, heads: Tensor) -> Tensor:
        gate, batch = self.gate, tuple(heads.shape[:-3])
        if gate.shape[-1:] != (self.num_heads,) or tuple(gate.shape[:-1]) not in ((), batch):
            raise ValueError(
                f"the gate has shape {tuple(gate.shape)}; num_heads = {self.num_heads} and the batch is {batch}. "
                f"Give it shape {(self.num_heads,)} or {(*batch, self.num_heads)}."
            )
        return gate.to(heads.dtype)[..., None, None]

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        for name, x in (("query", query), ("key", key), ("value", value)):
            if not isinstance(x, Tensor):
                raise TypeError(f"{name} is {type(x).__name__}; give a tensor: torch.as_tensor({name}).")
            if x.dim() < 2:
                raise ValueError(f"{name} has shape {tuple(x.shape)}; it needs (*batch, position, d_model).")
            if x.shape[-1] != self.d_model:
                raise ValueError(
                    f"{name} is {x.shape[-1]} wide and d_model is {self.d_model}. "
                    f"Build the module with d_model={x.shape[-1]}, or project {name} first."
                )
            if x.shape[:-2] != query.shape[:-2]:
                raise ValueError(
                    f"query has batch {tuple(query.shape[:-2])} and {name} has {tuple(x.shape[:-2])}. "
                    f"Give both the same; {name}.expand(...) repeats one without copying."
                )
        if key.shape[-2] != value.shape[-2]:
            raise ValueError(
                f"key has {key.shape[-2]} positions and value has {value.shape[-2]}; each key needs one value. "
                "Take both from the same sequence."
            )
