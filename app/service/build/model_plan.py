"""The Build tab's model as the page draws it: its anatomy with repeated blocks folded, and the Python that makes it."""

from __future__ import annotations

from typing import Any

import core
from app.i18n import in_all_languages
from app.service.build.controls import controls
from core.architecture.anatomy import Anatomy, Part
from core.config.families import CONFIGS, Config
from core.messages import Text, verbatim

MAIN = (
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


def offered() -> dict[str, Any]:
    """What can be chosen: the families with their options, the main ones first, and the presets."""
    families = []
    for name in core.models():
        options = {option.name: option for option in CONFIGS[name].options()}
        main = [option for option in MAIN if option in options]
        order = main + [option for option in options if option not in main]
        listed = controls(options[option] for option in order)
        families.append({"name": name, "help": in_all_languages(_help_of(name)), "options": listed, "main": main})
    presets = [
        {"name": name, "family": preset.family, "help": in_all_languages(preset.help), "options": preset.options}
        for name, preset in core.PRESETS.items()
    ]
    return {"families": families, "presets": presets}


def _help_of(family: str) -> core.Text:
    """A family nobody has described yet is called by its name."""
    return FAMILY_HELP.get(family, verbatim(family))


def plan(config: Config, time: int, target_time: int) -> dict[str, Any]:
    """A configuration as it is drawn. Never allocated: any size is as cheap as its number of parts."""
    found = core.anatomy(config, time=time, target_time=target_time)
    return {
        "family": config.family,
        "options": changed(config),
        "python": python_of(config),
        "preset": preset_of(config),
        "parameters": found.root.count,
        "time": found.time,
        "target_time": found.target_time,
        "root": drawn(found),
        "notes": notes(found),
    }


def changed(config: Config) -> dict[str, Any]:
    """The options that are not the family's defaults."""
    return {
        option.name: value for option in config.options() if (value := getattr(config, option.name)) != option.default
    }


def preset_of(config: Config) -> str | None:
    names = (name for name, preset in core.PRESETS.items() if preset.family == config.family)
    return next((name for name in names if core.configure(name) == config), None)


def written(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def python_of(config: Config) -> str:
    """The shortest line that builds it."""
    options = "".join(f", {name}={written(value)}" for name, value in changed(config).items())
    preset = preset_of(config)
    call = f'core.build("{preset}")' if preset and options else f'core.build("{config.family}"{options})'
    return f"import core\n\nmodel = {call}"


def drawn(found: Anatomy) -> dict[str, Any]:
    """The tree of parts, equal neighbours folded into one that is taken several times."""
    return _Drawing(found.root).part(found.root)


class _Drawing:
    def __init__(self, root: Part):
        self.stand_ins: dict[str, str] = {}  # node of a folded copy → that of the one that is drawn
        self.groups: dict[str, int] = {}  # node of the one that is drawn → how many it stands for
        self.fold(root)

    def fold(self, part: Part) -> None:
        leader, outline = None, None
        for row in part.rows:
            alone = row[0] if len(row) == 1 and row[0].rows else None
            if alone is not None and leader is not None and alone.outline() == outline:
                self.groups[leader.node] += 1
                for own, copy in zip(leader.walk(), alone.walk(), strict=True):
                    self.stand_ins[copy.node] = own.node
                continue
            leader, outline = alone, alone and alone.outline()
            if leader is not None:
                self.groups[leader.node] = 1
            for inner in row:
                self.fold(inner)

    def part(self, part: Part) -> dict[str, Any]:
        rows = [[self.part(inner) for inner in row if inner.node not in self.stand_ins] for row in part.rows]
        sources = {(self.stand_ins.get(s.node, s.node), s.recurrent) for s in part.sources}
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
            "times": self.groups.get(part.node, 1),
            "weights": [
                {"name": w.name, "shape": w.shape, "count": w.count, "same_as": w.same_as} for w in part.weights
            ],
            "sources": sorted(sources),
            "rows": [row for row in rows if row],
        }


def notes(found: Anatomy) -> list[dict[str, str]]:
    """What usual estimates of the number of parameters leave out, or count twice."""
    said = []
    total = found.root.count
    parts = list(found.root.walk())
    inside = sum(part.count for part in parts if part.module == "FeedForward")
    if inside:
        said.append(Text(
            "The feed-forward layers hold **{inside:,}** of {total:,} parameters ({percent:.0f} %). Estimates that add "
            "up embeddings and attention only arrive at {rest:,}.",
            inside=inside, total=total, percent=100 * inside / total, rest=total - inside,
        ))  # fmt: skip
    if _is_estimated(found.config):
        said.append(Text(
            "An estimate of 92 million goes round for this size. It leaves out the feed-forward "
"layers: in fact there are **{total:,}**.", total=total,
        ))  # fmt: skip
    for part in parts:
        for weight in part.weights:
            if weight.same_as:
                size = weight.shape[0] * weight.shape[1]
                said.append(Text(
                    "{path}.{name} is {same_as}: one table, counted once. Apart they would be **{size:,}** "
"more.", path=part.path, name=weight.name, same_as=weight.same_as, size=size,
                ))  # fmt: skip
    return [in_all_languages(text) for text in said]


def _is_estimated(config: Config) -> bool:
    sizes = {"vocab_size": 50_000, "d_model": 512, "n_layers": 6}
    if config.family != "transformer" or any(getattr(config, name) != value for name, value in sizes.items()):
        return False
    return config.ff_width == 2_048 and config.decoder_layers == 6 and not config.tie_embeddings
