"""How long one step of a recipe would take, and how much memory: what is too much is refused beside its option."""

from __future__ import annotations

from core import ConfigError, Text
from core.config.families import Config, Seq2SeqConfig, TransformerConfig
from core.runs.recipes import Recipe

MOST_STEP_SECONDS = 4.0
OPERATIONS_PER_SECOND = 2e10  # what one thread of a laptop does, roughly, in products of small matrices
MOST_STEP_BYTES = 2e9
MOST_FIXED_TOKENS = 5_000_000  # gathering takes up to 130 bytes for each


def check_samples(chosen: Recipe) -> None:
    """A fixed set of problems lies in memory as long as the run is trained."""
    samples, length = chosen.training.samples, longest_row(chosen)
    if samples is not None and samples * length > MOST_FIXED_TOKENS:
        fitting = MOST_FIXED_TOKENS // length
        raise ConfigError(
            "samples",
            samples,
            Text(
                "so many problems of up to {length:,} tokens are too many to keep in memory here.",
                length=length,
            ),
            Text(
                "Use at most {fitting}, or leave it automatic for fresh problems all the time.",
                fitting=fitting,
            ),
        )


def check_seconds(chosen: Recipe, parameters: int) -> None:
    seconds, batch_size = predicted_step_seconds(chosen, parameters), chosen.training.batch_size
    if seconds > MOST_STEP_SECONDS:
        size = batch_size * chosen.training.accumulate
        fitting = max(1, int(batch_size * MOST_STEP_SECONDS / seconds))
        raise ConfigError(
            "batch_size",
            batch_size,
            Text(
                "one step over {size:,} problems would take about {seconds:.0f} seconds here.", size=size, seconds=seconds,
            ),
            Text("Use about {fitting}, shorter problems or a smaller model.", fitting=fitting),
        )  # fmt: skip


def check_memory(chosen: Recipe) -> None:
    one, batch_size = predicted_bytes(chosen), chosen.training.batch_size
    if one * batch_size > MOST_STEP_BYTES:
        fitting = int(MOST_STEP_BYTES / one)
        raise ConfigError(
            "batch_size",
            batch_size,
            Text(
                "one step would need about {gigabytes:.1f} GB of memory; {most:.0f} GB are set aside for it here.",
                gigabytes=one * batch_size / 1000000000.0,
                most=MOST_STEP_BYTES / 1000000000.0,
            ),
            Text(
                "Use at most {fitting}, or shorter problems, fewer tokens to choose from or a smaller model.",
                fitting=fitting,
            )
            if fitting
            else Text("Use shorter problems, fewer tokens to choose from or a smaller model."),
        )


def longest_row(chosen: Recipe) -> int:
    """Tokens in the longest problem and its answer."""
    forms = chosen.task.forms
    return chosen.task.max_tokens("stream" if "pairs" in forms else forms[0])


def predicted_step_seconds(chosen: Recipe, parameters: int) -> float:
    """6 · parameters · tokens for forward and backward, and 12 · layers · width · length per token for attention."""
    options, model, length = chosen.training, chosen.model, longest_row(chosen)
    tokens = options.batch_size * options.accumulate * length
    per_token = 6.0 * parameters
    if isinstance(model, TransformerConfig):
        per_token += 12.0 * model.n_layers * model.d_model * length
    return tokens * per_token * (2 if options.adversarial else 1) / OPERATIONS_PER_SECOND


def predicted_bytes(chosen: Recipe) -> float:
    """What one problem leaves in memory until the gradients are there. The factors were measured."""
    length = longest_row(chosen)
    return 4.0 * length * (4 * _scores(chosen.model, length) + _kept(chosen.model, length))


def _scores(model: Config, length: int) -> int:
    """Numbers that the head gives per token."""
    labels = getattr(model, "n_labels", 1)
    per_head = {"classifier": 1, "qa": 2, "tagger": labels, "crf": labels**2, "pointer": labels * (length + 128)}
    return per_head.get(getattr(model, "head", "lm"), model.vocab_size)


def _kept(model: Config, length: int) -> float:
    """Numbers that the layers keep per token."""
    if not isinstance(model, TransformerConfig):
        adds = isinstance(model, Seq2SeqConfig) and model.attention in ("bahdanau", "luong-concat")
        keys = length // 2 if adds else 0  # query and key are added, for every pair of them
        return model.d_hidden * (16 * model.n_layers * (2 if model.bidirectional else 1) + keys)
    layers = max(model.n_layers, getattr(model, "decoder_layers", 0))
    copies = (
        4 if model.dropout else 2 if model.position == "t5" else 0
    )  # of the weights, where no kernel does without
    weights = copies * model.n_heads * length
    return layers * (6 * model.d_model + 4 * model.n_heads * model.head_width + 3 * model.ff_width + weights)
