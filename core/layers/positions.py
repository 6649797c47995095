"""Position encodings: absolute ones, added to the token embedding, and relative ones, applied inside attention.

Absolute: `Sinusoidal`, `Learned`. Relative: `Rotary` rotates queries and keys, `Alibi` and
`T5Bias` add to the scores. Tables that are not learned are buffers. A new scheme also
needs its name among the choices of `position` in `core/config/catalogue.py`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from core.config.families import TransformerConfig


class Sinusoidal(nn.Module):
    """sin(p / 10000^(2i/d)) and cos of the same, side by side (Vaswani et al. 2017, §3.5)."""

    table: Tensor  # (position, d_model)

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        angles = _angles(max_len, d_model)
        table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
        self.register_buffer("table", table, persistent=False)

    def forward(self, positions: Tensor) -> Tensor:
        return self.table[positions]  # (time, d_model)


class Learned(nn.Embedding):
    """One trained vector per position; `offset` rows before the first are never used (RoBERTa's are for padding)."""

    def __init__(self, max_len: int, d_model: int, offset: int = 0):
        super().__init__(max_len + offset, d_model)
        self.offset = offset

    def forward(self, input: Tensor) -> Tensor:
        """Positions (time,) → (time, d_model)"""
        return super().forward(input + self.offset if self.offset else input)


class RelativePosition(nn.Module):
    """Base of the encodings inside attention; by itself the identity: no rotation, no bias."""

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """(batch, head, time, d_head) → the same shape, rotated by its positions"""
        return x

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        """Positions of queries and keys → (head, query, key), added to the scores."""
        return None


class Rotary(RelativePosition):
    """RoPE: rotates the pair (x_2i, x_2i+1) by p / 10000^(2i/d), so that q·k depends on the offset only.

    Su et al. 2021, arxiv.org/abs/2104.09864
    """

    cos: Tensor  # (position, d_head / 2)
    sin: Tensor

    def __init__(self, max_len: int, d_head: int):
        super().__init__()
        angles = _angles(max_len, d_head)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        cos, sin = self.cos[positions], self.sin[positions]  # (time, d_head / 2)
        even, odd = x[..., 0::2], x[..., 1::2]  # (batch, head, time, d_head / 2)
        return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)


class Alibi(RelativePosition):
    """ALiBi: −slope · distance, one slope per head (Press et al. 2022, arxiv.org/abs/2108.12409)."""

    slopes: Tensor  # (head,)

    def __init__(self, n_heads: int):
        super().__init__()
        self.register_buffer("slopes", torch.tensor(alibi_slopes(n_heads)), persistent=False)

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor:
        distance = (queries[:, None] - keys).abs()  # (query, key)
        return -self.slopes[:, None, None] * distance


class T5Bias(RelativePosition):
    """A trained bias per head and bucket of offsets (Raffel et al. 2020, arxiv.org/abs/1910.10683).

    Half of the buckets hold a single offset each; the other half grow logarithmically up to `max_distance`.
    """

    def __init__(self, n_heads: int, n_buckets: int, max_distance: int, two_sided: bool):
        super().__init__()
        self.n_buckets, self.max_distance, self.two_sided = n_buckets, max_distance, two_sided
        self.table = nn.Embedding(n_buckets, n_heads)

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor:
        buckets = t5_bucket(keys - queries[:, None], self.n_buckets, self.max_distance, self.two_sided)
        return self.table(buckets).permute(2, 0, 1)  # (query, key, head) → (head, query, key)


def alibi_slopes(n_heads: int) -> list[float]:
    """2^(−8/n), 2^(−16/n), …; for n not a power of two, the gaps are filled from the next power's slopes."""
    power = 2 ** math.floor(math.log2(n_heads))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    between = [2 ** (-4 * (i + 1) / power) for i in range(0, 2 * (n_heads - power), 2)]
    return slopes + between


def t5_bucket(offset: Tensor, n_buckets: int, max_distance: int, two_sided: bool) -> Tensor:
    """The bucket of an offset key − query. One-sided: later keys count as distance 0."""
    side = torch.zeros_like(offset)
    if two_sided:
        n_buckets //= 2
        side = (offset > 0) * n_buckets
        distance = offset.abs()
    else:
        distance = (-offset).clamp(min=0)
    exact = n_buckets // 2
    growth = torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact)
    far = (exact + (growth * (n_buckets - exact)).long()).clamp(max=n_buckets - 1)
    return side + torch.where(distance < exact, distance, far)


def absolute_position(config: TransformerConfig) -> nn.Module | None:
    if config.position == "sinusoidal":
        return Sinusoidal(config.max_len, config.d_model)
    if config.position == "learned":
        return Learned(config.max_len, config.d_model, getattr(config, "position_offset", 0))
    return None


def relative_position(config: TransformerConfig, two_sided: bool) -> RelativePosition:
    if config.position == "rope":
        return Rotary(config.max_len, config.head_width)
    if config.position == "alibi":
        return Alibi(config.n_heads)
    if config.position == "t5":
        return T5Bias(config.n_heads, config.n_buckets, config.max_distance, two_sided)
    return RelativePosition()


def _angles(max_len: int, width: int) -> Tensor:
    """(position, width / 2): p / 10000^(2i / width) modulo 2π, taken in float64: float32 would blur far positions"""
    frequency = 10_000 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    return (torch.arange(max_len, dtype=torch.float64)[:, None] * frequency).remainder(2 * math.pi).float()
