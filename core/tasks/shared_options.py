"""Options that several tasks have, and the functions to declare others."""

from __future__ import annotations

from core.config.catalogue import choice, integer, number, option, switch
from core.translatable import Text

MIN_LEN = integer("min_len", 1, 512, Text("The shortest problem."))
MAX_LEN = integer("max_len", 1, 512, Text("The longest problem in training."))
MIN_WORDS = integer("min_len", 1, 64, Text("The shortest sentence, in words."))
MAX_WORDS = integer("max_len", 1, 64, Text("The longest sentence in training, in words."))
N_SYMBOLS = integer("n_symbols", 2, 5_000, Text("How many different symbols there are."))
UNIQUE = switch("unique", Text("No symbol appears twice in a problem."))

__all__ = [
    "MAX_LEN", "MAX_WORDS", "MIN_LEN", "MIN_WORDS", "N_SYMBOLS", "UNIQUE", "choice", "integer", "number", "option", "switch",
]  # fmt: skip
