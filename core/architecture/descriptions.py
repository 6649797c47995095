"""Descriptions of modules and taps, by class: formula, meaning, and the names of a tensor's axes.

A part without a description is shown by its name and shape alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from core.translatable import Text


@dataclass(frozen=True)
class Description:
    formula: str
    meaning: Text
    axes: tuple[str, ...] = ()


def _describe(formula: str, meaning: Text, axes: str = "") -> Description:
    return Description(formula, meaning, tuple(axes.split()))


HEADS, MAPS, STREAM, STATE = (  # axes that several taps have
    "batch head query d_head",
    "batch head query key",
    "batch time d_model",
    "batch time unit",
)

# fmt: off
MODULES: dict[str, Description] = {
    "Transformer": _describe("memory = encoder(src);  logits = head(decoder(tgt, memory))", Text("Encoder–decoder: the decoder writes while looking at what the encoder read.")),
    "Seq2Seq": _describe("encoded = encoder(src);  logits = head(decoder(tgt, encoded))", Text("Recurrent encoder–decoder: one network reads, another writes.")),
    "Gpt": _describe("p(next | past) = softmax(W x_n)", Text("A stack that may not look ahead, predicting the next token.")),
    "Bert": _describe("p(masked | all others) = softmax(W x_n)", Text("A stack that looks both ways.")),
    "RecurrentModel": _describe("h_t = cell(x_t, h_{t−1});  logits = head(h)", Text("Reads one token after the other; all it knows of the past is its state.")),
    "Stack": _describe("x ← block_1(x) … block_L(x)", Text("Embedding, then blocks on top of each other.")),
    "Block": _describe("pre: x + f(norm(x));  post: norm(x + f(x))", Text("Attention and feed-forward, each added to the stream that runs past it.")),
    "Attention": _describe("softmax(q kᵀ · scale + bias) v", Text("Every token asks (q), all answer with a label (k) and a content (v); the answers are "
"mixed by how well they fit.")),
    "FeedForward": _describe("W_out f(W_in x);  gated: W_out (f(W_gate x) ⊙ W_in x)", Text("Every position by itself: up, through a non-linearity, and back.")),
    "Linear": _describe("W x + b", Text("A linear map of the last axis.")),
    "Embedding": _describe("E[id]", Text("One trained vector per id.")),
    "Learned": _describe("P[position]", Text("One trained vector per position.")),
    "Sinusoidal": _describe("sin(p / 10000^(2i/d)), cos(…)", Text("Fixed waves; nothing to train.")),
    "Rotary": _describe("(x_{2i}, x_{2i+1}) turned by p / 10000^(2i/d)", Text("Turns queries and keys, so that their product depends on the offset only.")),
    "Alibi": _describe("−slope_h · |query − key|", Text("Lowers a score in proportion to distance; nothing to train.")),
    "T5Bias": _describe("b_h[bucket(key − query)]", Text("A trained number per head and class of offset, added to the scores of every layer.")),
    "LayerNorm": _describe("γ (x − mean) / √(var + ε) + β", Text("Brings every vector to one scale.")),
    "RmsNorm": _describe("γ x / √(mean(x²) + ε)", Text("Brings every vector to one scale, without subtracting the mean.")),
    "ConditionalLayerNorm": _describe("(γ + Γ[c]) (x − mean) / √(var + ε) + β + B[c]", Text("LayerNorm whose gain and bias depend on a condition.")),
    "RnnLayer": _describe("h_t = tanh(W_x x_t + b_x + W_h h_{t−1} + b_h)", Text("One state, rewritten at every step.")),
    "GruLayer": _describe("h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}", Text("Two gates decide how much of the old state stays.")),
    "LstmLayer": _describe("c_t = f ⊙ c_{t−1} + i ⊙ g;  h_t = o ⊙ tanh(c_t)", Text("Three gates around a cell that can keep its value for long.")),
    "Encoder": _describe("h_t = cell(x_t, h_{t−1})", Text("Reads the source; its last states begin the decoder.")),
    "Decoder": _describe("s_t = cell(y_{t−1}, s_{t−1})", Text("Writes from one vector alone: the bottleneck.")),
    "LuongDecoder": _describe("tanh(W_c [context; s_t])", Text("The new state looks back at the source before it speaks.")),
    "BahdanauDecoder": _describe("s_t = cell([y_{t−1}; context_t], s_{t−1})", Text("The previous state looks back at the source, and what it finds enters the next step and "
"its output.")),
    "Alignment": _describe("score = query · key", Text("Which source steps matter now?")),
    "GeneralAlignment": _describe("score = query · W key", Text("Which source steps matter now?")),
    "AdditiveAlignment": _describe("score = v · tanh(W_q query + W_k key)", Text("Which source steps matter now?")),
    "MaskedTokenHead": _describe("W norm(f(W_d x)) + b", Text("A score for every token of the vocabulary, in every place.")),
    "CrfHead": _describe("score(y) = start + Σ emission + Σ transition + end", Text("Tags are chosen together, as the best path.")),
    "Crf": _describe("score(y) = start + Σ emission + Σ transition + end", Text("A score for every move from one tag to the next; acts in the loss and in the answer.")),
    "GlobalPointer": _describe("score(i, j) = q_i · k_j / √d", Text("Scores every span by its start and its end.")),
}

POINTS: dict[tuple[str, str], Description] = {
    ("", "embed"): _describe("E[id]", Text("The tokens as vectors."), "batch time d_model"),
    ("", "segment"): _describe("S[segment]", Text("Which sentence a token belongs to."), STREAM),
    ("", "position"): _describe("P[position]", Text("Where a token stands, added to what it is."), STREAM),
    ("", "logits"): _describe("", Text("The answer: a score for everything it could be.")),
    ("", "pooled"): _describe("f(W x_{[CLS]} + b)", Text("One vector for the whole sequence; in BERT f is tanh."), "batch d_model"),
    ("", "next_sentence"): _describe("W pooled + b", Text("Does the second sentence follow the first?"), "batch class"),
    ("Block", "resid_in"): _describe("x", Text("The residual stream as it enters the block."), STREAM),
    ("Block", "resid_mid"): _describe("x + attention", Text("The stream after attention was added."), STREAM),
    ("Block", "resid_cross"): _describe("x + cross-attention", Text("The stream after looking at the source."), STREAM),
    ("Block", "resid_out"): _describe("x + feed-forward", Text("The stream as it leaves the block."), STREAM),
    ("Attention", "q"): _describe("q = W_q x", Text("What each token asks."), HEADS),
    ("Attention", "k"): _describe("k = W_k x", Text("What each token is found by."), "batch kv_head key d_head"),
    ("Attention", "v"): _describe("v = W_v x", Text("What each token has to say."), "batch kv_head key d_head"),
    ("Attention", "bias"): _describe("b(query, key)", Text("What the positions add to the scores."), MAPS),
    ("Attention", "scores"): _describe("q kᵀ · scale + bias", Text("How well each question fits each label."), MAPS),
    ("Attention", "mask"): _describe("True = may look", Text("Who may look at whom."), MAPS),
    ("Attention", "weights"): _describe("softmax(scores)", Text("Where each token looks; every row sums to 1."), MAPS),
    ("Attention", "context"): _describe("weights · v", Text("What each head has gathered."), HEADS),
    ("Attention", "out"): _describe("W_o concat(heads)", Text("All heads together, added to the stream."), STREAM),
    ("FeedForward", "pre"): _describe("W_in x (gated: W_gate x)", Text("Before the non-linearity."), "batch time d_ff"),
    ("FeedForward", "post"): _describe("f(pre) (gated: f(pre) ⊙ W_in x)", Text("After the non-linearity: which neurons fire."), "batch time d_ff"),
    ("FeedForward", "out"): _describe("W_out post", Text("Back to the width of the stream."), STREAM),
    ("RnnLayer", "hidden"): _describe("h_t = tanh(W_x x_t + W_h h_{t−1} + b)", Text("The state: all it remembers."), STATE),
    ("GruLayer", "reset"): _describe("r_t = σ(W_r x_t + U_r h_{t−1} + b)", Text("How much of the old state the candidate sees."), STATE),
    ("GruLayer", "update"): _describe("z_t = σ(W_z x_t + U_z h_{t−1} + b)", Text("How much of the old state stays."), STATE),
    ("GruLayer", "candidate"): _describe("n_t = tanh(W_n x_t + r ⊙ U_n h_{t−1} + b)", Text("What would be new."), STATE),
    ("GruLayer", "hidden"): _describe("h_t = (1 − z) ⊙ n + z ⊙ h_{t−1}", Text("The state: all it remembers."), STATE),
    ("LstmLayer", "input"): _describe("i_t = σ(W_i x_t + U_i h_{t−1} + b)", Text("How much of the candidate is written."), STATE),
    ("LstmLayer", "forget"): _describe("f_t = σ(W_f x_t + U_f h_{t−1} + b)", Text("How much of the cell stays."), STATE),
    ("LstmLayer", "candidate"): _describe("g_t = tanh(W_g x_t + U_g h_{t−1} + b)", Text("What would be written."), STATE),
    ("LstmLayer", "output"): _describe("o_t = σ(W_o x_t + U_o h_{t−1} + b)", Text("How much of the cell is shown."), STATE),
    ("LstmLayer", "cell"): _describe("c_t = f ⊙ c_{t−1} + i ⊙ g", Text("The memory that need not be rewritten."), STATE),
    ("LstmLayer", "hidden"): _describe("h_t = o ⊙ tanh(c_t)", Text("What the others see of the memory."), STATE),
    ("Alignment", "scores"): _describe("score(query, key)", Text("How well each source step fits."), MAPS),
    ("Alignment", "weights"): _describe("softmax(scores)", Text("Where the decoder looks; every row sums to 1."), MAPS),
    ("Alignment", "context"): _describe("Σ weights · source states", Text("The mixture of the source it asked for."), "batch head query unit"),
    ("GlobalPointer", "q"): _describe("q = W_q x, turned", Text("Each token as the start of a span."), "batch type start d_head"),
    ("GlobalPointer", "k"): _describe("k = W_k x, turned", Text("Each token as the end of a span."), "batch type end d_head"),
    ("GlobalPointer", "scores"): _describe("q_i · k_j / √d", Text("How likely each span is."), "batch type start end"),
}
INPUTS: dict[str, Description] = {
    "ids": _describe("", Text("Token ids."), "batch time"),
    "src": _describe("", Text("Token ids of the source."), "batch time"),
    "tgt": _describe("", Text("Token ids of the target, one place behind."), "batch time"),
    "segments": _describe("", Text("Which sentence each token belongs to."), "batch time"),
}
# fmt: on
LOGITS = {
    "classifier": "batch label",
    "pointer": "batch type start end",
    "qa": "batch end time",
    "none": "batch time d_model",
}


def describe_module(module: nn.Module) -> Description | None:
    """The description of a module's class, or of the nearest base class that has one."""
    return next((MODULES[kind.__name__] for kind in type(module).__mro__ if kind.__name__ in MODULES), None)


def describe_point(module: nn.Module, point: str) -> Description | None:
    """The description of a tap of a module."""
    kinds = [*(kind.__name__ for kind in type(module).__mro__), ""]
    return next((POINTS[kind, point] for kind in kinds if (kind, point) in POINTS), None)


def axis_names(module: nn.Module, point: str) -> tuple[str, ...]:
    """The names of a tap's axes; those of the logits depend on the head, those of `embed` on the family."""
    config = getattr(module, "config", None)
    if point == "logits":
        head = getattr(config, "head", "lm")
        return tuple(LOGITS.get(head, f"batch time {'token' if head in ('lm', 'mlm') else 'label'}").split())
    if point == "embed" and hasattr(module, "d_out"):  # a recurrent network
        return ("batch", "time", "d_embed")
    description = describe_point(module, point)
    return description.axes if description else ()
