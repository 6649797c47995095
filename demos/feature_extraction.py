"""Feature extraction: the vectors of a small BERT that has only ever filled in masked words, as descriptions of words.

Expected: nobody told it what a person, a thing or a place is, yet nearly every word has one of its own kind as nearest
neighbour. In a BERT that has not been trained about half have: only by where in a sentence they usually stand.
"""

from __future__ import annotations

import plotly.graph_objects as go
import torch
from torch import Tensor
from torch.nn.functional import normalize

import core
from core.analysis.measures import principal_axes
from core.tasks.language.grammar.lexicon import LEXICON
from core.tasks.language.masked_words import unmask
from demos.stage import Stage, play

KINDS = {
    "person": "en", "role": "en", "thing": "en", "place": "en", "surface": "en", "day": "en", "adj": "en",
    "manner": "en", "do": "past", "act": "past",
}  # fmt: skip


def demo(stage: Stage) -> dict[str, float]:
    run = stage.train(stage.recipe("bert", "masked words"))
    words = {word: kind for kind, form in KINDS.items() for word in LEXICON[kind][form] if word in run.task.ids}
    kinds = list(words.values())
    torch.manual_seed(stage.seed)
    found = {}
    for name, model in (("untrained", core.build(run.model.config).eval()), ("trained", run.model)):
        vectors = describe(model, run.task, list(words), 200 if stage.fast else 2000)  # (word, d_model)
        alike = normalize(vectors) @ normalize(vectors).T  # cosines
        nearest = alike.fill_diagonal_(-1).argmax(1).tolist()
        found[name] = sum(kinds[i] == kinds[j] for i, j in enumerate(nearest)) / len(kinds)
        print(f"  {name}: {found[name]:.0%} of {len(kinds)} words have one of their kind as nearest neighbour")
    for word in ("umbrella", "Mary", "slowly"):
        print(f"  nearest to {word}: {list(words)[nearest[list(words).index(word)]]}")
    centre, axes, _ = principal_axes(vectors, 2)
    points = (vectors - centre) @ axes.T  # (word, 2)
    figure = go.Figure(layout={"title": "Words by the two principal components of their vectors"})
    for kind in KINDS:
        here = [i for i, other in enumerate(kinds) if other == kind]
        figure.add_scatter(
            x=points[here, 0].tolist(), y=points[here, 1].tolist(), text=[list(words)[i] for i in here],
            mode="markers+text", textposition="top center", name=kind,
        )  # fmt: skip
    stage.show("features", figure)
    return found


def describe(model: torch.nn.Module, task: core.Task, words: list[str], sentences: int) -> Tensor:
    """(word, d_model): the last layer where each word stands, averaged over all places it has in the sentences"""
    examples = task.evaluation(sentences)
    ids = unmask(examples)  # (sentence, time), nothing masked
    with torch.no_grad():
        hidden = torch.cat(
            [model(*part).hidden for part in zip(ids.split(100), examples.source_lengths.split(100), strict=True)]
        )
    return torch.stack([hidden[ids == task.ids[word]].mean(0) for word in words])


if __name__ == "__main__":
    play(demo, __doc__)
