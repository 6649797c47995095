"""Titles of the shipped runs, and for each a lead: a sentence or two on what to look at first."""

from __future__ import annotations

from typing import NamedTuple

from core.translatable import Text


class Introduction(NamedTuple):
    title: Text
    lead: Text  # **bold** marks what to look for


INTRODUCTIONS = {
    "induction-gpt": Introduction(
        Text("Induction GPT"),
        Text(
            "It goes on with a sequence that repeats itself: heads of layer 1 find what came **after the "
            "last occurrence** of the current token. Drag the playhead back to see that skill appear."
        ),
    ),
    "parity-lstm": Introduction(
        Text("Parity LSTM"),
        Text(
            "Is the sum odd? With only 2s and 3s, that is to count the 3s. One bit of memory, flipped at "
            "every 3: look for the units that carry it."
        ),
    ),
    "parity-gru": Introduction(
        Text("Parity GRU"),
        Text("The same bit of memory without a separate cell: the update gate decides what is kept."),
    ),
    "parity-rnn": Introduction(
        Text("Parity RNN"),
        Text("No gates at all, and still it learns: short problems first, longer ones as it gets better."),
    ),
    "parity-rnn-fails": Introduction(
        Text("Parity RNN that fails"),
        Text(
            "2,000 fixed problems over 198 symbols, no curriculum: accuracy in training rises, held-out "
            "accuracy **stays at chance**. It memorises instead of counting."
        ),
    ),
    "copy-transformer": Introduction(
        Text("Copy Transformer"),
        Text(
            "It writes the source down again: the cross-attention becomes a diagonal, one source token "
            "per written token."
        ),
    ),
    "reverse-transformer": Introduction(
        Text("Reverse Transformer"), Text("It writes the source backwards: the diagonal of a copy, turned round.")
    ),
    "reverse-t5": Introduction(
        Text("Reverse T5"),
        Text(
            "The same task without a table of positions: a bias for every **distance** between two "
            "tokens is all it has. Its learned biases are under Positions."
        ),
    ),
    "dates-bahdanau": Introduction(
        Text("Dates: Bahdanau"),
        Text(
            "From “April 20, 1920” to 1920-04-20, letter by letter: while it writes the year it **looks "
            "at the end** of the source, then at the month, then at the day."
        ),
    ),
    "dates-luong": Introduction(
        Text("Dates: Luong"),
        Text(
            "The same translation with Luong's product of states instead of Bahdanau's sum: compare "
            "**where** they look."
        ),
    ),
    "translation-transformer": Introduction(
        Text("English → Chinese"),
        Text(
            "Two languages with different word order: one cross-attention head finds **which English "
            "word** every Chinese word comes from."
        ),
    ),
    "masked-bert": Introduction(
        Text("BERT fills masks"),
        Text(
            "It has seen a small world of sentences and fills **[MASK]** from both sides: it knows which "
            "words fit a place, but seldom brings a name over from the other sentence. Type a sentence "
            "of your own with a hole in it."
        ),
    ),
    "entities-crf": Introduction(
        Text("Names with a CRF"),
        Text(
            "From only 50 sentences it learnt to tag people, places, organisations and dates. Word by "
            "word it would call Paris part of an organisation; its CRF knows **which tag may follow "
            "which** and mends that: see Generate."
        ),
    ),
    "nested-bert": Introduction(
        Text("Names within names"),
        Text(
            "A name may lie within another: the head of the bank of **Paris** is a person, within it is "
            "an organisation, and within that a place. It scores every span by its start and end; the "
            "scores are under Generate."
        ),
    ),
    "characters-gru": Introduction(
        Text("A GRU that writes English"),
        Text(
            "It writes letter by letter: the state it carries holds the **spelling**, and which word may "
            "come next. Begin a sentence, and see under Generate which gates chose each letter."
        ),
    ),
}
