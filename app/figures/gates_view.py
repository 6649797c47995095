"""What the Gates tab's figures are drawn from: one recurrent layer's gates and states, its units' measures, and facts read off them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from app.figures.axes import plain_text, shortened
from app.figures.expressions import Array, Choose, Expression, Fill, Format, State

ORDER = ("forget", "reset", "input", "update", "candidate", "output", "cell", "hidden")  # as the equations go
SIGNED = ("candidate", "hidden", "cell")  # the others are gates, 0…1
MEMORY_GATE = {"lstm": "forget", "gru": "update"}  # the gate that multiplies the previous state
KEPT_STATE = {"lstm": "cell", "gru": "hidden"}  # which that is
CLEAR = 0.9  # |r| from which a unit is said to follow a signal
SOME = 0.1  # of the tokens: fewer are exceptions
WHOLE = 0.9  # of the old state kept at a token: less is fading
MOST_NAMED = 3  # kinds of token that are named in a sentence
STILL, PEAK = 0.1, 1.25  # a change of the swing that is not told; how far above both ends a peak is
SORT_KINDS = ("index", "saturation", "memory", "follows")
MEMORY_KINDS = ("none", "holds", "fades", "switches", "mixed", "anew")


@dataclass
class RecurrentView:
    """One recurrent layer in one direction, of a run on one input, at every snapshot of its training.

    values        point → (snapshot, time, unit): gates and states
    initial       state → (snapshot, unit): before the first token
    signals       name → (time,): what a unit may follow: "parity", "position", "token 3"
    correlations  (signal, point, snapshot, unit), points in the order of `points`
    saturation    (point, snapshot, unit): share of the tokens at an end of the range; None where there is no range
    half_life     (snapshot, unit) by the memory gate; None where there is none
    paths         state → (snapshot, 1 + time, 2) coordinates, (snapshot, 2) shares of the variance
    """

    name: str
    kind: str  # "lstm", "gru" or "rnn"
    tokens: list[str]
    steps: list[int]
    values: dict[str, np.ndarray]
    initial: dict[str, np.ndarray]
    signals: Mapping[str, Any] = field(default_factory=dict)
    correlations: np.ndarray | None = None
    saturation: np.ndarray | None = None
    half_life: np.ndarray | None = None
    paths: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    axis: str = "source"
    activation: str = "tanh"
    backwards: bool = False
    point_names: Mapping[str, Any] = field(default_factory=dict)
    file: str = "gates"

    @property
    def points(self) -> list[str]:
        return [point for point in ORDER if point in self.values]

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """point → (snapshot, time, unit)"""
        return {point: Array(f"{self.name}.{point}", self.values[point]) for point in self.points}

    @cached_property
    def sorts(self) -> dict[str, np.ndarray | None]:
        """Name of a sorting → (point, snapshot, unit): the number it gives each unit; the largest stand on top."""
        shape = len(self.points), *self.values["hidden"].shape[::2]
        sorts: dict[str, np.ndarray | None] = {"index": None}
        if self.saturation is not None:
            sorts["saturation"] = self.saturation
        if self.half_life is not None:
            sorts["memory"] = np.broadcast_to(self.half_life, shape)
        for name, values in zip(
            self.signals, self.correlations if self.correlations is not None else (), strict=True
        ):
            sorts[f"follows {name}"] = values
        return sorts

    @property
    def sort_kinds(self) -> list[int]:
        return [SORT_KINDS.index(name.split(" ")[0]) for name in self.sorts]

    @cached_property
    def measure(self) -> Array:
        """(sort, point, snapshot, unit): the number beside each unit"""
        snapshots, _, units = self.values["hidden"].shape
        none = np.zeros((len(self.points), snapshots, units), np.float32)
        return self._array("measure", np.stack([none if one is None else one for one in self.sorts.values()]))

    @cached_property
    def order(self) -> Array:
        """(sort, point, unit): which unit stands in each row, by the end of training, so that units keep their rows"""
        return self._array("order", np.argsort(-np.abs(self.measure.values[:, :, -1]), -1, kind="stable"))

    @cached_property
    def rank(self) -> Array:
        """(sort, point, unit): the row of each unit"""
        return self._array("rank", np.argsort(self.order.values, -1, kind="stable"))

    @property
    def point_index(self) -> Expression:
        return Choose(State("gate"), {name: i for i, name in enumerate(self.points)})

    @property
    def sort_index(self) -> Expression:
        return Choose(State("sort"), {name: i for i, name in enumerate(self.sorts)})

    @property
    def by_point(self) -> tuple[Any, ...]:
        return self.sort_index, self.point_index

    @property
    def time(self) -> Expression:
        """The chosen position, within this input."""
        return self._array("positions", np.arange(len(self.tokens)))["time"]

    @property
    def unit(self) -> Expression:
        return self._array("units", np.arange(self.values["hidden"].shape[-1]))["unit"]

    @property
    def step(self) -> Expression:
        return Array("steps", np.asarray(self.steps, np.int32))["snapshot"]

    def point_name(self, point: str) -> Any:
        return self.point_names.get(point, Fill(point))

    @property
    def chosen_name(self) -> Expression:
        return Choose(State("gate"), {point: self.point_name(point) for point in self.points})

    def limit(self, point: str) -> np.ndarray:
        """(unit,): 1, or of what has no bound the largest that a unit ever is, the same through all of the training"""
        values = self.values[point]
        if point not in SIGNED or (point != "cell" and self.activation == "tanh"):
            return np.ones(values.shape[-1], np.float32)
        finite = np.where(np.isfinite(values), np.abs(values), 0)
        return np.maximum(1e-6, finite.max((0, 1))).astype(np.float32)

    @cached_property
    def follows(self) -> dict[str, Array]:
        """(sort, point, snapshot) each: kind (0: no more than chance, 1: near, 2: one, 3: many), unit, r, many"""
        size = np.abs(self.measure.values)
        best, largest = size.argmax(-1), size.max(-1)
        many = (size >= CLEAR).sum(-1)
        kind = np.where(largest <= self.by_chance, 0, np.where(largest < CLEAR, 1, np.where(many > 1, 3, 2)))
        r = np.take_along_axis(self.measure.values, best[..., None], -1)[..., 0]
        return self._arrays("follows", kind=kind, unit=best, r=r, many=many)

    @property
    def by_chance(self) -> float:
        """What the best of so many unrelated units reaches: artanh r is about normal with σ = 1/√(n − 3) (Fisher 1915)."""
        units, length = self.values["hidden"].shape[-1], len(self.tokens)
        return float(np.tanh(np.sqrt(2 * np.log(2 * units)) / np.sqrt(length - 3))) if length > 3 else 1.0

    @cached_property
    def sizes(self) -> dict[str, Array]:
        """(point, snapshot) each: mean value of a gate or mean |value| of a state; units at an end of their range"""
        mean = [(np.abs(v) if point in SIGNED else v).astype(float).mean((1, 2)) for point, v in self._ordered()]
        saturation = self.saturation if self.saturation is not None else np.zeros_like(self.measure.values[0])
        return self._arrays(
            "size", mean=np.stack(mean), full=(saturation >= 0.9).sum(-1), saturated=saturation.mean(-1)
        )

    @cached_property
    def best_signal(self) -> dict[str, Array]:
        """(snapshot, unit) each: 1 + the signal that the hidden state is closest to (0: none), and r"""
        shape = self.values["hidden"].shape[::2]
        if self.correlations is None or not len(self.correlations):
            return self._arrays("signal", index=np.zeros(shape, int), r=np.zeros(shape))
        hidden = self.correlations[:, self.points.index("hidden")]  # (signal, snapshot, unit)
        best = np.abs(hidden).argmax(0)
        r = np.take_along_axis(hidden, best[None], 0)[0]
        return self._arrays("signal", index=np.where(r == 0, 0, best + 1), r=r)

    @cached_property
    def swing(self) -> dict[str, Array]:
        """(point, unit) each: the range over the tokens through training; kind 0: one snapshot, 1: same, 2: grew, 3: shrank"""
        swing = np.stack([values.max(1) - values.min(1) for _, values in self._ordered()]).astype(np.float32)
        start, end, peak = swing[:, 0], swing[:, -1], swing.max(1)  # (point, unit)
        steps, grew, half = np.asarray(self.steps), end > start, (start + end) / 2
        halfway = np.where(grew[:, None], swing >= half[:, None], swing <= half[:, None]).argmax(1)
        same = np.abs(end - start) <= STILL * np.maximum(start, end)
        kind = np.zeros(start.shape) if len(steps) < 2 else np.where(same, 1, np.where(grew, 2, 3))
        peaked = (peak > PEAK * np.maximum(start, end)) & (len(steps) > 1)
        return self._arrays(
            "swing", kind=kind.astype(int), start=start, end=end, step=steps[halfway], peaked=peaked.astype(int),
            peak=peak, peak_step=steps[swing.argmax(1)],
        )  # fmt: skip

    @cached_property
    def memory(self) -> Memory:
        """What each unit does with its state: holds it, lets it fade, or writes it anew."""
        return Memory(self)

    def _ordered(self) -> list[tuple[str, np.ndarray]]:
        return [(point, self.values[point]) for point in self.points]

    def _array(self, name: str, values: np.ndarray) -> Array:
        kind = np.float32 if np.issubdtype(values.dtype, np.floating) else np.int32
        return Array(f"{self.name}.{name}", np.ascontiguousarray(values, kind))

    def _arrays(self, group: str, **values: np.ndarray) -> dict[str, Array]:
        return {name: self._array(f"{group}.{name}", value) for name, value in values.items()}


class Memory:
    """Told from both terms of a unit's own equation, c_t = f c_before + i g or h_t = z h_before + (1 − z) n, token by token.

    A token at which the old term is the larger one keeps, the others write anew; tokens that find nothing to keep do not
    count. arrays, (snapshot, unit) each: kind (of `MEMORY_KINDS`), kept, fresh and all (how many tokens), share (of the old
    state that is kept where it is kept, geometric mean), held (steps to a half at that rate), where (in `places`).
    """

    def __init__(self, view: RecurrentView):
        values, gate_name = view.values, MEMORY_GATE[view.kind]
        state, first = values[KEPT_STATE[view.kind]].astype(float), view.initial[KEPT_STATE[view.kind]][:, None]
        gate, candidate = values[gate_name].astype(float), values["candidate"].astype(float)
        before = np.concatenate([state[:, 1:], first] if view.backwards else [first, state[:, :-1]], 1)
        new = values["input"] * candidate if view.kind == "lstm" else (1 - gate) * candidate
        counts = before != 0  # (snapshot, time, unit)
        self.kept = counts & (np.abs(gate * before) >= np.abs(new))
        self.fresh = counts & ~self.kept
        every, kept, fresh = counts.sum(1), self.kept.sum(1), self.fresh.sum(1)
        logs = np.where(self.kept, np.log(np.clip(gate, 1e-6, 1 - 1e-6)), 0).sum(1) / np.maximum(1, kept)
        share = np.exp(logs)
        held = np.log(0.5) / np.minimum(logs, -1e-9)
        seldom, whole = fresh <= SOME * every, share >= WHOLE
        kind = np.where(seldom, np.where(whole, 1, 2), np.where(whole, 3, 4))
        kind = np.where(every == 0, 0, np.where(kept <= SOME * every, 5, kind))
        self.tokens = view.tokens
        self.places: list[tuple[str, ...]] = [()]
        where = np.zeros(kind.shape, int)
        for snapshot, unit in np.argwhere((kind == 3) | (kind == 4)):
            place = self._place(snapshot, unit)
            if place not in self.places:
                self.places.append(place)
            where[snapshot, unit] = self.places.index(place)
        self.arrays = view._arrays(
            "memory", kind=kind, kept=kept, fresh=fresh, all=every, share=share, held=held, where=where
        )
        lives = view.half_life if view.half_life is not None else np.zeros(kind.shape)
        middle = np.sort(lives, -1)[:, lives.shape[-1] // 2]
        self.summary = view._arrays(
            "memory.all", unit=lives.argmax(-1), steps=lives.max(-1), middle=middle, switches=(kind == 3).sum(-1)
        )  # (snapshot,) each
        self.half_life = view._array("half_life", lives)

    def _place(self, snapshot: int, unit: int) -> tuple[str, ...]:
        """The kinds of token at which it is written anew, if that is at every one of these and at no other."""
        kinds = dict.fromkeys(self.tokens[t] for t in np.flatnonzero(self.fresh[snapshot, :, unit]))
        others = {self.tokens[t] for t in np.flatnonzero(self.kept[snapshot, :, unit])}
        told = len(kinds) <= MOST_NAMED and others and others.isdisjoint(kinds)
        return tuple(kinds) if told else ()


def quoted(token: str, most: int = 24) -> str:
    """A token within a sentence whose **stressed** parts are bold: cut, kept in its own direction, its stars left stars."""
    return f"\u2068{shortened(token, most)}\u2069".replace("**", "*\u2060*")


def signal_name(name: str) -> Expression:
    if name == "parity":
        return Format("the running parity")
    if name == "position":
        return Format("the position")
    return Format("“this token is {token}”", token=quoted(name.removeprefix("token ")))


def sort_name(name: str) -> Expression:
    if name.startswith("follows "):
        return signal_name(name.removeprefix("follows "))
    return {
        "index": Format("unit number"),
        "saturation": Format("saturation"),
        "memory": Format("half-life by its gate"),
    }[name]


def escaped_name(token: str, most: int = 8) -> str:
    return plain_text(shortened(token, most))
