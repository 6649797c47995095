"""The model of the Build tab as JSON: its parts with repeated blocks folded, notes, and the Python that builds it."""

from __future__ import annotations

from typing import Any

import core
from app.i18n import in_all_languages
from app.service.build.controls import controls
from core.architecture.anatomy import Anatomy, Part
from core.config.families import CONFIGS, Config, EncoderDecoderConfig
from core.translatable import Text, verbatim

MAIN_OPTIONS = (  # shown first, in this order
    "n_layers", "n_heads", "d_model", "d_ff", "cell", "d_embed", "d_hidden", "vocab_size", "attention", "position",
    "norm_placement", "activation", "bidirectional", "tie_embeddings", "head",
)  # fmt: skip
FAMILY_HELP = {
    "rnn": Text("The plain recurrent network"),
    "gru": Text("Two gates, no separate cell"),
    "lstm": Text("Three gates around a memory cell"),
    "seq2seq": Text("Recurrent encoder and decoder, with attention or without"),
    "transformer": Text("Encoder and decoder of attention alone"),
    "bert": Text("An encoder that looks both ways"),
    "roformer": Text("BERT with rotary positions"),
    "gpt": Text("A decoder that predicts the next token"),
    "t5": Text("Encoder and decoder with relative positions"),
}


def build_menu() -> dict[str, Any]:
    """The choices of the Build tab: families with their options, the main ones first, and presets."""
    families = []
    for name in core.models():
        options = {option.name: option for option in CONFIGS[name].options()}
        main = [option for option in MAIN_OPTIONS if option in options]
        order = main + [option for option in options if option not in main]
        family_controls = controls(options[option] for option in order)
        families.append(
            {"name": name, "help": in_all_languages(_family_help(name)), "options": family_controls, "main": main}
        )
    presets = [
        {"name": name, "family": preset.family, "help": in_all_languages(preset.help), "options": preset.options}
        for name, preset in core.PRESETS.items()
    ]
    return {"families": families, "presets": presets}


def _family_help(family: str) -> core.Text:
    """Falls back to the name of the family."""
    return FAMILY_HELP.get(family, verbatim(family))


def plan(config: Config, time: int, target_time: int) -> dict[str, Any]:
    """A configuration as the page draws it. No weights are allocated: time depends on the number of parts only."""
    anatomy = core.anatomy(config, time=time, target_time=target_time)
    return {
        "family": config.family,
        "options": non_default_options(config),
        "python": python_of(config),
        "preset": preset_of(config),
        "parameters": anatomy.root.count,
        "time": anatomy.time,
        "target_time": anatomy.target_time,
        "root": part_tree(anatomy),
        "notes": parameter_notes(anatomy),
    }


def non_default_options(config: Config) -> dict[str, Any]:
    return {
        option.name: value for option in config.options() if (value := getattr(config, option.name)) != option.default
    }


def preset_of(config: Config) -> str | None:
    names = (name for name, preset in core.PRESETS.items() if preset.family == config.family)
    return next((name for name in names if core.configure(name) == config), None)


def python_literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def python_of(config: Config) -> str:
    """The shortest code that builds it."""
    options = "".join(f", {name}={python_literal(value)}" for name, value in non_default_options(config).items())
    preset = preset_of(config)
    call = f'core.build("{preset}")' if preset and options else f'core.build("{config.family}"{options})'
    return f"import core\n\nmodel = {call}"


def part_tree(anatomy: Anatomy) -> dict[str, Any]:
    """The tree of parts; equal neighbours are folded into one with a number of `times`."""
    return _FoldedTree(anatomy.root).part(anatomy.root)


class _FoldedTree:
    def __init__(self, root: Part):
        self.representatives: dict[str, str] = {}  # node of a folded copy → node that is drawn instead
        self.repeats: dict[str, int] = {}  # node that is drawn → number of equal neighbours, itself included
        self.fold(root)

    def fold(self, part: Part) -> None:
        """Group consecutive rows that hold one part of the same outline each, such as the blocks of a stack."""
        first, outline = None, None  # of the current group of equal neighbours
        for row in part.rows:
            alone = row[0] if len(row) == 1 and row[0].rows else None
            if alone is not None and first is not None and alone.outline() == outline:
                self.repeats[first.node] += 1
                for original, copy in zip(first.walk(), alone.walk(), strict=True):
                    self.representatives[copy.node] = original.node
                continue
            first, outline = alone, alone and alone.outline()
            if first is not None:
                self.repeats[first.node] = 1
            for inner in row:
                self.fold(inner)

    def part(self, part: Part) -> dict[str, Any]:
        """A part and all below it, without folded copies; their sources are those that are drawn instead."""
        rows = [[self.part(inner) for inner in row if inner.node not in self.representatives] for row in part.rows]
        sources = {(self.representatives.get(s.node, s.node), s.recurrent) for s in part.sources}
        return {
            "id": part.node,
            "path": part.path,
            "kind": part.kind,
            "module": part.module,
            "facts": part.extra_repr,
            "shape": part.shape,
            "axes": part.axes,
            "formula": part.description.formula if part.description else "",
            "meaning": in_all_languages(part.description.meaning) if part.description else None,
            "count": part.count,
            "times": self.repeats.get(part.node, 1),
            "weights": [
                {"name": w.name, "shape": w.shape, "count": w.count, "same_as": w.same_as} for w in part.weights
            ],
            "sources": sorted(sources),
            "rows": [row for row in rows if row],
        }


def parameter_notes(anatomy: Anatomy) -> list[dict[str, str]]:
    """Parameters that common estimates leave out or count twice."""
    texts = []
    total = anatomy.root.count
    parts = list(anatomy.root.walk())
    inside = sum(part.count for part in parts if part.module == "FeedForward")
    if inside:
        texts.append(Text(
            "The feed-forward layers hold **{inside:,}** of {total:,} parameters ({percent:.0f} %). Estimates that add "
            "up embeddings and attention only arrive at {rest:,}.",
            inside=inside, total=total, percent=100 * inside / total, rest=total - inside,
        ))  # fmt: skip
    if _is_base_transformer(anatomy.config):
        texts.append(Text(
            "An estimate of 92 million goes round for this size. It leaves out the feed-forward "
            "layers: in fact there are **{total:,}**.", total=total,
        ))  # fmt: skip
    for part in parts:
        for weight in part.weights:
            if weight.same_as:
                size = weight.shape[0] * weight.shape[1]
                texts.append(Text(
                    "{path}.{name} is {same_as}: one table, counted once. Apart they would be **{size:,}** "
                    "more.", path=part.path, name=weight.name, same_as=weight.same_as, size=size,
                ))  # fmt: skip
    return [in_all_languages(text) for text in texts]


def _is_base_transformer(config: Config) -> bool:
    """The base size of Vaswani et al. (2017), with 50,000 tokens and untied embeddings."""
    if config.family != "transformer" or not isinstance(config, EncoderDecoderConfig):
        return False
    layers = (config.n_layers, config.decoder_layers)
    sizes = (config.vocab_size, config.d_model, config.ff_width)
    return layers == (6, 6) and sizes == (50_000, 512, 2_048) and not config.tie_embeddings
