"""Tokenizers: characters, words, WordPiece, byte-level BPE and unigram behind one interface.

Built on the `tokenizers` library; imported by tasks, pretrained models and the app.
"""

from core.text.tokenizer import Tokenizer, load_tokenizer, train_tokenizer

__all__ = ["Tokenizer", "load_tokenizer", "train_tokenizer"]
