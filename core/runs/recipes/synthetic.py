"""Recipes of the synthetic tasks by family, task and variant: the options that differ from the defaults."""

from __future__ import annotations

from typing import Any

from core.runs.recipes.recipe import RecipeOptions
from core.translatable import Text

FIXED_LENGTH = {"min_len": 12, "max_len": 12}
LINEAR_DECAY = {"schedule": "linear"}

# Parity: one bit of memory. The curriculum is decisive.
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
# A transformer has no recurrent state: it counts. Attention takes the mean over the bits so far, the position gives their
# number, and the feed-forward layers tell even from odd; GELU needs twice the steps of ReLU, which has sharp corners. A
# tagger has a target after every bit, so each count is trained. It does not generalise beyond the training lengths.
PARITY_BY_COUNTING = {
    "model": {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_ff": 128, "activation": "relu", "head": "tagger"},
    "training": {"lr": 1.5e-3, "steps": 1500, "warmup": 30, "beta2": 0.98, "curriculum": True, **LINEAR_DECAY},
}

# Recall: keep a value over a delay, which needs a memory cell; parity does not.
RECALL = {
    "model": {"d_embed": 16, "d_hidden": 32},
    "training": {"lr": 1e-2, "steps": 100, "curriculum": True, **LINEAR_DECAY},
}
RECALL_FORGETS = {
    "model": {**RECALL["model"], "forget_bias": -5.0},
    "training": {"lr": 3e-3, "steps": 150, "curriculum": True, **LINEAR_DECAY},
    "why": Text(
        "forget gates start shut: the cell is emptied at every step, and the value is gone "
        "before the cue comes. With a forget bias of 0 the same recipe learns.",
    ),
}
RECALL_BY_ATTENTION = {  # no BERT: its pooler reads the first token, which is the value itself
    "model": {"d_model": 32, "n_heads": 2, "n_layers": 1, "d_ff": 64, "norm_placement": "pre"},
    "training": {"lr": 1e-2, "steps": 80, **LINEAR_DECAY},
}

# Copy: attend to the source token at the position of the next output token. With tied embeddings it takes up to three
# times the steps.
SMALL = {"d_model": 64, "n_heads": 4, "n_layers": 1, "d_ff": 64, "norm_placement": "pre", "tie_embeddings": False}


def encoder_decoder(position: str, steps: int, lr: float = 1e-2, **model: Any) -> RecipeOptions:
    return {"model": {**SMALL, "position": position, **model}, "training": {"lr": lr, "steps": steps, **LINEAR_DECAY}}


# Running parity: with all earlier answers in the output, each is the last one plus one bit. Copying and adding are no use
# without each other, so the first problems are short. Adding two bits is a product of signs, which a gated feed-forward
# layer computes.
RUNNING_PARITY = {
    "model": {**SMALL, "position": "rope", "activation": "swiglu", "d_ff": 128},
    "training": {"lr": 3e-3, "steps": 150, "warmup": 5, "beta2": 0.98, "curriculum": True, **LINEAR_DECAY},
}

# T5 as published has no positions in cross-attention; without them it does not find the position to copy from.
T5 = {"d_model": 64, "n_heads": 4, "n_layers": 1, "d_ff": 64, "cross_position": True, "tie_embeddings": False}
T5_COPY = {"model": T5, "training": {"lr": 8e-3, "steps": 200, **LINEAR_DECAY}}

GPT = {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_ff": 64, "position": "rope", "tie_embeddings": False}
# Bits and answers alternate: both summands precede the answer. Without a gated activation one seed in two solves it.
SCRATCHPAD = {
    "model": {**GPT, "n_layers": 1, "activation": "swiglu"},
    "training": {"lr": 5e-3, "steps": 60, **LINEAR_DECAY},
}
GPT_COPY = {
    "model": GPT,
    "task_options": FIXED_LENGTH,
    "training": {"lr": 1e-2, "steps": 60, **LINEAR_DECAY},
}  # one length: 12
# Varying lengths: there is no fixed distance to attend to, so it must match the last few symbols. With many symbols few
# positions look alike.
GPT_COPY_ANY_LENGTH = {
    "model": {**GPT, "d_head": 32},
    "task_options": {"n_symbols": 52},
    "training": {"lr": 3e-3, "steps": 400, **LINEAR_DECAY},
}
GPT_CHEATS = {
    "model": {**GPT, "causal": False},
    "training": {"lr": 5e-3, "steps": 100, **LINEAR_DECAY},
    "why": Text(
        "without the causal mask it reads each answer off the next token: the loss falls to 0, "
        "but when it must write by itself that token is not there yet.",
    ),
}


def seq2seq(attention: str, steps: int, lr: float = 1e-2, d_hidden: int = 64, **more: Any) -> RecipeOptions:
    model = {"attention": attention, "d_embed": 32, "d_hidden": d_hidden, **more}
    return {"model": model, "training": {"lr": lr, "steps": steps, **LINEAR_DECAY}}


# The states of a unidirectional encoder hold only the prefix: Luong's attention must then find the exact position.
UNIDIRECTIONAL = {"d_hidden": 96, "bidirectional": False}
NO_ATTENTION_COPY = {  # one vector must hold everything: fewer symbols, shorter sequences
    "model": {"attention": "none", "cell": "lstm", "d_embed": 32, "d_hidden": 128},
    "task_options": {"min_len": 3, "max_len": 6, "n_symbols": 10},
    "training": {"lr": 5e-3, "steps": 500, "curriculum": True, **LINEAR_DECAY},
}
NO_ATTENTION_LONG = {
    "model": NO_ATTENTION_COPY["model"],
    "training": {"lr": 5e-3, "steps": 400, **LINEAR_DECAY},
    "why": Text(
        "one vector must hold up to 12 symbols. With attention, the same length is learnt in fewer steps.",
    ),
}

# Reverse
REVERSE = {**encoder_decoder("learned", 80), "task_options": FIXED_LENGTH}  # one length: 12
REVERSE_NO_POSITIONS = {
    **encoder_decoder("none", 80),
    "task_options": FIXED_LENGTH,
    "why": Text(
        "without positions it sees which symbols there are, but not where: it cannot know which one was last.",
    ),
}
REVERSE_ANY_LENGTH = {  # the position of the last symbol must be found first: one more layer
    "model": {**SMALL, "position": "learned", "n_layers": 2},
    "training": {"lr": 5e-3, "steps": 300, **LINEAR_DECAY},
}
GPT_REVERSE = {
    "model": {**GPT, "position": "learned"},
    "task_options": FIXED_LENGTH,
    "training": {"lr": 5e-3, "steps": 150, **LINEAR_DECAY},
}
# Relative positions alone do not tell where to attend: source and target run in opposite directions. A first layer must
# encode the distance to either end as a feature to match, so there are enough buckets for every distance.
T5_REVERSE = {
    "model": {**T5, "n_heads": 8, "n_layers": 2, "n_decoder_layers": 1, "n_buckets": 64},
    "task_options": FIXED_LENGTH,
    "training": {"lr": 5e-3, "steps": 500, **LINEAR_DECAY},
}

# Sort: find the next greater symbol. Repeated symbols must also be counted: one more layer.
SORT = {
    "model": {**SMALL, "position": "rope", "n_layers": 2},
    "training": {"lr": 5e-3, "steps": 300, **LINEAR_DECAY},
}
SORT_DISTINCT = {**encoder_decoder("rope", 120), "task_options": {"unique": True}}

# Induction: find the token that followed the current one earlier.
INDUCTION = {"model": GPT, "training": {"lr": 3e-3, "steps": 400}}
INDUCTION_ONE_LAYER = {
    **INDUCTION,
    "model": {**GPT, "n_layers": 1},
    "why": Text(
        "one layer cannot do it: a head must first mark each token with the one before.",
    ),
}

SYNTHETIC_RECIPES: dict[tuple[str, str], dict[str, RecipeOptions]] = {
    ("rnn", "parity"): {"default": PARITY, "source": PARITY_SOURCE, "too-fast": PARITY_TOO_FAST},
    ("gru", "parity"): {"default": PARITY, "source": PARITY_SOURCE},
    ("lstm", "parity"): {"default": PARITY, "source": PARITY_SOURCE},
    ("gpt", "parity"): {"default": PARITY_BY_COUNTING},
    ("transformer", "running parity"): {"default": RUNNING_PARITY},
    ("gpt", "scratchpad parity"): {"default": SCRATCHPAD},
    ("transformer", "copy"): {
        "default": encoder_decoder("rope", 60),
        "learned": encoder_decoder("learned", 100),
        "t5": encoder_decoder("t5", 150),
        "sinusoidal": encoder_decoder("sinusoidal", 220, lr=8e-3),
        "alibi": encoder_decoder("alibi", 300, n_heads=8),
    },
    ("t5", "copy"): {"default": T5_COPY},
    ("gpt", "copy"): {"default": GPT_COPY, "any-length": GPT_COPY_ANY_LENGTH, "cheats": GPT_CHEATS},
    ("seq2seq", "copy"): {
        "default": seq2seq("bahdanau", 300),
        "luong-dot": seq2seq("luong-dot", 400, **UNIDIRECTIONAL),
        "luong-general": seq2seq("luong-general", 450, lr=5e-3, **UNIDIRECTIONAL),
        "luong-concat": seq2seq("luong-concat", 300),
        "no-attention": NO_ATTENTION_COPY,
        "no-attention-long": NO_ATTENTION_LONG,
    },
    ("rnn", "recall"): {"default": RECALL},
    ("gru", "recall"): {"default": RECALL},
    ("lstm", "recall"): {"default": RECALL, "forgets": RECALL_FORGETS},
    ("gpt", "recall"): {"default": RECALL_BY_ATTENTION},
    ("transformer", "reverse"): {
        "default": REVERSE,
        "any-length": REVERSE_ANY_LENGTH,
        "no-positions": REVERSE_NO_POSITIONS,
    },
    ("t5", "reverse"): {"default": T5_REVERSE},
    ("gpt", "reverse"): {"default": GPT_REVERSE},
    ("seq2seq", "reverse"): {"default": seq2seq("bahdanau", 300), "luong": seq2seq("luong-general", 400)},
    ("transformer", "sort"): {"default": SORT, "distinct": SORT_DISTINCT},
    ("seq2seq", "sort"): {"default": seq2seq("bahdanau", 450)},
    ("gpt", "induction"): {"default": INDUCTION, "one-layer": INDUCTION_ONE_LAYER},
}
