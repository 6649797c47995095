"""The knobs tasks share, told once."""

from __future__ import annotations

from core.config.catalogue import choice, integer, number, option, switch

MIN_LEN = integer("min_len", 1, 512, "The shortest problem.", "最短的题目。")
MAX_LEN = integer("max_len", 1, 512, "The longest problem in training.", "训练中最长的题目。")
MIN_WORDS = integer("min_len", 1, 64, "The shortest sentence, in words.", "最短的句子（词数）。")
MAX_WORDS = integer("max_len", 1, 64, "The longest sentence in training, in words.", "训练中最长的句子（词数）。")
N_SYMBOLS = integer("n_symbols", 2, 5_000, "How many different symbols there are.", "不同符号的个数。")
UNIQUE = switch("unique", "No symbol appears twice in a problem.", "同一题中符号不重复。")

__all__ = [
    "MAX_LEN", "MAX_WORDS", "MIN_LEN", "MIN_WORDS", "N_SYMBOLS", "UNIQUE", "choice", "integer", "number", "option", "switch",
]  # fmt: skip
