"""BERT and its heads against Hugging Face's."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn

import core
from core.pretrained.families.bert import bert_map
from tests.core.reference.equality import (
    assert_equal,
    assert_equal_attention,
    assert_equal_gradients,
    copy_weights,
    padded_batch,
    randomise,
    run_both_paths,
)

VOCABULARY, BATCH, TIME = 40, 5, 12
each_size = pytest.mark.parametrize(
    "n_layers, n_heads, d_model, d_ff", [(1, 1, 8, 32), (2, 4, 32, 64), (4, 3, 24, 40), (2, 2, 64, 128)]
)


def their_config(n_layers: int, n_heads: int, d_model: int, d_ff: int, **options) -> transformers.BertConfig:
    return transformers.BertConfig(
        vocab_size=VOCABULARY,
        num_hidden_layers=n_layers,
        num_attention_heads=n_heads,
        hidden_size=d_model,
        intermediate_size=d_ff,
        max_position_embeddings=TIME + 3,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        attn_implementation="eager",
        **options,
    )


def our_model(n_layers: int, n_heads: int, d_model: int, d_ff: int, **options) -> nn.Module:
    sizes = {"n_layers": n_layers, "n_heads": n_heads, "d_model": d_model, "d_ff": d_ff, "max_len": TIME + 3}
    return core.build("bert", vocab_size=VOCABULARY, **sizes, **options)


def inputs() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    ids, lengths, valid = padded_batch(BATCH, TIME, VOCABULARY)
    segments = (torch.arange(TIME) >= lengths[:, None] // 2).long()
    return ids, lengths, valid, segments


@each_size
def test_pretraining_logits_pooler_and_attention(n_layers, n_heads, d_model, d_ff):
    theirs = randomise(transformers.BertForPreTraining(their_config(n_layers, n_heads, d_model, d_ff)))
    ours = our_model(n_layers, n_heads, d_model, d_ff)
    copy_weights(theirs, ours, bert_map(ours.config))
    ids, lengths, valid, segments = inputs()
    arguments = {"attention_mask": valid.long(), "token_type_ids": segments}
    with torch.no_grad():
        expected = theirs(ids, **arguments, output_attentions=True)
        pooled = theirs.bert(ids, **arguments).pooler_output
    *outputs, tape = run_both_paths(ours, ids, lengths, segments)
    for out in outputs:
        assert_equal(out.logits[valid], expected.prediction_logits[valid], 1e-4, "masked tokens")
        assert_equal(out.next_sentence, expected.seq_relationship_logits, 1e-4, "next sentence")
        assert_equal(out.pooled, pooled, 1e-4, "pooled")
    assert_equal_attention(tape, expected.attentions, "blocks.{}.attn.weights", valid, n_layers)


@each_size
def test_pretraining_gradients(n_layers, n_heads, d_model, d_ff):
    theirs = randomise(transformers.BertForPreTraining(their_config(n_layers, n_heads, d_model, d_ff)))
    ours = our_model(n_layers, n_heads, d_model, d_ff)
    copy_weights(theirs, ours, bert_map(ours.config))
    ids, lengths, valid, segments = inputs()
    out = ours(ids, lengths, segments)
    expected = theirs(ids, attention_mask=valid.long(), token_type_ids=segments)
    tokens, follows = torch.randint(0, VOCABULARY, ids.shape), torch.randint(0, 2, (BATCH,))
    for logits, next_sentence in [
        (out.logits, out.next_sentence),
        (expected.prediction_logits, expected.seq_relationship_logits),
    ]:
        loss = F.cross_entropy(logits[valid], tokens[valid]) + F.cross_entropy(next_sentence, follows)
        loss.backward()
    assert_equal_gradients(ours, theirs, bert_map(ours.config), 1e-4)


def test_untied_output_table():
    theirs = transformers.BertForPreTraining(their_config(2, 4, 32, 64, tie_word_embeddings=False))
    randomise(theirs)
    theirs.cls.predictions.decoder.bias = theirs.cls.predictions.bias  # one bias in either case
    ours = our_model(2, 4, 32, 64, tie_embeddings=False)
    copy_weights(theirs, ours, bert_map(ours.config))
    assert not torch.equal(ours.head.proj.weight, ours.token_embedding.weight)
    ids, lengths, valid, segments = inputs()
    expected = theirs(ids, attention_mask=valid.long(), token_type_ids=segments).prediction_logits
    assert_equal(ours(ids, lengths, segments).logits[valid], expected[valid], 1e-4, "masked tokens")


HEADS = {
    "classifier": (transformers.BertForSequenceClassification, "tanh"),
    "tagger": (transformers.BertForTokenClassification, "none"),
    "qa": (transformers.BertForQuestionAnswering, "none"),
}


@each_size
@pytest.mark.parametrize("head", HEADS)
def test_task_heads(head, n_layers, n_heads, d_model, d_ff):
    their_class, pooler = HEADS[head]
    n_labels = 2 if head == "qa" else 5
    theirs = randomise(their_class(their_config(n_layers, n_heads, d_model, d_ff, num_labels=n_labels)))
    ours = our_model(n_layers, n_heads, d_model, d_ff, head=head, n_labels=n_labels, pooler=pooler)
    copy_weights(theirs, ours, bert_map(ours.config))
    ids, lengths, valid, segments = inputs()
    out = ours(ids, lengths, segments)
    expected = theirs(ids, attention_mask=valid.long(), token_type_ids=segments)

    if head == "classifier":
        answers = [(out.logits, expected.logits)]  # (batch, label)
    elif head == "tagger":
        answers = [(out.logits[valid], expected.logits[valid])]  # (token, label)
    else:  # (token,) each; ours is −∞ on padding
        answers = [(out.logits[:, 0][valid], expected.start_logits[valid])]
        answers += [(out.logits[:, 1][valid], expected.end_logits[valid])]
        assert torch.isneginf(out.logits.transpose(1, 2)[~valid]).all()
    for mine, other in answers:
        assert_equal(mine, other, 1e-4, head)
        mine.square().mean().backward(retain_graph=True)
        other.square().mean().backward(retain_graph=True)
    assert_equal_gradients(ours, theirs, bert_map(ours.config), 1e-4)
