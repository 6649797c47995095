"""What each kind of module and each tap is, told once: its formula, its meaning, and the names of its axes.

What has no words here is shown by its name and its shape.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from core.config.options import Text


@dataclass(frozen=True)
class Words:
    formula: str
    meaning: Text
    axes: tuple[str, ...] = ()


def _words(formula: str, en: str, zh: str, axes: str = "") -> Words:
    return Words(formula, Text(en, zh), tuple(axes.split()))


HEADS, MAPS, STREAM, STATE = (
    "batch head query d_head",
    "batch head query key",
    "batch time d_model",
    "batch time unit",
)

# fmt: off
MODULES: dict[str, Words] = {
    "Transformer": _words("memory = encoder(src);  logits = head(decoder(tgt, memory))", "Encoder–decoder: the decoder writes while looking at what the encoder read.", "编码器–解码器：解码器一边写，一边看编码器读到的内容。"),
    "Seq2Seq": _words("encoded = encoder(src);  logits = head(decoder(tgt, encoded))", "Recurrent encoder–decoder: one network reads, another writes.", "循环编码器–解码器：一个网络读，另一个写。"),
    "Gpt": _words("p(next | past) = softmax(W x_n)", "A stack that may not look ahead, predicting the next token.", "不能看后文的堆叠结构，预测下一个词元。"),
    "Bert": _words("p(masked | all others) = softmax(W x_n)", "A stack that looks both ways.", "同时看两个方向的堆叠结构。"),
    "RecurrentModel": _words("h_t = cell(x_t, h_{t−1});  logits = head(h)", "Reads one token after the other; all it knows of the past is its state.", "逐个读入词元；它对过去的全部了解就是状态。"),
    "Stack": _words("x ← block_1(x) … block_L(x)", "Embedding, then blocks on top of each other.", "先嵌入，再一层层堆叠的块。"),
    "Block": _words("pre: x + f(norm(x));  post: norm(x + f(x))", "Attention and feed-forward, each added to the stream that runs past it.", "注意力与前馈，各自加到从旁流过的残差流上。"),
    "Attention": _words("softmax(q kᵀ · scale + bias) v", "Every token asks (q), all answer with a label (k) and a content (v); the answers are mixed by how well they fit.", "每个词元提问（q），所有词元以标签（k）和内容（v）作答，按匹配程度混合。"),
    "FeedForward": _words("W_out f(W_in x);  gated: W_out (f(W_gate x) ⊙ W_in x)", "Every position by itself: up, through a non-linearity, and back.", "逐位置处理：升维、经非线性、再降回。"),
    "Linear": _words("W x + b", "A linear map of the last axis.", "对最后一维做线性变换。"),
    "Embedding": _words("E[id]", "One trained vector per id.", "每个编号一个可训练向量。"),
    "Learned": _words("P[position]", "One trained vector per position.", "每个位置一个可训练向量。"),
    "Sinusoidal": _words("sin(p / 10000^(2i/d)), cos(…)", "Fixed waves; nothing to train.", "固定的正弦波，无需训练。"),
    "Rotary": _words("(x_{2i}, x_{2i+1}) turned by p / 10000^(2i/d)", "Turns queries and keys, so that their product depends on the offset only.", "旋转查询与键，使点积只取决于偏移。"),
    "Alibi": _words("−slope_h · |query − key|", "Lowers a score in proportion to distance; nothing to train.", "得分随距离线性降低，无需训练。"),
    "T5Bias": _words("b_h[bucket(key − query)]", "A trained number per head and class of offset, added to the scores of every layer.", "每个头、每类偏移一个可训练的数，加到每层的得分上。"),
    "LayerNorm": _words("γ (x − mean) / √(var + ε) + β", "Brings every vector to one scale.", "把每个向量归到同一尺度。"),
    "RmsNorm": _words("γ x / √(mean(x²) + ε)", "Brings every vector to one scale, without subtracting the mean.", "把每个向量归到同一尺度，不减均值。"),
    "ConditionalLayerNorm": _words("(γ + Γ[c]) (x − mean) / √(var + ε) + β + B[c]", "LayerNorm whose gain and bias depend on a condition.", "增益与偏置随条件变化的 LayerNorm。"),
    "RnnLayer": _words("h_t = tanh(W_x x_t + b_x + W_h h_{t−1} + b_h)", "One state, rewritten at every step.", "一个状态，每一步都被改写。"),
    "GruLayer": _words("h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}", "Two gates decide how much of the old state stays.", "两个门决定旧状态保留多少。"),
    "LstmLayer": _words("c_t = f ⊙ c_{t−1} + i ⊙ g;  h_t = o ⊙ tanh(c_t)", "Three gates around a cell that can keep its value for long.", "三个门围绕一个能长久保持数值的记忆单元。"),
    "Encoder": _words("h_t = cell(x_t, h_{t−1})", "Reads the source; its last states begin the decoder.", "读入源序列；末状态成为解码器的初始状态。"),
    "Decoder": _words("s_t = cell(y_{t−1}, s_{t−1})", "Writes from one vector alone: the bottleneck.", "只凭一个向量来写：瓶颈所在。"),
    "LuongDecoder": _words("tanh(W_c [context; s_t])", "The new state looks back at the source before it speaks.", "新状态先回看源序列，再输出。"),
    "BahdanauDecoder": _words("s_t = cell([y_{t−1}; context_t], s_{t−1})", "The previous state looks back at the source, and what it finds enters the next step and its output.", "前一状态回看源序列，所得进入下一步及其输出。"),
    "Alignment": _words("score = query · key", "Which source steps matter now?", "此刻源序列的哪些步重要？"),
    "GeneralAlignment": _words("score = query · W key", "Which source steps matter now?", "此刻源序列的哪些步重要？"),
    "AdditiveAlignment": _words("score = v · tanh(W_q query + W_k key)", "Which source steps matter now?", "此刻源序列的哪些步重要？"),
    "MaskedTokenHead": _words("W norm(f(W_d x)) + b", "A score for every token of the vocabulary, in every place.", "在每个位置为词表中每个词元打分。"),
    "CrfHead": _words("score(y) = start + Σ emission + Σ transition + end", "Tags are chosen together, as the best path.", "标签一起选择，取最佳路径。"),
    "Crf": _words("score(y) = start + Σ emission + Σ transition + end", "A score for every move from one tag to the next; acts in the loss and in the answer.", "每次从一个标签转移到下一个的得分；作用于损失与回答。"),
    "GlobalPointer": _words("score(i, j) = q_i · k_j / √d", "Scores every span by its start and its end.", "按起点和终点为每个片段打分。"),
}

POINTS: dict[tuple[str, str], Words] = {
    ("", "embed"): _words("E[id]", "The tokens as vectors.", "词元对应的向量。", "batch time d_model"),
    ("", "segment"): _words("S[segment]", "Which sentence a token belongs to.", "词元属于哪个句段。", STREAM),
    ("", "position"): _words("P[position]", "Where a token stands, added to what it is.", "词元的位置，加到其内容上。", STREAM),
    ("", "logits"): _words("", "The answer: a score for everything it could be.", "回答：对每种可能的打分。"),
    ("", "pooled"): _words("f(W x_{[CLS]} + b)", "One vector for the whole sequence; in BERT f is tanh.", "整个序列的一个向量；BERT 中 f 为 tanh。", "batch d_model"),
    ("", "next_sentence"): _words("W pooled + b", "Does the second sentence follow the first?", "第二句是否承接第一句？", "batch class"),
    ("Block", "resid_in"): _words("x", "The residual stream as it enters the block.", "进入本块的残差流。", STREAM),
    ("Block", "resid_mid"): _words("x + attention", "The stream after attention was added.", "加上注意力之后的残差流。", STREAM),
    ("Block", "resid_cross"): _words("x + cross-attention", "The stream after looking at the source.", "看过源序列之后的残差流。", STREAM),
    ("Block", "resid_out"): _words("x + feed-forward", "The stream as it leaves the block.", "离开本块的残差流。", STREAM),
    ("Attention", "q"): _words("q = W_q x", "What each token asks.", "每个词元的提问。", HEADS),
    ("Attention", "k"): _words("k = W_k x", "What each token is found by.", "每个词元用来被找到的标签。", "batch kv_head key d_head"),
    ("Attention", "v"): _words("v = W_v x", "What each token has to say.", "每个词元所携带的内容。", "batch kv_head key d_head"),
    ("Attention", "bias"): _words("b(query, key)", "What the positions add to the scores.", "位置加到得分上的量。", MAPS),
    ("Attention", "scores"): _words("q kᵀ · scale + bias", "How well each question fits each label.", "每个提问与每个标签的匹配程度。", MAPS),
    ("Attention", "mask"): _words("True = may look", "Who may look at whom.", "谁可以看谁。", MAPS),
    ("Attention", "weights"): _words("softmax(scores)", "Where each token looks; every row sums to 1.", "每个词元看向哪里；每行之和为 1。", MAPS),
    ("Attention", "context"): _words("weights · v", "What each head has gathered.", "每个头汇集到的内容。", HEADS),
    ("Attention", "out"): _words("W_o concat(heads)", "All heads together, added to the stream.", "所有头合在一起，加到残差流上。", STREAM),
    ("FeedForward", "pre"): _words("W_in x (gated: W_gate x)", "Before the non-linearity.", "非线性之前。", "batch time d_ff"),
    ("FeedForward", "post"): _words("f(pre) (gated: f(pre) ⊙ W_in x)", "After the non-linearity: which neurons fire.", "非线性之后：哪些神经元被激活。", "batch time d_ff"),
    ("FeedForward", "out"): _words("W_out post", "Back to the width of the stream.", "回到残差流的宽度。", STREAM),
    ("RnnLayer", "hidden"): _words("h_t = tanh(W_x x_t + W_h h_{t−1} + b)", "The state: all it remembers.", "状态：它记住的一切。", STATE),
    ("GruLayer", "reset"): _words("r_t = σ(W_r x_t + U_r h_{t−1} + b)", "How much of the old state the candidate sees.", "候选值能看到多少旧状态。", STATE),
    ("GruLayer", "update"): _words("z_t = σ(W_z x_t + U_z h_{t−1} + b)", "How much of the old state stays.", "旧状态保留多少。", STATE),
    ("GruLayer", "candidate"): _words("n_t = tanh(W_n x_t + r ⊙ U_n h_{t−1} + b)", "What would be new.", "新的内容。", STATE),
    ("GruLayer", "hidden"): _words("h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}", "The state: all it remembers.", "状态：它记住的一切。", STATE),
    ("LstmLayer", "input"): _words("i_t = σ(W_i x_t + U_i h_{t−1} + b)", "How much of the candidate is written.", "候选值写入多少。", STATE),
    ("LstmLayer", "forget"): _words("f_t = σ(W_f x_t + U_f h_{t−1} + b)", "How much of the cell stays.", "记忆单元保留多少。", STATE),
    ("LstmLayer", "candidate"): _words("g_t = tanh(W_g x_t + U_g h_{t−1} + b)", "What would be written.", "待写入的内容。", STATE),
    ("LstmLayer", "output"): _words("o_t = σ(W_o x_t + U_o h_{t−1} + b)", "How much of the cell is shown.", "记忆单元显露多少。", STATE),
    ("LstmLayer", "cell"): _words("c_t = f ⊙ c_{t−1} + i ⊙ g", "The memory that need not be rewritten.", "无需改写的记忆。", STATE),
    ("LstmLayer", "hidden"): _words("h_t = o ⊙ tanh(c_t)", "What the others see of the memory.", "外界看到的记忆。", STATE),
    ("Alignment", "scores"): _words("score(query, key)", "How well each source step fits.", "源序列每一步的匹配程度。", MAPS),
    ("Alignment", "weights"): _words("softmax(scores)", "Where the decoder looks; every row sums to 1.", "解码器看向哪里；每行之和为 1。", MAPS),
    ("Alignment", "context"): _words("Σ weights · source states", "The mixture of the source it asked for.", "按权重混合的源序列内容。", "batch head query unit"),
    ("GlobalPointer", "q"): _words("q = W_q x, turned", "Each token as the start of a span.", "每个词元作为片段起点。", "batch type start d_head"),
    ("GlobalPointer", "k"): _words("k = W_k x, turned", "Each token as the end of a span.", "每个词元作为片段终点。", "batch type end d_head"),
    ("GlobalPointer", "scores"): _words("q_i · k_j / √d", "How likely each span is.", "每个片段的可能性。", "batch type start end"),
}
INPUTS: dict[str, Words] = {
    "ids": _words("", "Token ids.", "词元编号。", "batch time"),
    "src": _words("", "Token ids of the source.", "源序列的词元编号。", "batch time"),
    "tgt": _words("", "Token ids of the target, one place behind.", "目标序列的词元编号，错后一位。", "batch time"),
    "segments": _words("", "Which sentence each token belongs to.", "每个词元属于哪个句段。", "batch time"),
}
# fmt: on
LOGITS = {
    "classifier": "batch label",
    "pointer": "batch type start end",
    "qa": "batch end time",
    "none": "batch time d_model",
}


def described(module: nn.Module) -> Words | None:
    """The words for a module's class, or for the nearest one it is a kind of."""
    return next((MODULES[kind.__name__] for kind in type(module).__mro__ if kind.__name__ in MODULES), None)


def point_words(module: nn.Module, point: str) -> Words | None:
    """The words for a tap of a module."""
    kinds = [*(kind.__name__ for kind in type(module).__mro__), ""]
    return next((POINTS[kind, point] for kind in kinds if (kind, point) in POINTS), None)


def axes_of(module: nn.Module, point: str) -> tuple[str, ...]:
    """The names of a tap's axes; where they depend on the model's options, by those."""
    config = getattr(module, "config", None)
    if point == "logits":
        head = getattr(config, "head", "lm")
        return tuple(LOGITS.get(head, f"batch time {'token' if head in ('lm', 'mlm') else 'label'}").split())
    if point == "embed" and hasattr(module, "d_out"):  # a recurrent network
        return ("batch", "time", "d_embed")
    words = point_words(module, point)
    return words.axes if words else ()
