"""Every option a model can have, told once: its range, its choices and one line of help in English and 中文.

The app builds its controls from this; `config.py` says which family has which option, and its default.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from core.config.options import Option, Text


def option(source: str | Option, default: Any, only: tuple[str, ...] = (), *, later: bool = False) -> Any:
    """A dataclass field for an option of the catalogue, with a family's default and, if fewer, its choices.

    One that came `later` than stored runs is told only where it is not at its default (`Options.told`).
    """
    known = CATALOGUE[source] if isinstance(source, str) else source
    choices = {name: known.choices[name] for name in only} if only else known.choices
    known = replace(known, default=default, choices=choices)
    return field(default=default, metadata={"option": known, "later": later})


def integer(name: str, low: int, high: int, en: str, zh: str, optional: bool = False) -> Option:
    return Option(name=name, kind=int, low=low, high=high, help=Text(en, zh), optional=optional)


def number(name: str, low: float, high: float, en: str, zh: str) -> Option:
    return Option(name=name, kind=float, low=low, high=high, help=Text(en, zh))


def switch(name: str, en: str, zh: str, optional: bool = False) -> Option:
    return Option(name=name, kind=bool, help=Text(en, zh), optional=optional)


def choice(name: str, en: str, zh: str, choices: dict[str, tuple[str, str]]) -> Option:
    return Option(
        name=name, kind=str, help=Text(en, zh), choices={key: Text(*texts) for key, texts in choices.items()}
    )


# fmt: off
_OPTIONS = [
    integer("vocab_size", 2, 1_000_000, "How many different tokens there are.", "词表中不同词元的个数。"),
    integer("n_layers", 1, 96, "How many layers are stacked.", "堆叠的层数。"),
    integer("n_decoder_layers", 1, 96, "Layers of the decoder; automatic: as many as the encoder.", "解码器层数；自动：与编码器相同。", optional=True),
    integer("n_heads", 1, 128, "How many attention heads look in parallel.", "并行注意力头的个数。"),
    integer("n_kv_heads", 1, 128, "Heads for keys and values, shared by groups of query heads; automatic: one each.", "键和值的头数，由查询头分组共享；自动：每头一个。", optional=True),
    integer("d_model", 1, 16_384, "Width of the vector that travels through the model.", "贯穿模型的向量宽度。"),
    integer("d_head", 1, 1_024, "Width of one head; automatic: d_model / n_heads.", "每个头的宽度；自动：d_model / n_heads。", optional=True),
    integer("d_ff", 1, 65_536, "Inner width of the feed-forward layer; automatic: 4 · d_model.", "前馈层内部宽度；自动：4 · d_model。", optional=True),
    integer("d_embed", 1, 16_384, "Width of a token's embedding.", "词嵌入的宽度。"),
    integer("d_hidden", 1, 16_384, "Units in the recurrent state.", "循环状态的单元数。"),
    integer("max_len", 1, 131_072, "The longest sequence the model takes.", "模型接受的最长序列。"),
    integer("window", 1, 65_536, "How far local attention looks to each side.", "局部注意力向每一侧看多远。"),
    integer("n_buckets", 2, 4_096, "T5 positions: how many classes of distance are told apart.", "T5 位置：区分多少类距离。"),
    integer("max_distance", 2, 65_536, "T5 positions: from here on all distances are the same.", "T5 位置：从此值起，所有距离视为相同。"),
    integer("n_segments", 0, 16, "How many kinds of segment (sentence A, sentence B) have an embedding.", "句段（句子 A、句子 B）嵌入的种类数。"),
    integer("position_offset", 0, 64, "Learned positions: rows of the table before the first position (RoBERTa: 2).", "可学习位置：位置表中第一个位置之前的行数（RoBERTa：2）。"),
    integer("n_conditions", 1, 10_000, "Conditional norm: how many conditions can be chosen.", "条件归一化：可选条件的个数。"),
    integer("n_labels", 1, 100_000, "How many classes, tags or span types the head tells apart.", "输出头区分的类别、标签或片段类型数。"),
    integer("downsample", 1, 64, "Cross-attention sees the encoder's output pooled by this factor.", "交叉注意力看到的编码器输出按此倍数池化。"),
    number("dropout", 0.0, 0.95, "Share of activations dropped in training.", "训练时随机丢弃的激活比例。"),
    number("forget_bias", -20.0, 20.0, "Added to the forget gate's initial bias: high remembers, low forgets.", "加在遗忘门初始偏置上：高则记，低则忘。"),
    number("norm_eps", 1e-12, 1e-1, "Keeps normalisation from dividing by zero.", "避免归一化时除以零。"),
    switch("bidirectional", "Read the sequence from both ends.", "从两端读取序列。"),
    switch("causal", "Hide the future. Off, a language model can cheat.", "遮住未来。关闭后语言模型可以作弊。"),
    switch("bias", "Linear layers add a bias.", "线性层带偏置。"),
    switch("tie_embeddings", "Input and output share one embedding table.", "输入与输出共用一个嵌入表。"),
    switch("scale_output", "Divide by √d_model before the output table; automatic: if it is the input's.", "输出表之前除以 √d_model；自动：与输入共用时才除。", optional=True),
    switch("next_sentence", "Besides the masked tokens, judge whether the second sentence follows the first; automatic: if there is a pooler.", "除被遮住的词元外，还判断第二句是否承接第一句；自动：有池化层时。", optional=True),
    switch("classifier_bias", "The classifier adds a bias.", "分类器带偏置。"),
    switch("cross_position", "Relative positions also act between decoder and encoder.", "相对位置也作用于解码器与编码器之间。"),
    switch("checkpointing", "Recompute activations in the backward pass: less memory, more time.", "反向传播时重算激活：省内存，费时间。"),
    choice("position", "How the model knows where a token stands.", "模型如何知道词元的位置。", {
        "sinusoidal": ("fixed waves added to the embedding", "加到嵌入上的固定正弦波"),
        "learned": ("a trained vector per position", "每个位置一个可训练向量"),
        "rope": ("queries and keys turned by an angle that grows with position", "查询和键旋转一个随位置增长的角度"),
        "alibi": ("scores lowered in proportion to distance", "得分随距离线性降低"),
        "t5": ("a trained bias per class of distance", "每类距离一个可训练偏置"),
        "none": ("no positions at all", "完全没有位置信息"),
    }),
    choice("norm", "What the normalisation does.", "归一化的方式。", {
        "layernorm": ("subtract the mean, divide by the deviation", "减均值、除以标准差"),
        "rmsnorm": ("divide by the root mean square only", "只除以均方根"),
        "conditional": ("LayerNorm whose gain and bias depend on a condition", "增益与偏置随条件变化的 LayerNorm"),
    }),
    choice("norm_placement", "Where the normalisation stands.", "归一化的位置。", {
        "pre": ("before each sublayer: trains easily", "在每个子层之前：易训练"),
        "post": ("after each residual sum, as first published", "在每次残差相加之后，即最初的做法"),
        "none": ("nowhere", "不使用"),
    }),
    choice("activation", "The non-linearity of the feed-forward layer.", "前馈层的非线性函数。", {
        "relu": ("max(0, x)", "max(0, x)"),
        "gelu": ("x · Φ(x)", "x · Φ(x)"),
        "gelu-tanh": ("GELU by its tanh approximation", "用 tanh 近似的 GELU"),
        "silu": ("x · σ(x)", "x · σ(x)"),
        "swiglu": ("SiLU of one projection gates another", "以 SiLU 门控的双投影"),
        "geglu": ("GELU of one projection gates another", "以 GELU 门控的双投影"),
        "geglu-tanh": ("GEGLU with the tanh approximation", "用 tanh 近似的 GEGLU"),
    }),
    choice("head_activation", "The non-linearity inside the head for masked tokens.", "遮词输出头内部的非线性函数。", {
        "relu": ("max(0, x)", "max(0, x)"),
        "gelu": ("x · Φ(x)", "x · Φ(x)"),
        "gelu-tanh": ("GELU by its tanh approximation", "用 tanh 近似的 GELU"),
        "silu": ("x · σ(x)", "x · σ(x)"),
    }),
    choice("pooler", "How the first token's vector becomes one for the whole sequence.", "如何由首个词元的向量得到整个序列的向量。", {
        "tanh": ("tanh of a projection, as in BERT", "投影后取 tanh，即 BERT 的做法"),
        "relu": ("ReLU of a projection, as in DistilBERT's classifier", "投影后取 ReLU，即 DistilBERT 分类器的做法"),
        "gelu": ("GELU of a projection, as in RoFormer's classifier", "投影后取 GELU，即 RoFormer 分类器的做法"),
        "gelu-tanh": ("GELU by its tanh approximation", "用 tanh 近似的 GELU"),
        "silu": ("SiLU of a projection", "投影后取 SiLU"),
        "none": ("not at all", "不做"),
    }),
    choice("attention", "Which tokens a token may look at.", "一个词元可以看到哪些词元。", {
        "full": ("all of them", "全部"),
        "local": ("those within the window: cost grows linearly", "窗口之内的：开销线性增长"),
    }),
    choice("engine", "How the recurrence is computed; the numbers are the same.", "循环的计算方式；数值相同。", {
        "fused": ("whole sequences at once, by torch's kernels or our own", "整段序列一次算完，用 torch 或自有的内核"),
        "stepwise": ("our own equations, one step at a time", "我们自己的方程，逐步计算"),
    }),
    choice("cell", "The recurrent cell.", "循环单元。", {
        "rnn": ("one tanh state", "单一 tanh 状态"),
        "gru": ("reset and update gates", "重置门与更新门"),
        "lstm": ("three gates and a cell", "三个门与一个记忆单元"),
    }),
    choice("head", "What the model predicts.", "模型预测什么。", {
        "lm": ("the next token, at every step", "每一步的下一个词元"),
        "mlm": ("the masked tokens, and whether the second sentence follows the first", "被遮住的词元，以及第二句是否承接第一句"),
        "classifier": ("one label for the sequence", "整个序列一个标签"),
        "tagger": ("one label per token", "每个词元一个标签"),
        "crf": ("one label per token, the best path as a whole", "每个词元一个标签，取整体最佳路径"),
        "pointer": ("spans by start and end, nested ones too", "由起止确定的片段，可嵌套"),
        "qa": ("the start and the end of an answer", "答案的起点和终点"),
        "none": ("nothing: the hidden states themselves are given out", "不预测：直接给出隐状态"),
    }),
]
CATALOGUE: dict[str, Option] = {option.name: option for option in _OPTIONS}

SEQ2SEQ_ATTENTION = choice("attention", "How the decoder looks back at the source.", "解码器如何回看源序列。", {
    "none": ("not at all: one vector must hold everything", "不回看：一个向量要装下一切"),
    "bahdanau": ("v · tanh(W_q query + W_k key), before the step", "v · tanh(W_q query + W_k key)，在更新之前"),
    "luong-dot": ("query · key, after the step", "query · key，在更新之后"),
    "luong-general": ("query · W · key, after the step", "query · W · key，在更新之后"),
    "luong-concat": ("v · tanh(W [query; key]), after the step", "v · tanh(W [query; key])，在更新之后"),
})
RNN_ACTIVATION = choice("activation", "The non-linearity of the state.", "状态的非线性函数。", {
    "tanh": ("bounded: gradients shrink", "有界：梯度收缩"),
    "relu": ("unbounded: gradients may explode", "无界：梯度可能爆炸"),
})
