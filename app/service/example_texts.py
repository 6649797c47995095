"""Example inputs for pretrained models, by task form; [MASK] and [SEP] are replaced by the tokenizer's own tokens."""

from __future__ import annotations

REPEATED = "walnut harbor quilt ember lantern fossil walnut harbor quilt ember lantern fossil"  # for induction
COMMON = (
    "The animal didn't cross the street because it was too tired.",
    REPEATED,
    "The keys to the old cabinet near the window are on the table.",
    "小猫没有过马路，因为它太累了。",
    "She left the bank by the river and walked to the bank on Main Street.",
    "春天来了，蜜蜂飞进花园，花园里开满了花。",
)
EXAMPLES: dict[str, tuple[str, ...]] = {
    "masked": (
        "The capital of France is [MASK].",
        "She poured the [MASK] into a cup and drank it.",
        "他每天早上都喝一杯[MASK]。",
        *COMMON,
    ),
    "label": (
        "It was a wonderful film, and I would see it again.",
        "The plot was thin and the acting was worse.",
        *COMMON,
    ),
    "tags": ("Angela Merkel was born in Hamburg and studied in Leipzig.", *COMMON),
    "answer": (
        "Where was the bridge built? [SEP] The old bridge was built in Prague in 1357.",
        *COMMON,
    ),
    "pairs": (
        "translate English to German: The house is wonderful.",
        "summarize: The ship left the harbor at dawn. By noon a storm had come up, and it turned back.",
        *COMMON,
    ),
    "none": (
        *COMMON[:2],
        "A man is playing a guitar. [SEP] Somebody makes music.",
        *COMMON[2:],
    ),
}


def example_text(form: str, number: int) -> str:
    """After the last comes the first again."""
    texts = EXAMPLES.get(form, COMMON)
    return texts[number % len(texts)]
