"""One frozen configuration per family: its options, their defaults, and checks of impossible combinations.

A class with a `family` of its own is that family's configuration; the others are bases shared by several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.config.catalogue import CATALOGUE, RNN_ACTIVATION, SEQ2SEQ_ATTENTION, option
from core.config.options import Options
from core.errors import ConfigError
from core.translatable import Text

SUPERVISED_HEADS = ("classifier", "tagger", "crf", "pointer", "qa")  # trained on labelled examples
CONFIGS: dict[str, type[Config]] = {}  # by family, in the order in which they were published


@dataclass(frozen=True, kw_only=True)
class Config(Options):
    """Options of every family."""

    family: ClassVar[str]  # its name in `core.build`
    vocab_size: int = option("vocab_size", 100)
    n_layers: int = option("n_layers", 2)
    max_len: int = option("max_len", 4096)
    dropout: float = option("dropout", 0.0)

    def __init_subclass__(cls) -> None:
        if "family" in vars(cls):
            CONFIGS[cls.family] = cls

    @classmethod
    def title(cls) -> str:
        return getattr(cls, "family", cls.__name__)


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig(Config):
    """Options shared by RNN, GRU and LSTM; no family by itself."""

    d_embed: int = option("d_embed", 64)
    d_hidden: int = option("d_hidden", 128)
    n_layers: int = option("n_layers", 1)
    bidirectional: bool = option("bidirectional", False)
    engine: str = option("engine", "fused")
    head: str = option("head", "classifier", only=("classifier", "tagger", "lm", "crf", "pointer", "qa"))
    n_labels: int = option("n_labels", 2)

    def check(self) -> None:
        if self.head == "lm" and self.bidirectional:
            raise ConfigError(
                "bidirectional", True,
                Text("read backwards, a language model has already seen the next token."),
                Text("Use bidirectional=False, or head='tagger'."),
            )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RnnConfig(RecurrentConfig):
    family: ClassVar[str] = "rnn"
    activation: str = option(RNN_ACTIVATION, "tanh")


@dataclass(frozen=True, kw_only=True)
class GruConfig(RecurrentConfig):
    family: ClassVar[str] = "gru"


@dataclass(frozen=True, kw_only=True)
class LstmConfig(RecurrentConfig):
    family: ClassVar[str] = "lstm"
    forget_bias: float = option("forget_bias", 0.0)


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig(Config):
    family: ClassVar[str] = "seq2seq"
    cell: str = option("cell", "gru")
    attention: str = option(SEQ2SEQ_ATTENTION, "bahdanau")
    d_embed: int = option("d_embed", 64)
    d_hidden: int = option("d_hidden", 128)
    n_layers: int = option("n_layers", 1)
    bidirectional: bool = option("bidirectional", True)
    engine: str = option("engine", "fused")

    def check(self) -> None:
        if self.bidirectional and self.d_hidden % 2:
            raise ConfigError(
                "d_hidden", self.d_hidden,
                Text("a bidirectional encoder gives half of the units to each direction."),
                Text("Use an even number, for example {most}.", most=self.d_hidden + 1),
            )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(Config):
    """Options shared by all transformer families; no family by itself (see `EncoderDecoderConfig`)."""

    embedding_scaled: ClassVar[bool] = True  # embeddings × √d_model
    attention_scaled: ClassVar[bool] = True  # scores / √d_head
    d_model: int = option("d_model", 128)
    n_heads: int = option("n_heads", 4)
    n_kv_heads: int | None = option("n_kv_heads", None)
    d_head: int | None = option("d_head", None)
    d_ff: int | None = option("d_ff", None)
    max_len: int = option("max_len", 512)
    position: str = option("position", "sinusoidal")
    n_buckets: int = option("n_buckets", 32)
    max_distance: int = option("max_distance", 128)
    norm: str = option("norm", "layernorm")
    norm_placement: str = option("norm_placement", "post")
    norm_eps: float = option("norm_eps", 1e-5)
    n_conditions: int = option("n_conditions", 2)
    activation: str = option("activation", "relu")
    attention: str = option("attention", "full")
    window: int = option("window", 64)
    bias: bool = option("bias", True)
    tie_embeddings: bool = option("tie_embeddings", False)
    checkpointing: bool = option("checkpointing", False)

    @property
    def kv_heads(self) -> int:
        return self.n_kv_heads or self.n_heads

    @property
    def head_width(self) -> int:
        return self.d_head or self.d_model // self.n_heads

    @property
    def ff_width(self) -> int:
        return self.d_ff or 4 * self.d_model

    def check(self) -> None:
        if self.d_head is None and self.d_model % self.n_heads:
            fitting = [heads for heads in range(1, min(self.d_model, 128) + 1) if self._allows_heads(heads)]
            nearest = min(fitting, key=lambda heads: abs(heads - self.n_heads), default=None)
            raise ConfigError(
                "n_heads", self.n_heads,
                Text("d_model = {d_model} cannot be split into {n_heads} equal heads.", d_model=self.d_model, n_heads=self.n_heads),
                Text("Use n_heads = {nearest}, or set d_head.", nearest=nearest) if nearest else Text("Set d_head."),
            )  # fmt: skip
        if self.n_heads % self.kv_heads:
            fitting = ", ".join(str(h) for h in range(1, self.n_heads + 1) if self.n_heads % h == 0)
            raise ConfigError(
                "n_kv_heads", self.n_kv_heads,
                Text("{n_heads} query heads cannot share {n_kv_heads} key-value heads evenly.", n_heads=self.n_heads, n_kv_heads=self.n_kv_heads),
                Text("Use one of: {fitting}.", fitting=fitting),
            )  # fmt: skip
        if self.position == "rope" and self.head_width % 2:
            even = min(self.head_width + 1, 1_024)
            raise ConfigError(
                "position", "rope",
                Text("RoPE turns pairs of numbers, but a head is {head_width} wide.", head_width=self.head_width),
                Text("Use an even head width, for example d_head = {even}.", even=even),
            )  # fmt: skip
        if self.position == "sinusoidal" and self.d_model % 2:
            step = 1 if self.d_head else self.n_heads  # keeps d_model divisible by n_heads
            even = self.d_model + (step if self.d_model + step <= CATALOGUE["d_model"].high else -step)
            raise ConfigError(
                "position", "sinusoidal",
                Text("sines and cosines come in pairs, but d_model = {d_model} is odd.", d_model=self.d_model),
                Text("Use d_model = {even}.", even=even),
            )  # fmt: skip
        whole, near = 4 * max(1, self.n_buckets // 4), self.n_buckets // 2
        if self.position == "t5" and self.n_buckets % 4:
            raise ConfigError(
                "n_buckets", self.n_buckets,
                Text("T5 splits buckets by direction, and by near and far."),
                Text("Use a multiple of 4: n_buckets = {whole}.", whole=whole),
            )  # fmt: skip
        if self.position == "t5" and self.max_distance <= near:
            raise ConfigError(
                "max_distance", self.max_distance,
                Text("of n_buckets = {n_buckets}, those for near offsets reach as far as {near}.", n_buckets=self.n_buckets, near=near),
                Text("Use max_distance = {next} or more.", next=near + 1),
            )  # fmt: skip

    def _allows_heads(self, n_heads: int) -> bool:
        """Whether this number of heads is possible with all other options as they are."""
        grouped = self.n_kv_heads is None or n_heads % self.n_kv_heads == 0
        even_width = self.position != "rope" or self.d_model // n_heads % 2 == 0
        return self.d_model % n_heads == 0 and grouped and even_width


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderConfig(TransformerConfig):
    """The original encoder–decoder Transformer; other encoder–decoder families inherit from it."""

    family: ClassVar[str] = "transformer"
    n_decoder_layers: int | None = option("n_decoder_layers", None)
    cross_position: bool = option("cross_position", True)
    downsample: int = option("downsample", 1)

    @property
    def decoder_layers(self) -> int:
        return self.n_decoder_layers or self.n_layers


@dataclass(frozen=True, kw_only=True)
class BertConfig(TransformerConfig):
    family: ClassVar[str] = "bert"
    embedding_scaled: ClassVar[bool] = False
    position: str = option("position", "learned")
    activation: str = option("activation", "gelu")
    norm_eps: float = option("norm_eps", 1e-12)
    tie_embeddings: bool = option("tie_embeddings", True)
    n_segments: int = option("n_segments", 2)
    head: str = option("head", "mlm", only=("mlm", *SUPERVISED_HEADS, "none"))
    n_labels: int = option("n_labels", 2)
    pooler: str = option("pooler", "tanh", added_later=True)
    next_sentence: bool | None = option("next_sentence", None, added_later=True)
    head_activation: str = option("head_activation", "gelu", added_later=True)
    position_offset: int = option("position_offset", 0, added_later=True)

    @property
    def has_next_sentence_head(self) -> bool:
        return self.head == "mlm" and (self.pooler != "none" if self.next_sentence is None else self.next_sentence)

    def check(self) -> None:
        super().check()
        if self.pooler == "none" and self.head == "classifier":
            raise ConfigError(
                "pooler", "none",
                Text("a classifier reads the one vector that the pooler makes."),
                Text("Use pooler = 'tanh', or head = 'tagger'."),
            )  # fmt: skip
        if self.pooler == "none" and self.has_next_sentence_head:
            raise ConfigError(
                "next_sentence", True,
                Text("whether one sentence follows the other is read off the pooler, and there is none."),
                Text("Use next_sentence = False, or pooler = 'tanh'."),
            )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RoformerConfig(BertConfig):
    family: ClassVar[str] = "roformer"
    position: str = option("position", "rope")


@dataclass(frozen=True, kw_only=True)
class GptConfig(TransformerConfig):
    family: ClassVar[str] = "gpt"
    embedding_scaled: ClassVar[bool] = False
    position: str = option("position", "learned")
    activation: str = option("activation", "gelu-tanh")
    norm_placement: str = option("norm_placement", "pre")
    tie_embeddings: bool = option("tie_embeddings", True)
    causal: bool = option("causal", True)
    head: str = option("head", "lm", only=("lm", *SUPERVISED_HEADS, "none"))
    n_labels: int = option("n_labels", 2)
    classifier_bias: bool = option("classifier_bias", True, added_later=True)


@dataclass(frozen=True, kw_only=True)
class T5Config(EncoderDecoderConfig):
    family: ClassVar[str] = "t5"
    embedding_scaled: ClassVar[bool] = False
    attention_scaled: ClassVar[bool] = False  # folded into the initial weights of the queries
    position: str = option("position", "t5")
    norm: str = option("norm", "rmsnorm")
    norm_placement: str = option("norm_placement", "pre")
    norm_eps: float = option("norm_eps", 1e-6)
    bias: bool = option("bias", False)
    tie_embeddings: bool = option("tie_embeddings", True)
    cross_position: bool = option("cross_position", False)
    scale_output: bool | None = option("scale_output", None, added_later=True)

    @property
    def scales_output(self) -> bool:
        return self.tie_embeddings if self.scale_output is None else self.scale_output
