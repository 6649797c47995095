"""Patterns of capture point names: which attention stack, or which recurrent layer, a captured tensor belongs to."""

from __future__ import annotations

import re

ATTENTION_POINTS = ("*.weights", "*.mask")  # for `core.capture`

# "blocks.0.attn.weights", "decoder.blocks.1.cross.weights", "decoder.cross.weights"
ATTENTION_WEIGHTS = re.compile(r"(?P<stack>.*?)(?:blocks\.(?P<layer>\d+)\.)?(?P<kind>attn|cross)\.weights")
# self-attention over the source: its queries and keys are both the input's tokens
SOURCE_ATTENTION = re.compile(r"(?:encoder\.)?blocks\.\d+\.attn")
# "layers.0.fwd.hidden", "encoder.layers.1.bwd.forget"
RECURRENT_STATE = re.compile(r"(?P<stack>.*?)layers\.(?P<layer>\d+)\.(?P<direction>fwd|bwd)\.(?P<point>\w+)")
