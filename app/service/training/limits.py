"""Limits of training here: predicted seconds and memory of one step; a `ConfigError` names the option to change."""

from __future__ import annotations

from typing import cast

from core import ConfigError, Text
from core.config.families import Config, RecurrentConfig, Seq2SeqConfig, TransformerConfig
from core.runs.recipes import Recipe

MAX_STEP_SECONDS = 4.0
OPERATIONS_PER_SECOND = 2e10  # of one laptop thread, roughly, in products of small matrices
MAX_STEP_BYTES = 2e9
MAX_FIXED_TOKENS = 5_000_000  # of a fixed training set; collecting one takes up to 130 bytes per token


def check_samples(recipe: Recipe) -> None:
    """A fixed training set (`samples`) stays in memory during the whole training."""
    samples, length = recipe.training.samples, longest_row(recipe)
    if samples is not None and samples * length > MAX_FIXED_TOKENS:
        fitting = MAX_FIXED_TOKENS // length
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


def check_seconds(recipe: Recipe, parameters: int) -> None:
    seconds, batch_size = predicted_step_seconds(recipe, parameters), recipe.training.batch_size
    if seconds > MAX_STEP_SECONDS:
        size = batch_size * recipe.training.accumulate
        fitting = max(1, int(batch_size * MAX_STEP_SECONDS / seconds))
        raise ConfigError(
            "batch_size",
            batch_size,
            Text(
                "one step over {size:,} problems would take about {seconds:.0f} seconds here.", size=size, seconds=seconds,
            ),
            Text("Use about {fitting}, shorter problems or a smaller model.", fitting=fitting),
        )  # fmt: skip


def check_memory(recipe: Recipe) -> None:
    per_problem, batch_size = predicted_bytes(recipe), recipe.training.batch_size
    if per_problem * batch_size > MAX_STEP_BYTES:
        fitting = int(MAX_STEP_BYTES / per_problem)
        raise ConfigError(
            "batch_size",
            batch_size,
            Text(
                "one step would need about {gigabytes:.1f} GB of memory; {most:.0f} GB are set aside for it here.",
                gigabytes=per_problem * batch_size / 1e9,
                most=MAX_STEP_BYTES / 1e9,
            ),
            Text(
                "Use at most {fitting}, or shorter problems, fewer tokens to choose from or a smaller model.",
                fitting=fitting,
            )
            if fitting
            else Text("Use shorter problems, fewer tokens to choose from or a smaller model."),
        )


def longest_row(recipe: Recipe) -> int:
    """Tokens in the longest problem and its answer."""
    forms = recipe.task.forms
    return recipe.task.max_tokens("stream" if "pairs" in forms else forms[0])


def predicted_step_seconds(recipe: Recipe, parameters: int) -> float:
    """6 · parameters · tokens for forward and backward, and 12 · layers · width · length per token for attention."""
    options, model, length = recipe.training, recipe.model, longest_row(recipe)
    tokens = options.batch_size * options.accumulate * length
    per_token = 6.0 * parameters
    if isinstance(model, TransformerConfig):
        per_token += 12.0 * model.n_layers * model.d_model * length
    return tokens * per_token * (2 if options.adversarial else 1) / OPERATIONS_PER_SECOND


def predicted_bytes(recipe: Recipe) -> float:
    """Bytes of activations that one problem takes until the backward pass. The factors were measured."""
    length = longest_row(recipe)
    return 4.0 * length * (4 * _head_outputs(recipe.model, length) + _layer_activations(recipe.model, length))


def _head_outputs(model: Config, length: int) -> int:
    """Outputs of the head per token."""
    labels = getattr(model, "n_labels", 1)
    per_head = {"classifier": 1, "qa": 2, "tagger": labels, "crf": labels**2, "pointer": labels * (length + 128)}
    return per_head.get(getattr(model, "head", "lm"), model.vocab_size)


def _layer_activations(model: Config, length: int) -> float:
    """Numbers per token that the layers keep for the backward pass."""
    if not isinstance(model, TransformerConfig):
        recurrent = cast(RecurrentConfig | Seq2SeqConfig, model)
        additive = isinstance(model, Seq2SeqConfig) and model.attention in ("bahdanau", "luong-concat")
        keys = length // 2 if additive else 0  # one sum for every pair of query and key
        return recurrent.d_hidden * (16 * model.n_layers * (2 if recurrent.bidirectional else 1) + keys)
    layers = max(model.n_layers, getattr(model, "decoder_layers", 0))
    # copies of the attention weights where no fused kernel avoids them
    copies = 4 if model.dropout else 2 if model.position == "t5" else 0
    weights = copies * model.n_heads * length
    return layers * (6 * model.d_model + 4 * model.n_heads * model.head_width + 3 * model.ff_width + weights)
