"""One way of writing: its options, what it wrote, and how likely that is as a whole."""

from __future__ import annotations

import json
import math
from typing import Any

import gradio as gr

from app.components.live_plot import LiveText, text_value
from app.components.token_buttons import TokenButtons, token_values
from app.components.words import chips, phrase
from app.figures.beam_tree import WRITTEN
from app.figures.expressions import Expression, Format, Sentences, State
from app.figures.numbers import write as written_number
from app.figures.tokens import seen
from app.i18n import in_all_languages
from app.service.generation.generation import decoding_options
from app.service.generation.result import Result
from core import ConfigError
from core.decoding.options import USED_BY
from core.translatable import Text

OPTIONS = {option.name: option for option in decoding_options()}
STRATEGIES = {"greedy": Text("greedy"), "sample": Text("sample"), "beam": Text("beam search")}
LABELS = {
    "max_new": Text("New tokens, at most"),
    "seed": Text("Seed of both"),
    "strategy": Text("Strategy"),
    "temperature": Text("Temperature"),
    "top_k": Text("Top k"),
    "top_p": Text("Top p"),
    "beams": Text("Beams"),
    "n_best": Text("Texts given"),
    "length_penalty": Text("Length penalty"),
    "no_repeat": Text("No repeated n-gram"),
    "repetition_penalty": Text("Repetition penalty"),
}
SHARED = ("max_new", "seed")  # the same for both ways
SLIDERS = {"temperature": (0.05, 5.0), "top_p": (0.0, 1.0), "repetition_penalty": (0.5, 2.0)}
END = "</s>"


def option_control(name: str, value: Any = None, **more: Any) -> gr.Slider | gr.Number:
    option = OPTIONS[name]
    options: dict[str, Any] = {
        "label": phrase(in_all_languages(LABELS[name])), "info": phrase(in_all_languages(option.help)), "interactive": True, "min_width": 110,
        "value": option.default if value is None else value, "elem_classes": ["option", f"option-{name}"], **more,
    }  # fmt: skip
    if name in SLIDERS:
        return gr.Slider(*SLIDERS[name], step=0.05, **options)
    return gr.Number(step=1 if option.kind is int else 0.1, **options)


class Way:
    def __init__(self, side: str, **values: Any):
        """values: of options, at first."""
        self.side = side
        with gr.Column(elem_classes=["card", "generate-column"], min_width=280):
            self.strategy = chips(STRATEGIES, values.get("strategy", "greedy"), label=side.upper())
            used_by = {name: strategy for strategy, names in USED_BY.items() for name in names}
            with gr.Row(elem_classes="generate-options"):
                self.options = {
                    name: option_control(
                        name, values.get(name), visible=used_by.get(name, self.strategy.value) == self.strategy.value
                    )
                    for name in [*used_by, "no_repeat", "repetition_penalty"]
                }
            self.problem = LiveText(classes="problem", role="alert")
            self.text = TokenButtons(classes="generate-text")
            self.verdict = LiveText(classes="caption")
            self.others = LiveText(classes="generate-others")
        shown = (
            f"{json.dumps(list(used_by.values()))}.map((of) => ({{ __type__: 'update', visible: of === strategy }}))"
        )
        only = [self.options[name] for name in used_by]
        self.strategy.change(None, [self.strategy], only, js=f"(strategy) => {shown}", api_visibility="private")

    @property
    def controls(self) -> dict[str, Any]:
        """By key of the page's state."""
        return {self.key("strategy"): self.strategy, **{self.key(name): one for name, one in self.options.items()}}

    @property
    def outputs(self) -> list[gr.components.Component]:
        return [self.problem, self.text, self.verdict, self.others]

    def key(self, name: str) -> str:
        return f"{name}_{self.side}"

    def how(self, state: dict[str, Any]) -> dict[str, Any]:
        """The options that its strategy reads; one that was emptied has its default."""
        given = {name: state.get(self.key(name)) for name in ("strategy", *self.options)}
        how = {name: OPTIONS[name].default if value is None else value for name, value in given.items()}
        unread = {name for strategy, names in USED_BY.items() if strategy != how["strategy"] for name in names}
        return {name: value for name, value in how.items() if name not in unread}

    def partial(self, tokens: list[str]) -> dict[Any, Any]:
        """While it is being written."""
        text = token_values(
            [seen(token) for token in tokens], Format("What it wrote"), key="token", also={"side": ""}
        )
        return {self.problem: None, self.text: text, self.verdict: None, self.others: None}

    def values(self, result: Result, strategy: Any) -> dict[Any, Any]:
        header = result.header
        best, *others = header["texts"]
        also = {"side": self.side, "node": -1, **({"treeSide": self.side} if header["tree"] else {})}
        text = token_values(
            [seen(token) for token in best["tokens"]], Format("What it wrote"), marks=marks(header), key="token", also=also,
            tip=Format("Position {at}: what it was chosen from", at=State("at")), shown=WRITTEN,
        )  # fmt: skip
        listed = "\n".join(other_text(i + 2, **other) for i, other in enumerate(others))
        return {
            self.problem: None,
            self.text: text,
            self.verdict: text_value(verdict(header, strategy)),
            self.others: text_value(listed) if listed else None,
        }


def other_text(number: int, tokens: list[str], score: float) -> str:
    return f"{number}.  {written_number(score, '.2f')}  {' '.join(tokens)}".replace("**", "*\u2060*")


def marks(header: dict[str, Any]) -> list[str]:
    """Right and wrong where that can be said: the same token at the same position, and the end right behind the answer.
    What a stream goes on with is not judged.
    """
    tokens, right = header["texts"][0]["tokens"], header["right"]
    if not right:
        return []
    due = [*right, END]
    return [
        "right" if at < len(due) and token == due[at] else "wrong" if header["two"] or at < len(right) else ""
        for at, token in enumerate(tokens)
    ]


def verdict(header: dict[str, Any], strategy: str) -> Expression:
    tokens, right, n = header["texts"][0]["tokens"], header["right"], len(header["steps"])
    score = header["texts"][0]["score"]
    facts = {"n": n, "score": score, "share": math.exp(score)}
    if strategy == "beam":
        many = Format("Score {score:.3f} over {n} tokens: the log-likelihood divided by a power of the length, which the length penalty sets.", **facts)  # fmt: skip
        one = Format("Score {score:.3f} of {n} token: the log-likelihood divided by a power of the length, which the length penalty sets.", **facts)  # fmt: skip
    else:
        many = Format("Log-likelihood {score:.3f} over {n} tokens: the model gives this text a probability of {share:p}.", **facts)  # fmt: skip
        one = Format("Log-likelihood {score:.3f} of {n} token: the model gives this text a probability of {share:p}.", **facts)  # fmt: skip
    said: list[Any] = [one if n == 1 else many]
    if right:
        wrong = sum(token != due for token, due in zip([*tokens, *[None] * len(right)], right, strict=False))
        said.append(judged(wrong, len(right)))
        more = sum(token != END for token in tokens) - len(right)
        if header["two"] and more > 0:
            said.append(
                Format("It does not stop where it should: {n} token too many.", n=more)
                if more == 1
                else Format("It does not stop where it should: {n} tokens too many.", n=more)
            )
    if header["full"] is not None:
        said.append(Format("There it had to stop: the model takes {most} tokens at most.", most=header["full"]))
    return Sentences(said)


def judged(wrong: int, n: int) -> Expression:
    if wrong:
        one = Format("{wrong} of {n} tokens is wrong.", wrong=wrong, n=n)
        return one if wrong == 1 else Format("{wrong} of {n} tokens are wrong.", wrong=wrong, n=n)
    return Format("The {n} token is right.", n=n) if n == 1 else Format("All {n} tokens are right.", n=n)


def option_problem(error: ConfigError) -> dict[str, Any] | None:
    """A refused option, called as on screen."""
    label = LABELS.get(error.option, error.option)
    return text_value(
        Text("{option} = {value}: {why} {remedy}", option=label, value=repr(error.value), why=error.why, remedy=error.remedy)
    )  # fmt: skip
