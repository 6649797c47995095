"""How a text is written: every option with its range, default and help."""

from __future__ import annotations

from dataclasses import dataclass

from core.catalogue import choice, integer, number, option
from core.options import ConfigError, Options, Text

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

    def check(self) -> None:
        if self.strategy == "beam" and self.n_best > self.beams:
            raise ConfigError(
                "n_best",
                self.n_best,
                Text(f"there are only {self.beams} beams.", f"只有 {self.beams} 束。"),
                Text(f"Use at most {self.beams}, or more beams.", f"请至多用 {self.beams}，或增加束数。"),
            )
        if self.strategy != "beam" and self.n_best > 1:
            raise ConfigError(
                "n_best",
                self.n_best,
                Text(f"{self.strategy} writes one text.", f"{self.strategy} 只写一条文本。"),
                Text("Use strategy='beam'.", "请用 strategy='beam'。"),
            )
