"""The recipes of the algorithmic tasks by family, task and variant, as options that differ from the defaults."""

from __future__ import annotations

from typing import Any

from core.messages import Text

Parts = dict[str, Any]  # model, knobs, training; why, for those meant to fail; goal, where it is not 99 %

FIXED = {"min_len": 12, "max_len": 12}
SETTLE = {"schedule": "linear"}  # the last steps are small ones

# Parity: one bit of memory. The curriculum is what matters.
PARITY = {"model": {"d_embed": 8, "d_hidden": 32}, "training": {"lr": 1e-2, "steps": 300, "curriculum": True}}
PARITY_SOURCE = {
    "model": {"d_embed": 64, "d_hidden": 128},
    "task_options": {"n_symbols": 198},
    "training": {"lr": 1e-3, "batch_size": 32, "samples": 2_000, "steps": 189, "weight_decay": 0.01},
    "why": Text(
        "2,000 fixed problems and 198 symbols: it learns them by heart and stays at chance on all others.",
    ),
}
PARITY_TOO_FAST = {
    "model": PARITY["model"],
    "training": {**PARITY["training"], "lr": 1.0},
    "why": Text(
        "a learning rate 100 times too high: every update throws away what the one before has found.",
    ),
}
# A transformer carries nothing along: it counts. Attention takes the mean over what came before, the position says of how
# many, and the feed-forward layers tell even from odd, with sharp corners: GELU needs twice the steps of ReLU. An answer
# after every bit shows each count by itself. What stands beyond the longest in training was never counted.
PARITY_BY_COUNTING = {
    "model": {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_ff": 128, "activation": "relu", "head": "tagger"},
    "training": {"lr": 1.5e-3, "steps": 1500, "warmup": 30, "beta2": 0.98, "curriculum": True, **SETTLE},
}

# Recall: hold a value over a delay. The cell is the memory; parity can do without it, this cannot.
RECALL = {
    "model": {"d_embed": 16, "d_hidden": 32},
    "training": {"lr": 1e-2, "steps": 100, "curriculum": True, **SETTLE},
}
RECALL_FORGETS = {
    "model": {**RECALL["model"], "forget_bias": -5.0},
    "training": {"lr": 3e-3, "steps": 150, "curriculum": True, **SETTLE},
    "why": Text(
        "forget gates start shut: the cell is emptied at every step, and the value is gone "
        "before the cue comes. With a forget bias of 0 the same recipe learns.",
    ),
}
LOOK_BACK = {  # attention has no delay to bridge; BERT would read its answer off the first token, the value itself
    "model": {"d_model": 32, "n_heads": 2, "n_layers": 1, "d_ff": 64, "norm_placement": "pre"},
    "training": {"lr": 1e-2, "steps": 80, **SETTLE},
}

# Copy: look at the source token that stands where the next one is to be written. With one table for input and output
# it takes up to three times the steps.
SMALL = {"d_model": 64, "n_heads": 4, "n_layers": 1, "d_ff": 64, "norm_placement": "pre", "tie_embeddings": False}


def writing(position: str, steps: int, lr: float = 1e-2, **model: Any) -> Parts:
    return {"model": {**SMALL, "position": position, **model}, "training": {"lr": lr, "steps": steps, **SETTLE}}


# With every answer so far written down, parity is a copy that adds one bit. Neither helps without the other, so the first
# problems are short. Two bits are added by multiplying (their signs), which is what a gated feed-forward layer does.
RUNNING_PARITY = {
    "model": {**SMALL, "position": "rope", "activation": "swiglu", "d_ff": 128},
    "training": {"lr": 3e-3, "steps": 150, "warmup": 5, "beta2": 0.98, "curriculum": True, **SETTLE},
}

# T5 as published has no positions between decoder and encoder; without them it does not find the place to copy from.
T5 = {"d_model": 64, "n_heads": 4, "n_layers": 1, "d_ff": 64, "cross_position": True, "tie_embeddings": False}
T5_COPY = {"model": T5, "training": {"lr": 8e-3, "steps": 200, **SETTLE}}

GPT = {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_ff": 64, "position": "rope", "tie_embeddings": False}
# Bits and answers in turn: what is to be added stands right before. Without a gate, one seed in two gets there.
SCRATCHPAD = {
    "model": {**GPT, "n_layers": 1, "activation": "swiglu"},
    "training": {"lr": 5e-3, "steps": 60, **SETTLE},
}
GPT_COPY = {"model": GPT, "task_options": FIXED, "training": {"lr": 1e-2, "steps": 60, **SETTLE}}  # one length: 12
# No fixed distance to look back: it must find where the last few symbols stood before. With many symbols, few places
# look alike.
GPT_COPY_ANY_LENGTH = {
    "model": {**GPT, "d_head": 32},
    "task_options": {"n_symbols": 52},
    "training": {"lr": 3e-3, "steps": 400, **SETTLE},
}
GPT_CHEATS = {
    "model": {**GPT, "causal": False},
    "training": {"lr": 5e-3, "steps": 100, **SETTLE},
    "why": Text(
        "without the causal mask it reads each answer off the next token: the loss falls to 0, "
        "but when it must write by itself that token is not there yet.",
    ),
}


def recurrent(attention: str, steps: int, lr: float = 1e-2, d_hidden: int = 64, **more: Any) -> Parts:
    model = {"attention": attention, "d_embed": 32, "d_hidden": d_hidden, **more}
    return {"model": model, "training": {"lr": lr, "steps": steps, **SETTLE}}


# A state of a one-way encoder knows only what came before: Luong's attention then has to find the very place.
ONE_WAY = {"d_hidden": 96, "bidirectional": False}
NO_ATTENTION_COPY = {  # one vector must hold everything: fewer symbols, shorter sequences
    "model": {"attention": "none", "cell": "lstm", "d_embed": 32, "d_hidden": 128},
    "task_options": {"min_len": 3, "max_len": 6, "n_symbols": 10},
    "training": {"lr": 5e-3, "steps": 500, "curriculum": True, **SETTLE},
}
NO_ATTENTION_LONG = {
    "model": NO_ATTENTION_COPY["model"],
    "training": {"lr": 5e-3, "steps": 400, **SETTLE},
    "why": Text(
        "one vector must hold up to 12 symbols. With attention, the same length is learnt in fewer steps.",
    ),
}

# Reverse
REVERSE = {**writing("learned", 80), "task_options": FIXED}  # one length: 12
REVERSE_LOST = {
    **writing("none", 80),
    "task_options": FIXED,
    "why": Text(
        "without positions it sees which symbols there are, but not where: it cannot know which one was last.",
    ),
}
REVERSE_ANY_LENGTH = {  # where the last symbol stands must be found first: a layer more
    "model": {**SMALL, "position": "learned", "n_layers": 2},
    "training": {"lr": 5e-3, "steps": 300, **SETTLE},
}
GPT_REVERSE = {
    "model": {**GPT, "position": "learned"},
    "task_options": FIXED,
    "training": {"lr": 5e-3, "steps": 150, **SETTLE},
}
# Distances alone do not say where to look: source and target move against each other. A first layer must turn the
# distance to either end into something to match, so those distances are told apart one by one.
T5_REVERSE = {
    "model": {**T5, "n_heads": 8, "n_layers": 2, "n_decoder_layers": 1, "n_buckets": 64},
    "task_options": FIXED,
    "training": {"lr": 5e-3, "steps": 500, **SETTLE},
}

# Sort: find the next greater symbol. Symbols that come twice must also be counted: a layer more.
SORT = {
    "model": {**SMALL, "position": "rope", "n_layers": 2},
    "training": {"lr": 5e-3, "steps": 300, **SETTLE},
}
SORT_DISTINCT = {**writing("rope", 120), "task_options": {"unique": True}}

# Induction: find what followed the current token before.
INDUCTION = {"model": GPT, "training": {"lr": 3e-3, "steps": 400}}
ONE_LAYER = {
    **INDUCTION,
    "model": {**GPT, "n_layers": 1},
    "why": Text(
        "one layer cannot do it: a head must first mark each token with the one before.",
    ),
}

ALGORITHMS: dict[tuple[str, str], dict[str, Parts]] = {
    ("rnn", "parity"): {"default": PARITY, "source": PARITY_SOURCE, "too-fast": PARITY_TOO_FAST},
    ("gru", "parity"): {"default": PARITY, "source": PARITY_SOURCE},
    ("lstm", "parity"): {"default": PARITY, "source": PARITY_SOURCE},
    ("gpt", "parity"): {"default": PARITY_BY_COUNTING},
    ("transformer", "running parity"): {"default": RUNNING_PARITY},
    ("gpt", "scratchpad parity"): {"default": SCRATCHPAD},
    ("transformer", "copy"): {
        "default": writing("rope", 60),
        "learned": writing("learned", 100),
        "t5": writing("t5", 150),
        "sinusoidal": writing("sinusoidal", 220, lr=8e-3),
        "alibi": writing("alibi", 300, n_heads=8),
    },
    ("t5", "copy"): {"default": T5_COPY},
    ("gpt", "copy"): {"default": GPT_COPY, "any-length": GPT_COPY_ANY_LENGTH, "cheats": GPT_CHEATS},
    ("seq2seq", "copy"): {
        "default": recurrent("bahdanau", 300),
        "luong-dot": recurrent("luong-dot", 400, **ONE_WAY),
        "luong-general": recurrent("luong-general", 450, lr=5e-3, **ONE_WAY),
        "luong-concat": recurrent("luong-concat", 300),
        "no-attention": NO_ATTENTION_COPY,
        "no-attention-long": NO_ATTENTION_LONG,
    },
    ("rnn", "recall"): {"default": RECALL},
    ("gru", "recall"): {"default": RECALL},
    ("lstm", "recall"): {"default": RECALL, "forgets": RECALL_FORGETS},
    ("gpt", "recall"): {"default": LOOK_BACK},
    ("transformer", "reverse"): {"default": REVERSE, "any-length": REVERSE_ANY_LENGTH, "no-positions": REVERSE_LOST},
    ("t5", "reverse"): {"default": T5_REVERSE},
    ("gpt", "reverse"): {"default": GPT_REVERSE},
    ("seq2seq", "reverse"): {"default": recurrent("bahdanau", 300), "luong": recurrent("luong-general", 400)},
    ("transformer", "sort"): {"default": SORT, "distinct": SORT_DISTINCT},
    ("seq2seq", "sort"): {"default": recurrent("bahdanau", 450)},
    ("gpt", "induction"): {"default": INDUCTION, "one-layer": ONE_LAYER},
}
