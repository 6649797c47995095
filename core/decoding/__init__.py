"""Decoding: greedy, beam search and sampling, token by token, with a KV cache where the family has one.

Imports `core.models`; imported by training's evaluation, by pretrained models and by the app.
"""

from core.decoding.generation import generate, write, writes
from core.decoding.options import Decoding
from core.decoding.special_tokens import Signs, signs_of
from core.decoding.strategies import Choice, Written

__all__ = ["Choice", "Decoding", "Signs", "Written", "generate", "signs_of", "write", "writes"]
