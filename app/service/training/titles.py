"""Titles of model families, tasks and recipe variants on the page."""

from __future__ import annotations

from core.translatable import Text, verbatim

FAMILY_TITLES = {
    "rnn": "RNN",
    "gru": "GRU",
    "lstm": "LSTM",
    "seq2seq": "Seq2Seq",
    "transformer": "Transformer",
    "bert": "BERT",
    "roformer": "RoFormer",
    "gpt": "GPT",
    "t5": "T5",
}
TASK_TITLES = {
    "parity": Text("parity"),
    "running parity": Text("running parity"),
    "scratchpad parity": Text("scratchpad parity"),
    "copy": Text("copy"),
    "reverse": Text("reverse"),
    "sort": Text("sort"),
    "induction": Text("induction"),
    "recall": Text("recall"),
    "addition": Text("addition"),
    "modular addition": Text("modular addition"),
    "brackets": Text("brackets"),
    "dates": Text("dates"),
    "translation": Text("translation"),
    "characters": Text("characters"),
    "masked words": Text("masked words"),
    "next sentence": Text("next sentence"),
    "entities": Text("entities"),
    "sentence classes": Text("sentence classes"),
    "questions": Text("questions"),
    "nested names": Text("nested names"),
    "own text": Text("own text"),
    "own pairs": Text("own pairs"),
    "own labels": Text("own labels"),
    "own tags": Text("own tags"),
}
VARIANT_TITLES = {
    "default": Text("as recommended"),
    "source": Text("2,000 fixed problems"),
    "too-fast": Text("learning rate too high"),
    "learned": Text("learned positions"),
    "t5": Text("T5 positions"),
    "sinusoidal": Text("sinusoidal positions"),
    "alibi": Text("ALiBi positions"),
    "any-length": Text("any length"),
    "cheats": Text("no causal mask"),
    "luong": Text("Luong attention"),
    "luong-dot": Text("Luong attention, dot"),
    "luong-general": Text("Luong attention, general"),
    "luong-concat": Text("Luong attention, concat"),
    "no-attention": Text("no attention, short"),
    "no-attention-long": Text("no attention, long"),
    "forgets": Text("forget gates shut"),
    "no-positions": Text("no positions"),
    "distinct": Text("no symbol twice"),
    "one-layer": Text("one layer"),
    "four-heads": Text("four heads"),
    "crf": Text("with a CRF"),
    "few": Text("50 sentences"),
    "few-crf": Text("50 sentences, with a CRF"),
}


def family_title(name: str) -> str:
    return FAMILY_TITLES.get(name, name)


def task_title(name: str) -> Text:
    return TASK_TITLES.get(name, verbatim(name))


def variant_title(name: str) -> Text:
    return VARIANT_TITLES.get(name, verbatim(name))
