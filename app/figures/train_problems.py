"""The same few held-out problems at a step of a training: what the model says, and what would be right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from app.figures.expressions import Format, Join
from app.figures.live import Live
from app.figures.theme import colour
from app.figures.tokens import in_languages

MOST = 40  # tokens of a problem that are written out


def held_out_problems(problems: Sequence[dict[str, Any]], step: int, file: str = "run") -> Live:
    """problems: of a probe (`core.jobs.worker.probe`), its texts by language."""
    shortened = [
        " ".join(p["tokens"] if len(p["tokens"]) <= MOST else [*p["tokens"][: MOST - 1], "…"]) for p in problems
    ]
    said, wanted = ([_joined(p[part]) for p in problems] for part in ("said", "right"))
    figure = go.Figure(go.Table(header={"values": ["", "", "", ""]}, cells={"values": [[], [], [], []]}))
    tones = [colour("good") if p["ok"] else colour("bad") for p in problems]
    ink, mute = ([colour(name)] * len(problems) for name in ("ink", "mute"))
    right = sum(p["ok"] for p in problems)
    facts = {"step": step, "right": right, "all": len(problems)}
    return Live(
        figure,
        {
            "data[0].header.values": ["", Format("problem"), Format("it says"), Format("right answer")],
            "data[0].cells.values": [["✓" if p["ok"] else "✗" for p in problems], shortened, said, wanted],
            "data[0].cells.font.color": [tones, ink, tones, mute],
        },
        title=Format("The same held-out problems, seen by nobody in training"),
        caption=Format("Step {step:,}: all **{all}** right.", **facts)
        if right == len(problems)
        else Format("Step {step:,}: **{right}** of {all} right.", **facts)
        if right
        else Format("Step {step:,}: none of {all} right.", **facts),
        table={"problem": shortened, "said": said, "right": wanted, "ok": [p["ok"] for p in problems]},
        file=f"innerview-problems-{file}",
    )  # fmt: skip


def _joined(words: Sequence[Any]) -> Any:
    parts = [in_languages(word) for word in words]
    return Join(parts, 0, len(parts) - 1) if parts else "–"
