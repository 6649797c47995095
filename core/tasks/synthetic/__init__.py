"""Algorithmic tasks on symbols: parity, copy, reverse, sort, induction, recall, addition, brackets."""
