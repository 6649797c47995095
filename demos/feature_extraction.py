"""Feature extraction: the vectors of a small BERT that has only ever filled in masked words, as descriptions of
sentences.

Expected: sentences with the same verb lie closer together than others (difference of cosines clearly above 0), more
so than in a BERT that has not been trained.
"""

from __future__ import annotations

import plotly.graph_objects as go
import torch
from torch import Tensor

import core
from core.measures import principal_axes
from demos.stage import Stage, play

SENTENCES = [
    "the doctor lost a chair.", "a student lost the map.", "Mary lost an umbrella.", "the child lost the book.",
    "the doctor bought a chair.", "a student bought the map.", "Mary bought an umbrella.", "the child bought the book.",
]  # fmt: skip


def demo(stage: Stage) -> dict[str, float]:
    run = stage.train(stage.recipe("bert", "masked words"))
    task = run.task
    torch.manual_seed(stage.seed)
    found = {}
    for name, model in (("untrained", core.build(run.model.config).eval()), ("trained", run.model)):
        vectors = torch.stack([describe(model, task, sentence) for sentence in SENTENCES])  # (sentence, d_model)
        alike = torch.nn.functional.cosine_similarity(vectors[:, None], vectors[None], dim=-1)
        verb = torch.arange(len(SENTENCES)) // 4
        same = (verb[:, None] == verb) & ~torch.eye(len(SENTENCES), dtype=torch.bool)
        other = verb[:, None] != verb
        found[name] = float(alike[same].mean() - alike[other].mean())
        print(f"  {name}: cosine within a verb − across verbs = {found[name]:+.3f}")
    centre, axes, _ = principal_axes(vectors, 2)
    points = (vectors - centre) @ axes.T  # (sentence, 2)
    figure = go.Figure(
        go.Scatter(x=points[:, 0].tolist(), y=points[:, 1].tolist(), text=SENTENCES, mode="markers+text")
    )
    stage.show("features", figure.update_layout(title="Sentences by their two principal components"))
    return found


def describe(model: torch.nn.Module, task: core.Task, sentence: str) -> Tensor:
    """(d_model,): the mean of the last layer over the sentence's own tokens"""
    ids = torch.tensor([[task.ids["[CLS]"], *task.read(sentence), task.ids["[SEP]"]]])
    with torch.no_grad():
        return model(ids).hidden[0, 1:-1].mean(0)


if __name__ == "__main__":
    play(demo, __doc__)
