"""The catalogue of all model options: range, choices and one line of help of each.

The app builds its controls from it; `families.py` has the options of each family and their defaults.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from core.config.options import Option
from core.translatable import Text, verbatim


def option(source: str | Option, default: Any, only: tuple[str, ...] = (), *, added_later: bool = False) -> Any:
    """A dataclass field for an option of the catalogue, with a family's default and, with `only`, fewer choices.

    `added_later`: newer than the first stored runs, whose keys must not change (`Options.to_stored_dict`).
    """
    template = CATALOGUE[source] if isinstance(source, str) else source
    choices = {name: template.choices[name] for name in only} if only else template.choices
    family_option = replace(template, default=default, choices=choices)
    return field(default=default, metadata={"option": family_option, "added_later": added_later})


def integer(name: str, low: int, high: int, help: Text, optional: bool = False) -> Option:
    return Option(name=name, kind=int, low=low, high=high, help=help, optional=optional)


def number(name: str, low: float, high: float, help: Text) -> Option:
    return Option(name=name, kind=float, low=low, high=high, help=help)


def switch(name: str, help: Text, optional: bool = False) -> Option:
    return Option(name=name, kind=bool, help=help, optional=optional)


def choice(name: str, help: Text, choices: dict[str, Text]) -> Option:
    return Option(name=name, kind=str, help=help, choices=choices)


# fmt: off
_OPTIONS = [
    integer("vocab_size", 2, 1_000_000, Text("How many different tokens there are.")),
    integer("n_layers", 1, 96, Text("How many layers are stacked.")),
    integer("n_decoder_layers", 1, 96, Text("Layers of the decoder; automatic: as many as the encoder."), optional=True),
    integer("n_heads", 1, 128, Text("How many attention heads look in parallel.")),
    integer("n_kv_heads", 1, 128, Text("Heads for keys and values, shared by groups of query heads; automatic: one each."), optional=True),
    integer("d_model", 1, 16_384, Text("Width of the vector that travels through the model.")),
    integer("d_head", 1, 1_024, Text("Width of one head; automatic: d_model / n_heads."), optional=True),
    integer("d_ff", 1, 65_536, Text("Inner width of the feed-forward layer; automatic: 4 · d_model."), optional=True),
    integer("d_embed", 1, 16_384, Text("Width of a token's embedding.")),
    integer("d_hidden", 1, 16_384, Text("Units in the recurrent state.")),
    integer("max_len", 1, 131_072, Text("The longest sequence the model takes.")),
    integer("window", 1, 65_536, Text("How far local attention looks to each side.")),
    integer("n_buckets", 2, 4_096, Text("T5 positions: how many classes of distance are told apart.")),
    integer("max_distance", 2, 65_536, Text("T5 positions: from here on all distances are the same.")),
    integer("n_segments", 0, 16, Text("How many kinds of segment (sentence A, sentence B) have an embedding.")),
    integer("position_offset", 0, 64, Text("Learned positions: rows of the table before the first position (RoBERTa: 2).")),
    integer("n_conditions", 1, 10_000, Text("Conditional norm: how many conditions can be chosen.")),
    integer("n_labels", 1, 100_000, Text("How many classes, tags or span types the head tells apart.")),
    integer("downsample", 1, 64, Text("Cross-attention sees the encoder's output pooled by this factor.")),
    number("dropout", 0.0, 0.95, Text("Share of activations dropped in training.")),
    number("forget_bias", -20.0, 20.0, Text("Added to the forget gate's initial bias: high remembers, low forgets.")),
    number("norm_eps", 1e-12, 1e-1, Text("Keeps normalisation from dividing by zero.")),
    switch("bidirectional", Text("Read the sequence from both ends.")),
    switch("causal", Text("Hide the future. Off, a language model can cheat.")),
    switch("bias", Text("Linear layers add a bias.")),
    switch("tie_embeddings", Text("Input and output share one embedding table.")),
    switch("scale_output", Text("Divide by √d_model before the output table; automatic: if it is the input's."), optional=True),
    switch("next_sentence", Text("Besides the masked tokens, judge whether the second sentence follows the first; "
"automatic: if there is a pooler."), optional=True),
    switch("classifier_bias", Text("The classifier adds a bias.")),
    switch("cross_position", Text("Relative positions also act between decoder and encoder.")),
    switch("checkpointing", Text("Recompute activations in the backward pass: less memory, more time.")),
    choice("position", Text("How the model knows where a token stands."), {
        "sinusoidal": Text("fixed waves added to the embedding"),
        "learned": Text("a trained vector per position"),
        "rope": Text("queries and keys turned by an angle that grows with position"),
        "alibi": Text("scores lowered in proportion to distance"),
        "t5": Text("a trained bias per class of distance"),
        "none": Text("no positions at all"),
    }),
    choice("norm", Text("What the normalisation does."), {
        "layernorm": Text("subtract the mean, divide by the deviation"),
        "rmsnorm": Text("divide by the root mean square only"),
        "conditional": Text("LayerNorm whose gain and bias depend on a condition"),
    }),
    choice("norm_placement", Text("Where the normalisation stands."), {
        "pre": Text("before each sublayer: trains easily"),
        "post": Text("after each residual sum, as first published"),
        "none": Text("nowhere"),
    }),
    choice("activation", Text("The non-linearity of the feed-forward layer."), {
        "relu": verbatim("max(0, x)"),
        "gelu": verbatim("x · Φ(x)"),
        "gelu-tanh": Text("GELU by its tanh approximation"),
        "silu": verbatim("x · σ(x)"),
        "swiglu": Text("SiLU of one projection gates another"),
        "geglu": Text("GELU of one projection gates another"),
        "geglu-tanh": Text("GEGLU with the tanh approximation"),
    }),
    choice("head_activation", Text("The non-linearity inside the head for masked tokens."), {
        "relu": verbatim("max(0, x)"),
        "gelu": verbatim("x · Φ(x)"),
        "gelu-tanh": Text("GELU by its tanh approximation"),
        "silu": verbatim("x · σ(x)"),
    }),
    choice("pooler", Text("How the first token's vector becomes one for the whole sequence."), {
        "tanh": Text("tanh of a projection, as in BERT"),
        "relu": Text("ReLU of a projection, as in DistilBERT's classifier"),
        "gelu": Text("GELU of a projection, as in RoFormer's classifier"),
        "gelu-tanh": Text("GELU by its tanh approximation"),
        "silu": Text("SiLU of a projection"),
        "none": Text("not at all"),
    }),
    choice("attention", Text("Which tokens a token may look at."), {
        "full": Text("all of them"),
        "local": Text("those within the window: cost grows linearly"),
    }),
    choice("engine", Text("How the recurrence is computed; the numbers are the same."), {
        "fused": Text("whole sequences at once, by torch's kernels or our own"),
        "stepwise": Text("our own equations, one step at a time"),
    }),
    choice("cell", Text("The recurrent cell."), {
        "rnn": Text("one tanh state"),
        "gru": Text("reset and update gates"),
        "lstm": Text("three gates and a cell"),
    }),
    choice("head", Text("What the model predicts."), {
        "lm": Text("the next token, at every step"),
        "mlm": Text("the masked tokens, and whether the second sentence follows the first"),
        "classifier": Text("one label for the sequence"),
        "tagger": Text("one label per token"),
        "crf": Text("one label per token, the best path as a whole"),
        "pointer": Text("spans by start and end, nested ones too"),
        "qa": Text("the start and the end of an answer"),
        "none": Text("nothing: the hidden states themselves are given out"),
    }),
]
CATALOGUE: dict[str, Option] = {option.name: option for option in _OPTIONS}

SEQ2SEQ_ATTENTION = choice("attention", Text("How the decoder looks back at the source."), {
    "none": Text("not at all: one vector must hold everything"),
    "bahdanau": Text("v · tanh(W_q query + W_k key), before the step"),
    "luong-dot": Text("query · key, after the step"),
    "luong-general": Text("query · W · key, after the step"),
    "luong-concat": Text("v · tanh(W [query; key]), after the step"),
})
RNN_ACTIVATION = choice("activation", Text("The non-linearity of the state."), {
    "tanh": Text("bounded: gradients shrink"),
    "relu": Text("unbounded: gradients may explode"),
})
