"""The options of decoding, each with its range, default and help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from core.config.catalogue import choice, integer, number, option
from core.config.options import Options
from core.errors import ConfigError
from core.translatable import Text

# fmt: off
STRATEGY = choice("strategy", Text("How the next token is chosen."), {
    "greedy": Text("always the likeliest"),
    "sample": Text("drawn by chance, as likely as the model says"),
    "beam": Text("several texts grow side by side; the likeliest as a whole wins"),
})
MAX_NEW = integer("max_new", 1, 4_096, Text("How many tokens are written at most."))
BEAMS = integer("beams", 1, 64, Text("Beam: how many texts grow side by side."))
N_BEST = integer("n_best", 1, 64, Text("Beam: how many of the best texts are given."))
LENGTH_PENALTY = number("length_penalty", -5.0, 5.0, Text("Beam: log-likelihoods are divided by length to this power; above 0 favours long texts."))
TEMPERATURE = number("temperature", 0.01, 10.0, Text("Sample: logits are divided by it; below 1 is safer, above 1 wilder."))
TOP_K = integer("top_k", 0, 1_000_000, Text("Sample: only the k likeliest tokens; 0: all."))
TOP_P = number("top_p", 0.0, 1.0, Text("Sample: only the fewest tokens that together reach this probability; 1: all."))
NO_REPEAT = integer("no_repeat", 0, 64, Text("No run of so many tokens is written twice; 0: anything goes."))
REPETITION_PENALTY = number("repetition_penalty", 0.1, 10.0, Text("Above 1, tokens that were there already become less likely."))
SEED = integer("seed", 0, 2**31 - 1, Text("Sample: the same seed draws the same text."))
# fmt: on
USED_BY = {  # strategy → the options that only it uses
    "sample": ("temperature", "top_k", "top_p"),
    "beam": ("beams", "n_best", "length_penalty"),
}
# A seed may be given to every strategy: without sampling, every seed gives the same text.


@dataclass(frozen=True, kw_only=True)
class Decoding(Options):
    strategy: str = option(STRATEGY, "greedy")
    max_new: int = option(MAX_NEW, 20)
    temperature: float = option(TEMPERATURE, 1.0)
    top_k: int = option(TOP_K, 0)
    top_p: float = option(TOP_P, 1.0)
    seed: int = option(SEED, 0)
    beams: int = option(BEAMS, 4)
    n_best: int = option(N_BEST, 1)
    length_penalty: float = option(LENGTH_PENALTY, 1.0)
    no_repeat: int = option(NO_REPEAT, 0)
    repetition_penalty: float = option(REPETITION_PENALTY, 1.0)

    @classmethod
    def title(cls) -> str:
        return "decoding"

    @classmethod
    def make(cls, /, **values: Any) -> Self:
        """Checked options. `beams` without a strategy is refused even at its default value: greedy would ignore it.

        For the other options the default means "off", so that `check` accepts it with every strategy.
        """
        if "beams" in values and "strategy" not in values:
            raise _unused_option("beams", values["beams"], "greedy", "beam")
        return super().make(**values)

    def check(self) -> None:
        if self.strategy == "beam" and self.n_best > self.beams:
            raise ConfigError(
                "n_best",
                self.n_best,
                Text("there are only {beams} beams.", beams=self.beams),
                Text("Use at most {beams}, or more beams.", beams=self.beams),
            )
        defaults = {option.name: option.default for option in self.options()}
        for strategy, names in USED_BY.items():
            for name in names:
                if strategy != self.strategy and getattr(self, name) != defaults[name]:
                    raise _unused_option(name, getattr(self, name), self.strategy, strategy)


def _unused_option(name: str, value: Any, strategy: str, used_by: str) -> ConfigError:
    return ConfigError(
        name,
        value,
        Text("{strategy} does not read it.", strategy=strategy),
        Text("Use strategy={reader!r}, or leave it out.", reader=used_by),
    )
