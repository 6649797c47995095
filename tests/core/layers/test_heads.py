"""Heads on cases small enough to work out by hand."""

import math
from itertools import pairwise, product

import pytest
import torch
from torch.testing import assert_close

from core.layers.task_heads.global_pointer import GlobalPointer
from core.layers.task_heads.heads import IGNORE, make_head
from tests.core.examples import batch, small

INF = float("inf")


def head(kind, n_labels=2):
    torch.manual_seed(0)
    return make_head(kind, 4, n_labels, 16, 0.0)


def test_classifier():
    logits = torch.tensor([[0.0, math.log(3)], [math.log(4), 0.0]])
    classifier = head("classifier")
    # p(label 1 | row 0) = 3/4, p(label 0 | row 1) = 4/5
    expected = -(math.log(3 / 4) + math.log(4 / 5)) / 2
    assert_close(classifier.loss(logits, torch.tensor([1, 0])), torch.tensor(expected))
    assert classifier.predict(logits).tolist() == [1, 0]
    pooled = torch.randn(3, 4)
    assert_close(classifier(None, pooled, None), pooled @ classifier.proj.weight.T + classifier.proj.bias)


def test_tagger_leaves_ignored_steps_out():
    tagger = head("tagger")
    logits = torch.tensor([[[0.0, 0.0], [math.log(3), 0.0], [9.0, -9.0]]])
    target = torch.tensor([[1, 0, IGNORE]])
    assert_close(tagger.loss(logits, target), torch.tensor(-(math.log(1 / 2) + math.log(3 / 4)) / 2))
    assert tagger.predict(logits)[0, 1:].tolist() == [0, 0]
    logits.requires_grad_()
    tagger.loss(logits, target).backward()
    assert logits.grad[0, 2].eq(0).all() and logits.grad[0, :2].ne(0).all()


class TestCrf:
    """Every path of up to 4 steps and 3 tags is scored one by one."""

    lengths = (4, 2, 1)

    @pytest.fixture
    def crf(self):
        crf = head("crf", n_labels=3)
        with torch.no_grad():
            for parameter in crf.crf.parameters():
                parameter.copy_(torch.randn_like(parameter))
        return crf

    @pytest.fixture
    def logits(self):
        return torch.randn(3, 4, 3, generator=torch.Generator().manual_seed(2))

    def score(self, crf, emissions, path):
        start, end, transition = (p.detach() for p in (crf.crf.start, crf.crf.end, crf.crf.transition))
        total = start[path[0]] + end[path[-1]] + sum(emissions[t, tag] for t, tag in enumerate(path))
        return float(total + sum(transition[a, b] for a, b in pairwise(path)))

    def scores(self, crf, emissions, length):
        return {path: self.score(crf, emissions, path) for path in product(range(3), repeat=length)}

    def test_loss(self, crf, logits):
        target = torch.tensor([[0, 2, 1, 1], [2, 0, IGNORE, IGNORE], [1, IGNORE, IGNORE, IGNORE]])
        expected = []
        for row, length in enumerate(self.lengths):
            scores = self.scores(crf, logits[row], length)
            partition = math.log(sum(map(math.exp, scores.values())))
            expected.append(partition - scores[tuple(target[row, :length].tolist())])
        loss = crf.loss(logits, target, torch.tensor(self.lengths))
        assert_close(loss, torch.tensor(sum(expected) / 3), atol=1e-5, rtol=1e-5)

    def test_a_tag_that_is_not_known_may_be_any(self, crf, logits):
        target = torch.tensor([[0, IGNORE, 1, IGNORE], [IGNORE, 0, IGNORE, IGNORE], [IGNORE] * 4])
        expected = []
        for row, length in enumerate(self.lengths[:2]):  # of the last nothing is known: it is left out
            scores, known = self.scores(crf, logits[row], length), target[row, :length].tolist()
            agreeing = [
                score
                for path, score in scores.items()
                if all(tag in (IGNORE, own) for tag, own in zip(known, path, strict=True))
            ]
            total, agreed = (sum(map(math.exp, each)) for each in (scores.values(), agreeing))
            expected.append(math.log(total) - math.log(agreed))
        logits.requires_grad_()
        loss = crf.loss(logits, target, torch.tensor(self.lengths))
        assert_close(loss, torch.tensor(sum(expected) / 2), atol=1e-5, rtol=1e-5)
        loss.backward()
        assert logits.grad.isfinite().all() and logits.grad[0].ne(0).all() and not logits.grad[2].any()

    def test_best_path(self, crf, logits):
        best = []
        for row, length in enumerate(self.lengths):
            scores = self.scores(crf, logits[row], length)
            best.append(list(max(scores, key=scores.get)))
        assert crf.predict(logits, torch.tensor(self.lengths)) == best
        full = self.scores(crf, logits[1], 4)
        assert crf.predict(logits)[1] == list(max(full, key=full.get))

    def test_transitions_can_overrule_emissions(self, crf):
        """Tag by tag 0 1 0 is best; forbidding 0 → 1 makes it another."""
        emissions = torch.tensor([[[1.0, 0, 0], [0, 1.0, 0], [1.0, 0, 0]]])
        with torch.no_grad():
            for parameter in crf.crf.parameters():
                parameter.zero_()
            assert crf.predict(emissions) == [[0, 1, 0]]
            crf.crf.transition[0, 1] = -10
            path = crf.predict(emissions)[0]
        assert (0, 1) not in pairwise(path) and path != [0, 1, 0]


class TestPointer:
    def test_loss(self):
        """log(1 + e^1 + e^0) for the absent, log(1 + e^−2 + e^1) for the present; −∞ costs nothing."""
        scores = torch.tensor([[[[2.0, 1.0], [-INF, 0.0]]], [[[0.0, -1.0], [-INF, -INF]]]])
        present = torch.tensor([[[[True, False], [False, False]]], [[[False, True], [False, False]]]])
        first = math.log(1 + math.exp(1) + math.exp(0)) + math.log(1 + math.exp(-2))
        second = math.log(1 + math.exp(0)) + math.log(1 + math.exp(1))
        assert_close(head("pointer").loss(scores, present), torch.tensor((first + second) / 2))
        nothing = head("pointer").loss(scores[1:], torch.zeros_like(present[1:]))
        assert_close(nothing, torch.tensor(math.log(1 + 1 + math.exp(-1))))

    def test_nested_spans_are_found_together(self):
        scores = torch.full((2, 2, 5, 5), -1.0)
        for span in [(0, 0, 0, 4), (0, 0, 1, 3), (0, 1, 1, 2), (0, 0, 2, 2)]:
            scores[span] = 0.5
        assert head("pointer").predict(scores) == [[(0, 0, 4), (0, 1, 3), (0, 2, 2), (1, 1, 2)], []]

    def test_only_spans_that_can_be(self):
        torch.manual_seed(0)
        scores = GlobalPointer(4, 2, 16)(torch.randn(2, 5, 4), torch.tensor([5, 3]))
        for row, start, end in product(range(2), range(5), range(5)):
            possible = start <= end < (5, 3)[row]
            assert (scores[row, :, start, end] != -INF).all() == possible

    def test_scores_depend_on_the_distance_only(self):
        """RoPE: the same two vectors, moved along together, score the same; further apart, they do not."""
        torch.manual_seed(0)
        pointer, one, other = GlobalPointer(4, 1, 32), torch.randn(4), torch.randn(4)

        def score(start, end):
            x = torch.zeros(1, 20, 4)
            x[0, start], x[0, end] = one, other
            return pointer(x)[0, 0, start, end]

        assert_close(score(2, 5), score(14, 17), atol=1e-5, rtol=1e-5)
        assert not torch.allclose(score(2, 5), score(2, 9))

    def test_nested_spans_are_learnt(self):
        model = small("lstm", head="pointer", n_layers=1, bidirectional=True, d_hidden=16).train()
        inputs = batch(model)
        target = torch.zeros(3, 3, 7, 7, dtype=torch.bool)
        spans = [(0, 0, 6), (0, 2, 4), (1, 3, 4)]
        target[0][tuple(zip(*spans, strict=True))] = True
        optimiser = torch.optim.Adam(model.parameters(), 0.05)
        for _ in range(60):
            optimiser.zero_grad()
            model.head.loss(model(**inputs).logits, target, inputs["lengths"]).backward()
            optimiser.step()
        assert model.head.predict(model(**inputs).logits, inputs["lengths"]) == [spans, [], []]


class TestAnswer:
    def test_the_end_is_never_before_the_start(self):
        """Taken singly, start 3 and end 0 are best; the best pair in order is (1, 2)."""
        logits = torch.tensor([[[0.0, 2.0, 0.0, 3.0], [5.0, 0.0, 4.0, -1.0]]])
        pairs = {(s, e): logits[0, 0, s] + logits[0, 1, e] for s in range(4) for e in range(s, 4)}
        assert max(pairs, key=pairs.get) == (1, 2)
        assert head("qa").predict(logits).tolist() == [[1, 2]]

    @pytest.mark.parametrize("seed", range(10))
    def test_best_pair(self, seed):
        logits = torch.randn(1, 2, 6, generator=torch.Generator().manual_seed(seed))
        logits[:, :, 4:] = -INF
        pairs = {(s, e): float(logits[0, 0, s] + logits[0, 1, e]) for s in range(4) for e in range(s, 4)}
        assert tuple(head("qa").predict(logits)[0].tolist()) == max(pairs, key=pairs.get)

    def test_loss(self):
        logits = torch.tensor([[[0.0, math.log(3), -INF], [0.0, 0.0, -INF]]])
        expected = -(math.log(3 / 4) + math.log(1 / 2)) / 2
        assert_close(head("qa").loss(logits, torch.tensor([[1, 0]])), torch.tensor(expected))

    def test_padding_is_no_answer(self):
        logits = head("qa")(torch.randn(2, 5, 4), None, torch.tensor([5, 2]))
        assert logits[0].isfinite().all() and logits[1, :, :2].isfinite().all() and (logits[1, :, 2:] == -INF).all()
        assert (head("qa").predict(logits)[1] < 2).all()


@pytest.mark.parametrize("family", ["bert", "roformer"])
def test_masked_tokens_and_next_sentence(family):
    model = small(family)
    output = model(**batch(model))
    masked = model.head
    dense = torch.nn.functional.gelu(output.hidden @ masked.dense.weight.T + masked.dense.bias)
    normed = (dense - dense.mean(-1, keepdim=True)) / dense.std(-1, keepdim=True, correction=0)
    tokens = (normed * masked.norm.weight + masked.norm.bias) @ model.token_embedding.weight.T + masked.proj.bias
    assert_close(output.logits, tokens, atol=1e-4, rtol=1e-4)
    pooled = torch.tanh(output.hidden[:, 0] @ model.pooler.weight.T + model.pooler.bias)
    assert_close(output.pooled, pooled)
    assert_close(output.next_sentence, pooled @ model.next_sentence.weight.T + model.next_sentence.bias)


TIES = [("bert", "mlm"), ("gpt", "lm"), ("transformer", None), ("t5", None)]


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("family", "kind"), TIES)
def test_tied_embeddings_are_one_table(family, kind, tied):
    model = small(family, tie_embeddings=tied)
    stack = getattr(model, "encoder", model)
    assert (model.head.proj.weight is stack.token_embedding.weight) == tied
    if family in ("transformer", "t5"):
        shared = model.decoder.token_embedding.weight is model.encoder.token_embedding.weight
        assert shared == (tied or family == "t5")
