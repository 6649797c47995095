"""The recipes by family, task and variant, as options that differ from the defaults."""

from __future__ import annotations

from typing import Any

from core.options import Text

Parts = dict[str, Any]  # model, knobs, training; why, for those meant to fail

FIXED = {"min_len": 12, "max_len": 12}
SETTLE = {"schedule": "linear"}  # the last steps are small ones

# Parity: one bit of memory. The curriculum is what matters.
PARITY = {"model": {"d_embed": 8, "d_hidden": 32}, "training": {"lr": 1e-2, "steps": 300, "curriculum": True}}
PARITY_SOURCE = {
    "model": {"d_embed": 64, "d_hidden": 128},
    "knobs": {"n_symbols": 198},
    "training": {"lr": 1e-3, "batch_size": 32, "samples": 2_000, "steps": 189, "weight_decay": 0.01},
    "why": Text(
        "2,000 fixed problems and 198 symbols: it learns them by heart and stays at chance on all others.",
        "2000 个固定样本、198 种符号：模型死记硬背，在其他样本上停留在随机水平。",
    ),
}
PARITY_TOO_FAST = {
    "model": PARITY["model"],
    "training": {**PARITY["training"], "lr": 1.0},
    "why": Text(
        "a learning rate 100 times too high: every update throws away what the one before has found.",
        "学习率高了 100 倍：每次更新都丢掉上一次的成果。",
    ),
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
        "forget gates start shut: the cell is emptied at every step, and the value is gone before the cue comes. "
        "With a forget bias of 0 the same recipe learns.",
        "遗忘门初始关闭：记忆单元每一步都被清空，提示出现之前值已消失。遗忘偏置为 0 时，同样的配方可以学会。",
    ),
}

# Copy: look at the source token that stands where the next one is to be written.
SMALL = {"d_model": 64, "n_heads": 4, "n_layers": 1, "d_ff": 64, "norm_placement": "pre", "tie_embeddings": True}


def copying(position: str, steps: int, **model: Any) -> Parts:
    return {"model": {**SMALL, "position": position, **model}, "training": {"lr": 5e-3, "steps": steps, **SETTLE}}


GPT = {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_ff": 64, "position": "rope", "tie_embeddings": False}
GPT_COPY = {"model": GPT, "knobs": FIXED, "training": {"lr": 5e-3, "steps": 100, **SETTLE}}  # one length: 12
GPT_CHEATS = {
    "model": {**GPT, "causal": False},
    "training": GPT_COPY["training"],
    "why": Text(
        "without the causal mask it reads each answer off the next token: the loss falls to 0, but when it must write "
        "by itself that token is not there yet.",
        "没有因果掩码，它直接从下一个符号读出答案：损失降到 0，但独自书写时那个符号还不存在。",
    ),
}
SEQ2SEQ_COPY = {"model": {"d_embed": 32, "d_hidden": 64}, "training": {"lr": 1e-2, "steps": 300, **SETTLE}}
NO_ATTENTION_COPY = {  # one vector must hold everything: fewer symbols, shorter sequences
    "model": {"attention": "none", "cell": "lstm", "d_embed": 32, "d_hidden": 128},
    "knobs": {"min_len": 3, "max_len": 6, "n_symbols": 10},
    "training": {"lr": 5e-3, "steps": 500, "curriculum": True, **SETTLE},
}

# Reverse and tags
REVERSE = {**copying("learned", 120), "knobs": FIXED}  # one length: 12
REVERSE_LOST = {
    **copying("none", 120),
    "knobs": FIXED,
    "why": Text(
        "without positions it sees which symbols there are, but not where: it cannot know which one was last.",
        "没有位置信息，它知道有哪些符号，却不知道在哪里：无法知道哪个是最后一个。",
    ),
}
SEQ2SEQ_REVERSE = {"model": {"d_embed": 32, "d_hidden": 64}, "training": {"lr": 1e-2, "steps": 300, **SETTLE}}
BOTH_WAYS = {"d_embed": 32, "d_hidden": 32, "bidirectional": True}
LSTM_ENTITIES = {"model": BOTH_WAYS, "training": {"lr": 1e-2, "steps": 150, **SETTLE}}
LSTM_ENTITIES_CRF = {**LSTM_ENTITIES, "model": {**BOTH_WAYS, "head": "crf"}}
BERT_ENTITIES = {
    "model": {"d_model": 64, "n_heads": 4, "n_layers": 1, "d_ff": 64, "norm_placement": "pre"},
    "training": {"lr": 3e-3, "steps": 200, "warmup": 10, **SETTLE},
}

# Induction: find what followed the current token before.
INDUCTION = {"model": GPT, "training": {"lr": 3e-3, "steps": 400, **SETTLE}}
ONE_LAYER = {
    **INDUCTION,
    "model": {**GPT, "n_layers": 1},
    "why": Text(
        "one layer cannot do it: a head must first mark each token with the one before.",
        "一层做不到：必须先有一个头把每个符号标上它前面的符号。",
    ),
}

RECIPES: dict[tuple[str, str], dict[str, Parts]] = {
    ("rnn", "parity"): {"default": PARITY, "source": PARITY_SOURCE, "too-fast": PARITY_TOO_FAST},
    ("gru", "parity"): {"default": PARITY, "source": PARITY_SOURCE},
    ("lstm", "parity"): {"default": PARITY, "source": PARITY_SOURCE},
    ("transformer", "copy"): {
        "default": copying("rope", 150),
        "learned": copying("learned", 200),
        "sinusoidal": copying("sinusoidal", 300),
    },
    ("gpt", "copy"): {"default": GPT_COPY, "cheats": GPT_CHEATS},
    ("seq2seq", "copy"): {"default": SEQ2SEQ_COPY, "no-attention": NO_ATTENTION_COPY},
    ("gru", "recall"): {"default": RECALL},
    ("lstm", "recall"): {"default": RECALL, "forgets": RECALL_FORGETS},
    ("transformer", "reverse"): {"default": REVERSE, "no-positions": REVERSE_LOST},
    ("seq2seq", "reverse"): {"default": SEQ2SEQ_REVERSE},
    ("lstm", "entities"): {"default": LSTM_ENTITIES, "crf": LSTM_ENTITIES_CRF},
    ("bert", "entities"): {"default": BERT_ENTITIES},
    ("gpt", "induction"): {"default": INDUCTION, "one-layer": ONE_LAYER},
}
