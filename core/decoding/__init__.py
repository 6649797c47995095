"""Decoding: greedy, beam search and sampling, token by token, with a KV cache where the family has one.

Imports `core.models`; imported by training's evaluation, by pretrained models and by the app.
"""

from core.decoding.generation import can_generate, generate, generate_with_scores
from core.decoding.options import Decoding
from core.decoding.special_tokens import SpecialTokens, special_tokens_of
from core.decoding.strategies import GenerationResult, TokenChoice

__all__ = [
    "Decoding",
    "GenerationResult",
    "SpecialTokens",
    "TokenChoice",
    "can_generate",
    "generate",
    "generate_with_scores",
    "special_tokens_of",
]
