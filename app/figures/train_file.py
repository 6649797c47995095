"""The first rows of a user's file, as they were read."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from app.figures.expressions import Format
from app.figures.live import Live


def file_rows(rows: Sequence[dict[str, str]]) -> Live:
    """rows: of `app.service.training.menu.file_facts`"""
    columns = [[row[name] for row in rows] for name in ("problem", "answer")]
    figure = go.Figure(go.Table(header={"values": ["", ""]}, cells={"values": columns}))
    return Live(figure, {"data[0].header.values": [Format("problem"), Format("right answer")]}, file="innerview-file")
