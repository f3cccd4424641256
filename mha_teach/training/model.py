"""The one small attention model of the experiments, written so that many seeds run as one."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import torch
from torch.nn import functional as F

from mha_teach.attention import attend
from mha_teach.shapes import Float, Tensor
from mha_teach.tasks import Task
from mha_teach.training.lanes import attend_lanes

SCALES = {
    "1/sqrt(d_k)": lambda d_k, d_model: d_k**-0.5,
    "1/d_k": lambda d_k, d_model: 1 / d_k,
    "1/sqrt(d_model)": lambda d_k, d_model: d_model**-0.5,
    "none": lambda d_k, d_model: 1.0,
}


@dataclass(frozen=True)
class Config:
    """Options of the model.

    num_heads, d_k: heads and the width of each; ``d_k=None`` means ``d_model // num_heads``.
    scale: factor on the scores: a number, or one of "1/sqrt(d_k)" (default), "1/d_k", "1/sqrt(d_model)", "none".
    gain: factor on the initial query and key weights, so on the size of q and of k (chapter 02).
    layers, residual: how many attention layers, and whether each adds its input to its output.
    mlp: after each attention a hidden layer of 4·d_model ReLUs (True), of that many (a number), or none (False).
    """

    num_heads: int = 1
    d_k: int | None = None
    d_model: int = 64
    scale: float | str | None = None
    gain: float = 1.0
    layers: int = 1
    residual: bool = False
    mlp: bool | int = False

    @classmethod
    def of(cls, options: dict[str, Any] | Config) -> Config:
        """A checked config from a dict of options.

        Raises TypeError for an unknown option, ValueError for sizes that do not fit.
        """
        if isinstance(options, Config):
            return options
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise TypeError(f"unknown option {unknown[0]!r}; the model takes {', '.join(known)}")
        return cls(**options)

    def __post_init__(self) -> None:
        for name in ("num_heads", "d_model", "layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: take at least 1")
        if self.d_k is None and self.d_model % self.num_heads:
            raise ValueError(
                f"num_heads={self.num_heads} does not divide d_model={self.d_model}: take a divisor, or say "
                f"d_k, for instance d_k={-(-self.d_model // self.num_heads)}; an inner width of "
                f"num_heads·d_k ≠ d_model is allowed"
            )
        if self.d_k is not None and self.d_k < 1:
            raise ValueError(f"d_k={self.d_k}: take at least 1, or None for d_model // num_heads")
        if self.hidden < 0:
            raise ValueError(
                f"mlp={self.mlp}: take a number of ReLUs ≥ 1, True for 4·d_model, or False for none"
            )
        if isinstance(self.scale, str) and self.scale not in SCALES:
            raise ValueError(f"scale={self.scale!r}: take a number or one of {', '.join(SCALES)}")

    @property
    def width(self) -> int:
        """d_k as used."""
        return self.d_model // self.num_heads if self.d_k is None else self.d_k

    @property
    def factor(self) -> float:
        """The number that scores are multiplied by."""
        if self.scale is None or isinstance(self.scale, str):
            return SCALES[self.scale or "1/sqrt(d_k)"](self.width, self.d_model)
        return float(self.scale)

    @property
    def hidden(self) -> int:
        """ReLUs of the MLP after each attention; 0 means none."""
        return 4 * self.d_model if self.mlp is True else int(self.mlp)


Parameters = dict[str, Tensor]


def initial(config: Config, task: Task, seed: int) -> Parameters:
    """Fresh weights of one model, uniform in ±1/√fan_in as ``nn.Linear`` draws them. No biases outside the MLP."""
    inner, d = config.num_heads * config.width, config.d_model
    shapes: dict[str, tuple[int, ...]] = {}
    for i in range(config.layers):
        d_query = task.query_dim if i == 0 else d
        d_item = d if i and task.self_attention else task.item_dim
        if config.residual and d_query != d:
            raise ValueError(
                f"residual=True adds queries of width {d_query} to outputs of width d_model={d}: "
                f"take d_model={d_query} or residual=False"
            )
        shapes |= {f"{i}.q": (d_query, inner), f"{i}.k": (d_item, inner), f"{i}.v": (d_item, inner)}
        shapes[f"{i}.o"] = (inner, d)
        if config.hidden:
            shapes |= {f"{i}.up": (d, config.hidden), f"{i}.up_bias": (config.hidden,)}
            shapes |= {f"{i}.down": (config.hidden, d), f"{i}.down_bias": (d,)}
    shapes["read"] = (d, task.roles * task.values)
    source = torch.Generator().manual_seed(int(seed))
    drawn: Parameters = {}
    for name, shape in shapes.items():
        bound = shape[0] ** -0.5
        drawn[name] = torch.empty(shape).uniform_(-bound, bound, generator=source)
        if name.endswith((".q", ".k")):
            drawn[name] *= config.gain
    return drawn


def stacked(config: Config, task: Task, seeds: list[int]) -> Parameters:
    """Fresh weights of one model per seed, along a new first axis."""
    models = [initial(config, task, seed) for seed in seeds]
    return {name: torch.stack([m[name] for m in models]) for name in models[0]}


def attend_matrices(q: Tensor, k: Tensor, v: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """``attend`` for tensors with the batch as last axis."""
    q, k, v = (t.permute(0, 4, 1, 3, 2) for t in (q, k, v))  # (seed, batch, head, n, d_k)
    out, weights = attend(q, k, v, scale=scale)
    return out.permute(0, 2, 4, 3, 1), weights.permute(0, 2, 3, 4, 1)


def to_lanes(x: Float[Tensor, "seed batch n d"]) -> Float[Tensor, "seed d n batch"]:
    """Batch last, features first: then heads are cut by ``view``, without copying."""
    return x.permute(0, 3, 2, 1).contiguous()


def project(w: Float[Tensor, "seed d_in d_out"], x: Float[Tensor, "seed d_in n batch"]) -> Tensor:
    """``x w`` for every seed, sample and position."""
    return (w.transpose(1, 2) @ x.flatten(2)).unflatten(2, x.shape[2:])


def forward_lanes(
    p: Parameters,
    config: Config,
    items: Float[Tensor, "seed d_item key batch"],
    queries: Float[Tensor, "seed d_query query batch"],
    self_attention: bool = False,
) -> tuple[Float[Tensor, "seed answers query batch"], list[Float[Tensor, "seed head query key batch"]]]:
    """Logits of all roles, one after the other, and each layer's attention weights.

    Every weight carries a seed axis, so seed *s* of the data meets only seed *s* of the weights.
    """
    # Measured: narrow heads and few queries are faster in lanes, wide heads as matrices.
    core = attend_lanes if config.width * queries.shape[2] <= 64 else attend_matrices
    x, seen = queries, []
    for i in range(config.layers):
        source = x if self_attention else items
        q, k, v = (
            project(p[f"{i}.{name}"], t).unflatten(1, (config.num_heads, config.width))
            for name, t in (("q", x), ("k", source), ("v", source))
        )
        out, weights = core(q, k, v, config.factor)
        y = project(p[f"{i}.o"], out.flatten(1, 2))
        x = x + y if config.residual else y
        if config.hidden:
            up = F.relu(project(p[f"{i}.up"], x) + p[f"{i}.up_bias"][:, :, None, None])
            y = project(p[f"{i}.down"], up) + p[f"{i}.down_bias"][:, :, None, None]
            x = x + y if config.residual else y
        seen.append(weights)
    return project(p["read"], x), seen


def forward(
    p: Parameters,
    config: Config,
    items: Float[Tensor, "seed batch key d_item"],
    queries: Float[Tensor, "seed batch query d_query"],
    self_attention: bool = False,
) -> tuple[Float[Tensor, "seed batch query answers"], list[Float[Tensor, "seed batch head query key"]]]:
    """Logits (roles side by side) and each layer's attention weights, for batches as a task yields them."""
    logits, seen = forward_lanes(p, config, to_lanes(items), to_lanes(queries), self_attention)
    return logits.permute(0, 3, 2, 1), [w.permute(0, 4, 1, 2, 3) for w in seen]
