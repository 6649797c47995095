"""Choices of options in words, by core's names for them: where a language has words for one, they stand before its name."""

from __future__ import annotations

from core.translatable import Text

CHOICE_TITLES: dict[str, Text] = {
    # positions
    "sinusoidal": Text("sinusoidal"),
    "learned": Text("learned"),
    "rope": Text("rotary"),
    "alibi": Text("linear bias"),
    "t5": Text("bucketed bias"),
    "none": Text("none"),
    # norms
    "layernorm": Text("layer norm"),
    "rmsnorm": Text("root mean square"),
    "conditional": Text("conditional"),
    "pre": Text("before"),
    "post": Text("after"),
    # attention
    "full": Text("all tokens"),
    "local": Text("local"),
    "bahdanau": Text("additive"),
    "luong-dot": Text("dot product"),
    "luong-general": Text("bilinear"),
    "luong-concat": Text("concatenated"),
    # recurrence
    "fused": Text("fused"),
    "stepwise": Text("stepwise"),
    # heads
    "lm": Text("language model"),
    "mlm": Text("masked language model"),
    "classifier": Text("classifier"),
    "tagger": Text("tagger"),
    "crf": Text("random field"),
    "pointer": Text("span pointer"),
    "qa": Text("question answering"),
}
