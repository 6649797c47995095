"""Patterns of capture point names: attention weights, and gates and states of recurrent layers.

    decoder.blocks.1.cross.weights      stack "decoder."  layer "1"  kind "cross"      module "decoder.blocks.1.cross"
    decoder.attn.weights                stack "decoder."  layer None kind "attn"       module "decoder.attn"
    encoder.layers.0.bwd.forget         stack "encoder."  layer "0"  direction "bwd"   module "encoder.layers.0.bwd"
                                                                     point "forget"

Used with `fullmatch` on a whole point name; `module` is the path of the module that has the point.
"""

from __future__ import annotations

import re

ATTENTION_WEIGHTS = re.compile(
    r"(?P<module>(?P<stack>.*?)(?:blocks\.(?P<layer>\d+)\.)?(?P<kind>attn|cross))\.weights"
)  # no layer: the one attention of a recurrent decoder
INPUT_SELF_ATTENTION_WEIGHTS = re.compile(r"(?P<module>(?:encoder\.)?blocks\.(?P<layer>\d+)\.attn)\.weights")
RECURRENT_POINT = re.compile(
    r"(?P<module>(?P<stack>.*?)layers\.(?P<layer>\d+)\.(?P<direction>fwd|bwd))\.(?P<point>\w+)"
)
