"""Results of `learn` as a printed line and as the page docs/learning.md."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.runs.recipes import Recipe
    from tests.bench.learn import LearningResult

FIRST_MEASURED = {  # steps until solved, median or range (and seeds solved, where counted), of the first experiments
    "rnn/parity": "105 (5/5)",
    "gru/parity": "35 (5/5)",
    "lstm/parity": "35 (5/5)",
    "gpt/parity": "1200–2550 (4/5)",
    "gpt/scratchpad parity": "20–40 (4/5)",
    "transformer/copy": "30–40 (5/5)",
    "transformer/copy/learned": "50–70 (5/5)",
    "transformer/copy/t5": "140–170 (5/5)",
    "transformer/copy/sinusoidal": "290–430 (5/5)",
    "transformer/copy/alibi": "410–650 (3/3)",
    "gpt/copy": "40–50 (5/5)",
    "gpt/copy/any-length": "– (0/2)",
    "seq2seq/copy": "380–580 (3/3)",
    "seq2seq/copy/luong-dot": "900–1100 (2/3)",
    "seq2seq/copy/luong-general": "900–1100 (2/3)",
    "seq2seq/copy/luong-concat": "900–1100 (2/3)",
    "seq2seq/copy/no-attention": "480–720 (2/3)",
    "transformer/reverse": "40–50",
    "transformer/reverse/any-length": "–, 93–97 %",
    "gpt/reverse": "60",
    "seq2seq/reverse": "260",
    "seq2seq/reverse/luong": "420–480",
    "transformer/sort": "–, 98 %",
    "gpt/induction": "180–190 (5/5)",
}
INTRODUCTION = """# How fast the recipes learn

Written by `make bench-learn`; rows are measured again when their recipe changes. `make bench-learn ONLY="gpt/copy"`
measures some of them.

Five seeds each, one thread. *Solved*: seeds that meet the goal, 99 % of held-out answers right unless stated otherwise,
at the end of training; sequences are written without help, and every token counts; a text that goes on (induction,
scratchpad parity, characters) is read as it stands. *Steps* and *seconds* (of CPU, training alone) until the goal is
first met: median, and range over the seeds; rows measured at different times may be of different machines, so compare
their steps. *First measured*: steps, before anything was tuned. *Source*: the result of the variant `source`, which
memorises a fixed set of problems.
"""
LONGER = """## Longer than in training

The longest problems in training have 20 bits. Share of right answers after the last bit: median, and range over the
seeds.
"""
ALIGNED = """## Alignment of cross-attention

The weight of the best cross-attention head on the source tokens of the task's ideal alignment, at the end of
training, on the longest held-out problems: median, and range over the seeds.
"""
MEANT_TO_FAIL = """## Meant to fail

Accuracy on held-out problems at the end, and the reason.
"""


Row = dict[str, str]  # column → cell, of one recipe


def summary(runs: list[LearningResult]) -> Row:
    """solved, steps, seconds; worst and accuracy at the end; agreement; and the accuracy at each length."""
    row = {
        "solved": f"{sum(run.solved for run in runs)}/{len(runs)}",
        "steps": spread([run.step for run in runs if run.step is not None], ".0f"),
        "seconds": format(statistics.median(run.seconds for run in runs), ".1f"),
        "worst": f"{min(run.final for run in runs):.1%}",
        "accuracy": spread([run.final for run in runs], ".0%"),
    }
    agreements = [run.agreement for run in runs if run.agreement is not None]
    if agreements:
        row["agreement"] = spread(agreements, ".2f")
    return row | {f"length {n}": spread([run.by_length[n] for run in runs], ".1%") for n in runs[0].by_length}


def spread(values: list[float], form: str) -> str:
    """median (least–most)"""
    if not values:
        return "–"
    middle, least, most = (format(v, form) for v in (statistics.median(values), min(values), max(values)))
    return middle if least == most else f"{middle} ({least}–{most})"


def format_row(name: str, row: Row) -> str:
    first = FIRST_MEASURED.get(name, "")
    return f"{name:<36} {row['solved']:>5}  {row['steps']:<20} {row['seconds']:>7} s  worst {row['worst']:>6}  first {first}"


def page(rows: dict[str, tuple[Recipe, Row | None]]) -> str:
    """rows: name → its recipe and its row, None if not measured yet"""
    learnt, failing, lengths, aligned = [], [], [], []
    for name, (recipe, row) in rows.items():
        if recipe.why is None:
            learnt.append([name, *_cells(name, recipe, row, rows)])
        else:
            failing.append([name, row["accuracy"] if row else "not measured", str(recipe.why)])
        by_length = {title: cell for title, cell in (row or {}).items() if title.startswith("length ")}
        if by_length and recipe.why is None:
            lengths.append({"recipe": name, **by_length})
        if row and "agreement" in row and recipe.why is None:
            aligned.append([name, row["agreement"]])
    titles = ["recipe", "solved", "steps", "seconds", "worst at the end", "first measured", "source"]
    parts = [INTRODUCTION, _table(titles, learnt)]
    if lengths:
        parts += [LONGER, _table(list(lengths[0]), [list(row.values()) for row in lengths])]
    if aligned:
        parts += [ALIGNED, _table(["recipe", "agreement"], aligned)]
    parts += [MEANT_TO_FAIL, _table(["recipe", "accuracy", "why"], failing)]
    return "\n".join(parts)


def _cells(name: str, recipe: Recipe, row: Row | None, rows: dict) -> list[str]:
    source_row = rows.get(f"{name}/source", (None, None))[1]
    source = f"{source_row['solved']}, {source_row['accuracy']}" if source_row else ""
    first = FIRST_MEASURED.get(name, "")
    if row is None:
        return ["not measured", "", "", "", first, source]
    goal = "" if recipe.goal == 0.99 else f" (goal {recipe.goal:.0%})"
    return [row["solved"] + goal, row["steps"], row["seconds"], row["worst"], first, source]


def _table(titles: list[str], rows: list[list[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
