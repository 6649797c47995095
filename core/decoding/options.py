"""How a text is written: every option with its range, default and help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from core.config.catalogue import choice, integer, number, option
from core.config.options import ConfigError, Options, Text

# fmt: off
STRATEGY = choice("strategy", "How the next token is chosen.", "如何选择下一个词元。", {
    "greedy": ("always the likeliest", "总取最可能的"),
    "sample": ("drawn by chance, as likely as the model says", "按模型给出的概率抽取"),
    "beam": ("several texts grow side by side; the likeliest as a whole wins", "多条文本并行生长，整体最可能者胜出"),
})
MAX_NEW = integer("max_new", 1, 4_096, "How many tokens are written at most.", "最多写多少个词元。")
BEAMS = integer("beams", 1, 64, "Beam: how many texts grow side by side.", "束搜索：并行生长的文本数。")
N_BEST = integer("n_best", 1, 64, "Beam: how many of the best texts are given.", "束搜索：给出最好的几条文本。")
LENGTH_PENALTY = number("length_penalty", -5.0, 5.0, "Beam: log-likelihoods are divided by length to this power; above 0 favours long texts.", "束搜索：对数似然除以长度的此次幂；大于 0 偏向长文本。")
TEMPERATURE = number("temperature", 0.01, 10.0, "Sample: logits are divided by it; below 1 is safer, above 1 wilder.", "采样：logits 除以它；小于 1 更稳，大于 1 更野。")
TOP_K = integer("top_k", 0, 1_000_000, "Sample: only the k likeliest tokens; 0: all.", "采样：只留最可能的 k 个词元；0：全部。")
TOP_P = number("top_p", 0.0, 1.0, "Sample: only the fewest tokens that together reach this probability; 1: all.", "采样：只留概率之和达到此值的最少词元；1：全部。")
NO_REPEAT = integer("no_repeat", 0, 64, "No run of so many tokens is written twice; 0: anything goes.", "这么长的连续词元不重复出现；0：不限。")
REPETITION_PENALTY = number("repetition_penalty", 0.1, 10.0, "Above 1, tokens that were there already become less likely.", "大于 1 时，已出现过的词元变得更不可能。")
SEED = integer("seed", 0, 2**31 - 1, "Sample: the same seed draws the same text.", "采样：同一种子抽出同样的文本。")
# fmt: on
READ_BY = {"sample": ("temperature", "top_k", "top_p"), "beam": ("beams", "n_best", "length_penalty")}
# A seed may be given to all: where nothing is drawn, every seed gives the same text.


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
        """As any other; but unlike those of the other options, the usual number of beams is no way to have none."""
        if "beams" in values and "strategy" not in values:
            raise _unread("beams", values["beams"], "greedy", "beam")
        return super().make(**values)

    def check(self) -> None:
        if self.strategy == "beam" and self.n_best > self.beams:
            raise ConfigError(
                "n_best",
                self.n_best,
                Text(f"there are only {self.beams} beams.", f"只有 {self.beams} 束。"),
                Text(f"Use at most {self.beams}, or more beams.", f"请至多用 {self.beams}，或增加束数。"),
            )
        usual = {known.name: known.default for known in self.options()}
        for reader, names in READ_BY.items():
            for name in names:
                if reader != self.strategy and getattr(self, name) != usual[name]:
                    raise _unread(name, getattr(self, name), self.strategy, reader)


def _unread(name: str, value: Any, strategy: str, reader: str) -> ConfigError:
    return ConfigError(
        name,
        value,
        Text(f"{strategy} does not read it.", f"{strategy} 不使用它。"),
        Text(f"Use strategy={reader!r}, or leave it out.", f"请用 strategy={reader!r}，或不给出它。"),
    )
