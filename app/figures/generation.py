"""Behind one generated token: where the model looked, and gates and states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from app.figures.expressions import Affine, Array, Choose, Fill, First, Format, Sentences, State, Term
from app.figures.live import Live
from app.figures.matrix import matrix
from app.figures.theme import SIGNED, WEIGHT
from app.figures.tokens import quoted, seen

POINTS = {  # gates and states, in the order of the equations
    "forget": Term("gate", "forget"),
    "reset": Term("gate", "reset"),
    "input": Term("gate", "input"),
    "update": Term("gate", "update"),
    "candidate": Term("gate", "candidate"),
    "output": Term("gate", "output"),
    "cell": Term("gate", "cell"),
    "hidden": Term("gate", "hidden"),
}
GATES = ("forget", "reset", "input", "update", "output")  # from 0 to 1
OPEN, SHUT = 0.9, 0.1


@dataclass
class GenerationView:
    """One generated text: what was read, its tokens, and the distribution behind every one.

    steps    a `distribution` (app.service.generation.decode_trace) for every token
    tree     of a beam search: for every token its candidates
    tokens   the vocabulary; of a large one only the ids that occur, by their decimal digits, and its "length"
    score    of the text
    file     what a kept picture's name begins with
    """

    read: list[str]
    text: list[str]
    steps: list[dict[str, Any]]
    tree: list[list[dict[str, Any]]]
    tokens: Any
    score: float = 0.0
    file: str = "run"

    def token(self, index: int) -> str:
        return self.tokens[index] if isinstance(self.tokens, list) else self.tokens[str(index)]

    @property
    def vocabulary_size(self) -> int:
        return len(self.tokens) if isinstance(self.tokens, list) else self.tokens["length"]

    @cached_property
    def nodes(self) -> list[dict[str, Any]]:
        """The candidates of a beam search, level by level, each with its `level` and `place`."""
        return [
            node | {"level": level, "place": place}
            for level, nodes in enumerate(self.tree)
            for place, node in enumerate(nodes)
        ]

    @property
    def at(self) -> Any:
        """The chosen token, within the text."""
        return Array("text.token", np.arange(len(self.steps), dtype=np.int32))["token"]

    def by_token(self, name: str, values: Any, kind: Any = np.float32) -> Any:
        return Array(f"text.{name}", np.asarray(values, kind))["token"]


def attended(view: GenerationView, name: str, weights: np.ndarray, is_alignment: bool) -> Live:
    """Rows: the heads of the attention that reads the source or, where there is none, the text; columns: what they could
    look at when they wrote this token. weights: (layer, head, token, key)
    """
    layers, heads, tokens, keys = weights.shape
    read, wrote = [seen(token) for token in view.read], [seen(token) for token in view.text]
    columns = (read if name == "cross" else [*read, *wrote])[:keys]
    counts = np.array(
        [len(columns) if name == "cross" else min(len(columns), len(read) + at) for at in range(tokens)], np.int32
    )
    array = Array(f"{name}.weights", weights)
    pairs = [(layer, head) for layer in range(layers) for head in range(heads)]
    rows: list[Any] = [
        Format("the alignment") if is_alignment else Format("head {head}", head=f"{layer}.{head}")
        for layer, head in pairs
    ]
    best = []
    for at, count in enumerate(counts):
        seen_weights = weights[:, :, at, :count].reshape(len(rows), count)
        best.append(np.unravel_index(seen_weights.argmax(), seen_weights.shape))
    top = np.array([weights[pairs[row][0], pairs[row][1], at, key] for at, (row, key) in enumerate(best)], np.float32)
    count = view.by_token("looked.count", counts, np.int32)
    return matrix(
        rows,
        columns,
        {
            "z": [First(array[layer, head, "token"], count) for layer, head in pairs],
            "zmin": 0,
            "zmax": 1,
            "colorscale": WEIGHT,
            "layout.xaxis.range": [-0.5, Affine(count, offset=-0.5)],
        },
        260,
        title=Format("Where it looked when it wrote this token"),
        caption=Format(
            "Writing **{token}**, {head} put {weight:.0%} of its weight on **{to}**.",
            token=Choose(view.at, [quoted(token) for token in wrote]),
            head=Choose(view.by_token("looked.head", [row for row, _ in best], np.int32), rows),
            weight=view.by_token("looked.weight", top),
            to=Choose(view.by_token("looked.key", [key for _, key in best], np.int32), [quoted(token) for token in columns]),
        ),
        file=f"{view.file}-looked",
        tip=Format(
            "{head} → {token}: {weight:.3f}",
            head=Choose(State("y"), rows),
            token=Choose(State("x"), columns),
            weight=Choose(State("y"), [array[layer, head, "token", "x"] for layer, head in pairs]),
        ),
    )  # fmt: skip


def gates(view: GenerationView, points: dict[str, np.ndarray]) -> Live:
    """Rows: the gates and states of every layer that writes; columns: units; at the step that chose this token.

    points: name → (token, unit)
    """
    order = list(POINTS)
    parsed = sorted(
        (int(name.split("layers.")[1].split(".")[0]), order.index(name.split(".")[-1]), name) for name in points
    )
    deep = any(layer for layer, _, _ in parsed)
    rows: list[Any] = [
        Fill("{layer} {point}", layer=layer, point=POINTS[order[kind]]) if deep else POINTS[order[kind]]
        for layer, kind, _ in parsed
    ]
    arrays = [Array(name, points[name]) for _, _, name in parsed]
    values = np.stack([array.values for array in arrays], 1)  # (token, point, unit)
    kinds = [order[kind] for _, kind, _ in parsed]
    states = values[:, len(kinds) - 1 - kinds[::-1].index("hidden")]  # (token, unit)
    most = np.abs(states).argmax(1)
    limit = view.by_token("gates.limit", np.maximum(1, np.abs(values).max((1, 2))))
    sentences: list[Any] = [
        Format(
            "At the step that chose **{token}**, unit {unit} holds the most: {value:+.2f}.",
            token=Choose(view.at, [quoted(seen(token)) for token in view.text]),
            unit=view.by_token("gates.unit", most, np.int32),
            value=view.by_token("gates.value", states[np.arange(len(states)), most]),
        )
    ]
    last = max((i for i, kind in enumerate(kinds) if kind in GATES), default=None)
    if last is not None:
        sentences.append(
            Format(
                "The gate “{gate}” is above 0.9 in {open} of {of} units and below 0.1 in {shut}.",
                gate=rows[last],
                open=view.by_token("gates.open", (values[:, last] > OPEN).sum(1), np.int32),
                shut=view.by_token("gates.shut", (values[:, last] < SHUT).sum(1), np.int32),
                of=states.shape[1],
            )
        )
    return matrix(
        rows,
        states.shape[1],
        {
            "z": [array["token"] for array in arrays],
            "zmin": Affine(limit, -1.0),
            "zmax": limit,
            "colorscale": SIGNED,
        },
        220,
        title=Format("Gates and states that chose this token"),
        caption=Sentences(sentences),
        file=f"{view.file}-gates",
        tip=Format(
            "{what}, unit {unit}: {value:+.3f}",
            what=Choose(State("y"), rows),
            unit=State("x"),
            value=Choose(State("y"), [array["token", "x"] for array in arrays]),
        ),
    )
