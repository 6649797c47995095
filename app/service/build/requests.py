"""What the page asks of the Build tab: configurations, what of a diagram is unfolded, and the run and input looked at."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, NonNegativeInt, ValidationError

import core
from app.figures.diagram import Diagram
from app.i18n import TRANSLATIONS
from app.service.build import model_plan
from app.service.inputs import ModelInput, held_out_input, input_from_text
from app.service.runs import run_registry
from core import InputError
from core.config.families import Config

MAX_TOKENS = 64  # of the sequences whose shapes are shown
USUAL_TOKENS = (12, 8)  # without an input: of the source, of the target
MAX_OPTIONS_CHARACTERS = 4_000
MAX_PARTS = 5_000  # that may be unfolded
HELD_OUT_SHOWN = 1000
PartId = Annotated[str, Field(max_length=200)]
Copies = Annotated[
    dict[PartId, NonNegativeInt], Field(max_length=MAX_PARTS)
]  # group → which of its equal parts is named


class ConfigBody(BaseModel):
    """A family, and the options that are not its defaults."""

    family: str = Field(max_length=40)
    options: dict[str, Any] = {}

    @classmethod
    def of(cls, config: Config) -> ConfigBody:
        return cls(family=config.family, options=model_plan.non_default_options(config))

    def config(self) -> Config:
        if len(json.dumps(self.options)) > MAX_OPTIONS_CHARACTERS:
            raise InputError("These are too many options.")
        return core.configure(self.family, **self.options)


class PlanBody(ConfigBody):
    time: int = Field(USUAL_TOKENS[0], ge=1, le=MAX_TOKENS)
    target_time: int = Field(USUAL_TOKENS[1], ge=1, le=MAX_TOKENS)

    def plan(self) -> dict[str, Any]:
        return cached_plan(self.config(), self.time, self.target_time)


@lru_cache(maxsize=64)
def cached_plan(config: Config, time: int, target_time: int) -> dict[str, Any]:
    return model_plan.plan(config, time, target_time)


class FoldBody(BaseModel):
    """What of a diagram is unfolded (None: the first level), drawn over time, and the number within each folded group."""

    opened: list[PartId] | None = Field(None, max_length=MAX_PARTS)
    unrolled: list[PartId] = Field([], max_length=MAX_PARTS)
    index: Copies = {}


class DiagramBody(PlanBody):
    """A diagram; if a part is named, whatever holds it is unfolded too."""

    fold: FoldBody = FoldBody()
    part: PartId | None = None
    language: str = Field("en", max_length=10)

    def diagram(self, theme: str | None = None) -> Diagram:
        language = self.language if self.language in TRANSLATIONS else "en"
        drawn = model_plan.diagram_of(self.plan(), self.fold.model_dump(), language, theme)
        return drawn.reveal(self.part) if self.part else drawn


class DiagramFileBody(DiagramBody):
    title: str = Field("", max_length=80)
    theme: Literal["light", "dark"] = "light"


class Configurations(BaseModel):
    """Two configurations and which of them is changed; `a` is the run's own model unless told otherwise."""

    a: ConfigBody | None = None
    b: ConfigBody | None = None
    side: Literal["a", "b"] = "a"


class BuildQuestion(BaseModel):
    """Keys of the page's state that the tab depends on."""

    build: Configurations = Configurations()
    run: str | None = Field(None, max_length=200)
    text: str | None = Field(None, max_length=20_000)
    held_out: int = Field(0, alias="heldOut", ge=0, lt=HELD_OUT_SHOWN)
    language: str = "en"
    part: PartId | None = None
    copies: Copies = {}

    @classmethod
    def read(cls, value: dict[str, Any]) -> Self:
        try:
            question = cls.model_validate({name: one for name, one in value.items() if one is not None})
        except ValidationError as error:
            field = ".".join(map(str, error.errors()[0]["loc"]))[:80]
            raise InputError("{part}: that cannot be read.", part=field) from error
        if question.language not in TRANSLATIONS:
            question.language = "en"
        return question

    @property
    def side(self) -> str:
        return self.build.side if self.build.b else "a"

    def of_run(self) -> ConfigBody | None:
        if self.run is None:
            return None
        config: Any = run_registry.open_run(self.run).run.model.config
        return ConfigBody.of(config)

    def input(self) -> ModelInput | None:
        if self.run is None:
            return None
        run = run_registry.open_run(self.run).run
        return input_from_text(run, self.text) if self.text is not None else held_out_input(run, self.held_out)

    def plan_body(self, choice: ConfigBody) -> PlanBody:
        """A configuration with the lengths of the input that is looked at."""
        lengths = list(USUAL_TOKENS)
        if problem := self.input():
            for i, tokens in enumerate((problem.source, problem.decoder_tokens)):
                lengths[i] = max(1, min(MAX_TOKENS, len(tokens) or USUAL_TOKENS[i]))
        return PlanBody(family=choice.family, options=choice.options, time=lengths[0], target_time=lengths[1])

    def bodies(self) -> dict[str, PlanBody]:
        """The configurations by side: one or two."""
        first = self.build.a or self.of_run()
        chosen = {"a": first, "b": self.build.b}
        return {side: self.plan_body(choice) for side, choice in chosen.items() if choice is not None}
