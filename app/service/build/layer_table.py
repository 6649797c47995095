"""The classic table of one recurrent, one convolutional and one attention layer: stated complexities, and what is measured here."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from app.figures.numbers import fixed
from app.i18n import translate
from core.analysis.layer_costs import STATED, LayerCost
from core.translatable import Text

NAMES = {"rnn": Text("recurrent"), "cnn": Text("convolution"), "attention": Text("self-attention")}
COLUMNS = [Text("layer"), Text("cost"), Text("steps in a row"), Text("longest path"), Text("parallel in n")]
MEASURED = [Text("operations, 2n"), Text("time, 2n"), Text("chain, n → 2n"), Text("path, n → 2n")]


def layer_table(measured: Sequence[LayerCost], language: str) -> pd.DataFrame:
    """One row a layer; the measured columns only once there is something measured."""
    by_name = {layer.name: layer for layer in measured}
    rows = []
    for name, stated in STATED.items():
        row = [translate(NAMES[name], language), *stated]
        row.append(translate(Text("yes") if stated[1] == "1" else Text("no"), language))
        rows.append(row + (_measured(by_name[name]) if name in by_name else []))
    columns = [translate(title, language) for title in [*COLUMNS, *(MEASURED if measured else [])]]
    return pd.DataFrame(rows, columns=pd.Index(columns))


def _measured(layer: LayerCost) -> list[str]:
    ratios = [f"× {fixed(long / short, 2)}" for short, long in (layer.flops, layer.seconds)]
    return ratios + [f"{short:,} → {long:,}" for short, long in (layer.chain, layer.hops)]


def layer_caption(measured: Sequence[LayerCost], language: str) -> str:
    if not measured:
        return translate(
            Text("The classic table, for n tokens of width d and kernels of size k. Measure it on this machine."),
            language,
        )
    rnn, attention = (next(layer for layer in measured if layer.name == name) for name in ("rnn", "attention"))
    return translate(Text(
        "From 256 to 512 tokens, width 64, kernel 3: the recurrent layer's chain of operations grows **{chain:.2f} ×**, "
        "that of attention stays at {own}, while its operations grow **{flops:.2f} ×**.",
        chain=rnn.chain[1] / rnn.chain[0], own=attention.chain[0], flops=attention.flops[1] / attention.flops[0],
    ), language)  # fmt: skip
