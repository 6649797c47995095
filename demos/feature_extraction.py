"""Feature extraction: hidden states of a small BERT trained on masked words only, as features of words.

Expected: without any labels of persons, things or places, nearly every word has one of its own kind as nearest
neighbour. In an untrained BERT about half have, by their usual position in a sentence alone.
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
from demos.runner import DemoRunner, run_demo

KINDS = {
    "person": "en", "role": "en", "thing": "en", "place": "en", "surface": "en", "day": "en", "adj": "en",
    "manner": "en", "do": "past", "act": "past",
}  # fmt: skip


def demo(runner: DemoRunner) -> dict[str, float]:
    run = runner.train(runner.recipe("bert", "masked words"))
    words = {word: kind for kind, form in KINDS.items() for word in LEXICON[kind][form] if word in run.task.ids}
    kinds = list(words.values())
    torch.manual_seed(runner.seed)
    shares = {}
    for name, model in (("untrained", core.build(run.model.config).eval()), ("trained", run.model)):
        vectors = word_features(model, run.task, list(words), 200 if runner.fast else 2000)  # (word, d_model)
        cosines = normalize(vectors) @ normalize(vectors).T
        nearest = cosines.fill_diagonal_(-1).argmax(1).tolist()
        shares[name] = sum(kinds[i] == kinds[j] for i, j in enumerate(nearest)) / len(kinds)
        print(f"  {name}: {shares[name]:.0%} of {len(kinds)} words have one of their kind as nearest neighbour")
    for word in ("umbrella", "Mary", "slowly"):
        print(f"  nearest to {word}: {list(words)[nearest[list(words).index(word)]]}")
    centre, axes, _ = principal_axes(vectors, 2)
    points = (vectors - centre) @ axes.T  # (word, 2)
    figure = go.Figure(layout={"title": "Words by the two principal components of their vectors"})
    for kind in KINDS:
        members = [i for i, word_kind in enumerate(kinds) if word_kind == kind]
        figure.add_scatter(
            x=points[members, 0].tolist(), y=points[members, 1].tolist(), text=[list(words)[i] for i in members],
            mode="markers+text", textposition="top center", name=kind,
        )  # fmt: skip
    runner.save_figure("features", figure)
    return shares


def word_features(model: torch.nn.Module, task: core.Task, words: list[str], sentences: int) -> Tensor:
    """(word, d_model): the last layer at each word, averaged over all its occurrences in the sentences"""
    examples = task.evaluation(sentences)
    ids = unmask(examples)  # (sentence, time), nothing masked
    with torch.no_grad():
        hidden = torch.cat(
            [model(*part).hidden for part in zip(ids.split(100), examples.source_lengths.split(100), strict=True)]
        )
    return torch.stack([hidden[ids == task.ids[word]].mean(0) for word in words])


if __name__ == "__main__":
    run_demo(demo, __doc__)
