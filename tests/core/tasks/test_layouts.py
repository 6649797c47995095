"""One small example per form, written out by hand."""

from __future__ import annotations

import torch

import core
from core.layers.task_heads.heads import IGNORE
from core.tasks.language.masked_words import CLS, MASK, SEP
from core.tasks.layouts import Examples, decode_spans, encode_span, pad_rows, remove_zeros, reverse_rows

X = IGNORE
SOURCE, LENGTHS = torch.tensor([[5, 6, 7], [8, 9, 0]]), torch.tensor([3, 2])


def sequences() -> Examples:
    return Examples(SOURCE, LENGTHS, torch.tensor([[7, 6], [9, 0]]), torch.tensor([2, 1]))


def check(batch, inputs, target, lengths):
    assert [x.tolist() for x in batch.inputs] == inputs
    assert batch.target.tolist() == target
    assert batch.lengths.tolist() == lengths


def test_label():
    batch = core.task("recall").lay_out(Examples(SOURCE, LENGTHS, torch.tensor([1, 0])), "label")
    check(batch, [[[5, 6, 7], [8, 9, 0]], [3, 2]], [1, 0], [3, 2])


def test_tags():
    batch = core.task("entities").lay_out(
        Examples(SOURCE, LENGTHS, torch.tensor([[1, 2, 0, 0], [0, 3, 0, 0]])), "tags"
    )
    check(batch, [[[5, 6, 7], [8, 9, 0]], [3, 2]], [[1, 2, 0], [0, 3, X]], [3, 2])


def test_pairs():
    batch = core.task("copy").lay_out(sequences(), "pairs")
    inputs = [[[5, 6, 7, 2], [8, 9, 2, 0]], [[1, 7, 6], [1, 9, 0]], [4, 3], [3, 2]]
    check(batch, inputs, [[7, 6, 2], [9, 2, X]], [3, 2])


def test_stream():
    batch = core.task("copy").lay_out(sequences(), "stream")
    inputs = [[[5, 6, 7, 1, 7, 6], [8, 9, 1, 9, 2, 0]], [6, 4]]
    target = [[X, X, X, 7, 6, 2], [X, X, 9, 2, X, X]]
    assert batch.inputs[0][1, :4].tolist() == [8, 9, 1, 9]
    check(batch, inputs, target, [6, 4])


def test_stream_without_a_prompt():
    examples = Examples(torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, 0]), SOURCE, LENGTHS)
    batch = core.task("characters").lay_out(examples, "stream")
    assert batch.inputs[0][0].tolist() == [1, 5, 6, 7] and batch.inputs[0][1, :3].tolist() == [1, 8, 9]
    assert batch.target.tolist() == [[5, 6, 7, 2], [8, 9, 2, X]]
    assert batch.lengths.tolist() == [4, 3]


def test_induction_repeats_itself():
    batch = core.task("induction").lay_out(Examples(SOURCE, LENGTHS, SOURCE, LENGTHS), "stream")
    assert batch.inputs[0][0].tolist() == [5, 6, 7, 5, 6] and batch.target[0].tolist() == [X, X, X, 6, 7]
    assert batch.target[1].tolist() == [X, X, 9, X, X] and batch.lengths.tolist() == [5, 3]


def test_a_scratchpad_has_loss_on_its_answers_only():
    task = core.task("scratchpad parity")
    bits, lengths = torch.tensor([[4, 4, 3], [3, 4, 0]]), torch.tensor([3, 2])
    batch = task.lay_out(Examples(bits, lengths, task.answer(bits, lengths), lengths), "stream")
    assert task.show(batch.inputs[0][0].tolist()) == ["1", "odd", "1", "even", "0"]
    check(batch, [[[4, 6, 4, 5, 3], [3, 5, 4, 6, 0]], [5, 3]], [[6, X, 5, X, 5], [5, X, 6, X, X]], [5, 3])


def test_masked():
    source = torch.tensor([[CLS, 10, MASK, SEP, 12, SEP], [CLS, 10, SEP, MASK, SEP, 0]])
    target = torch.tensor([[0, 0, 11, 0, 0, 0], [0, 10, 0, 13, 0, 0]])
    examples = Examples(source, torch.tensor([6, 5]), target, follows=torch.tensor([1, 0]))
    batch = core.task("masked words").lay_out(examples, "masked")
    segments = [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]]
    check(batch, [source.tolist(), [6, 5], segments], [[X, X, 11, X, X, X], [X, 10, X, 13, X, X]], [6, 5])
    assert batch.next_sentence.tolist() == [0, 1]  # 0: it follows


def test_next_sentence():
    source = torch.tensor([[CLS, 10, 11, SEP, 12, SEP, 0], [CLS, 10, SEP, 13, SEP, 0, 0]])
    examples = Examples(source, torch.tensor([6, 5]), torch.tensor([1, 0]))
    batch = core.task("next sentence").lay_out(examples, "label")
    segments = [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]]
    check(batch, [source[:, :6].tolist(), [6, 5], segments], [1, 0], [6, 5])


def test_answer():
    batch = core.task("questions").lay_out(Examples(SOURCE, LENGTHS, torch.tensor([[1, 2], [0, 0]])), "answer")
    check(batch, [[[5, 6, 7], [8, 9, 0]], [3, 2]], [[1, 2], [0, 0]], [3, 2])


def test_spans():
    numbers = torch.tensor([[encode_span(0, 0, 2), encode_span(2, 1, 1)], [encode_span(1, 0, 1), 0]])
    batch = core.task("nested names").lay_out(Examples(SOURCE, LENGTHS, numbers), "spans")
    assert batch.target.shape == (2, 3, 3, 3) and batch.target.dtype == torch.bool
    assert batch.target.nonzero().tolist() == [[0, 0, 0, 2], [0, 2, 1, 1], [1, 1, 0, 1]]


def test_spans_are_encoded_and_decoded():
    spans = torch.tensor([[0, 0, 0], [2, 17, 4000], [90, 4095, 4095]])
    numbers = torch.tensor([encode_span(*span) for span in spans.tolist()])
    assert torch.stack(decode_spans(numbers), dim=1).equal(spans)


def test_operations_on_rows():
    assert reverse_rows(torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([3, 2])).tolist() == [[3, 2, 1], [5, 4, 0]]
    assert remove_zeros(torch.tensor([[0, 1, 0, 2], [3, 0, 0, 0]]))[0].tolist() == [[1, 2], [3, 0]]
    rows, lengths = pad_rows([[4], [5, 6]])
    assert rows.tolist() == [[4, 0], [5, 6]] and lengths.tolist() == [1, 2]


def test_joined_examples_keep_everything():
    wide = Examples(torch.tensor([[1, 2]]), torch.tensor([2]), torch.tensor([[3]]), follows=torch.tensor([1]))
    narrow = Examples(torch.tensor([[4]]), torch.tensor([1]), torch.tensor([[5, 6]]), follows=torch.tensor([0]))
    joined = wide.join(narrow)
    assert joined.source.tolist() == [[1, 2], [4, 0]] and joined.target.tolist() == [[3, 0], [5, 6]]
    assert joined.follows.tolist() == [1, 0] and joined.target_lengths is None
    assert joined.pick(torch.tensor([1])).follows.tolist() == [0]
