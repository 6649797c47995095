"""The model of the Build tab as plain data: its parts with repeated blocks folded, notes, and the Python that builds it."""

from __future__ import annotations

import json
from typing import Any

import core
from app.figures.diagram import Diagram
from app.figures.diagram_layout import walk_parts
from app.figures.numbers import MISSING, exact
from app.i18n import translate_message
from app.service.build.option_titles import option_title
from core.architecture.anatomy import Anatomy
from core.config.families import CONFIGS, Config, EncoderDecoderConfig
from core.translatable import Text, verbatim

MAX_OPTIONS_CHARACTERS = 4_000
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


def main_options(family: str) -> list[str]:
    """Names of the options that are not folded away, in the order in which they stand."""
    names = [option.name for option in CONFIGS[family].options()]
    return [name for name in MAIN_OPTIONS if name in names]


def family_help(family: str) -> core.Text:
    """Falls back to the name of the family."""
    return FAMILY_HELP.get(family, verbatim(family))


def checked_config(family: str, options: dict[str, Any]) -> Config:
    """The configuration of a family or a preset with some options changed."""
    if len(json.dumps(options)) > MAX_OPTIONS_CHARACTERS:
        raise core.InputError("These are too many options.")
    return core.configure(family, **options)


def plan(config: Config, time: int, target_time: int) -> dict[str, Any]:
    """A configuration as the page draws it. No weights are allocated: time depends on the number of parts only."""
    anatomy = core.anatomy(config, time=time, target_time=target_time)
    return {
        "options": non_default_options(config),
        "python": python_of(config),
        "preset": preset_of(config),
        **anatomy.to_dict(),
        "notes": parameter_notes(anatomy),
    }


def diagram_of(plan: dict[str, Any], fold: dict[str, Any], language: str = "en", theme: str | None = None) -> Diagram:
    """A plan as a picture; `fold`: what is `opened`, `unrolled`, and the `index` within each folded group."""
    ids = {part["id"]: part for part in walk_parts(plan["root"])}
    opened = fold.get("opened")
    return Diagram(
        plan,
        None if opened is None else tuple(part for part in opened if part in ids),
        tuple(part for part in fold.get("unrolled", ()) if part in ids),
        {part: index for part, index in fold.get("index", {}).items() if part in ids and index < ids[part]["times"]},
        theme,
        language,
        translate_message,
    )


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[list[Text | str]]:
    """What differs between two plans: rows of a title and both values, the last one being the sum of parameters."""
    rows: list[list[Text | str]] = []
    if first["family"] != second["family"]:
        rows.append([Text("family"), first["family"], second["family"]])
    families = [{option.name: option for option in CONFIGS[one["family"]].options()} for one in (first, second)]
    for name in {**families[0], **families[1]}:
        values = [
            _written(options.get(name), one["options"])
            for options, one in zip(families, (first, second), strict=True)
        ]
        if values[0] != values[1]:
            title = option_title(name)
            rows.append([title if str(title) == name else Text("{title} ({name})", title=title, name=name), *values])
    return [*rows, [Text("parameters"), *(f"{one['parameters']:,}" for one in (first, second))]]


def differing_parts(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Ids of the parts that only one of them has, or that are not the same in both."""
    kinds = ("module", "facts", "shape", "count", "times")
    parts = [
        {part["id"]: [part[kind] for kind in kinds] for part in walk_parts(one["root"])} for one in (first, second)
    ]
    return [part for part in {**parts[0], **parts[1]} if part != "()" and parts[0].get(part) != parts[1].get(part)]


def _written(option: core.Option | None, chosen: dict[str, Any]) -> Text | str:
    """An option's value as it is read: a dash where a family has none."""
    if option is None:
        return MISSING
    value = chosen.get(option.name, option.default)
    if value is None:
        return Text("automatic")
    if isinstance(value, bool):
        return Text("on") if value else Text("off")
    return exact(value) if isinstance(value, int | float) else str(value)


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


def parameter_notes(anatomy: Anatomy) -> list[Text]:
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
    return texts


def _is_base_transformer(config: Config) -> bool:
    """The base size of Vaswani et al. (2017), with 50,000 tokens and untied embeddings."""
    if config.family != "transformer" or not isinstance(config, EncoderDecoderConfig):
        return False
    layers = (config.n_layers, config.decoder_layers)
    sizes = (config.vocab_size, config.d_model, config.ff_width)
    return layers == (6, 6) and sizes == (50_000, 512, 2_048) and not config.tie_embeddings
