"""What the tab is asked about: a run, an input, and a moment of the run's training."""

from __future__ import annotations

from typing import Any, Self

from pydantic import ConfigDict

from app.figures.axes import shortened
from app.figures.expressions import Fill, Format
from app.figures.tokens import in_languages
from app.i18n import in_all_languages
from app.routes.runs import InputRequest
from app.service.runs import run_registry

KEYS = ("run", "text", "heldOut", "snapshot")  # of the page's state


class Asked(InputRequest):
    model_config = ConfigDict(frozen=True)

    step: int  # of the run's training

    @classmethod
    def of(cls, state: dict[str, Any]) -> Self:
        snapshots = list(run_registry.open_run(state["run"]).run.snapshots)
        step = snapshots[min(state["snapshot"] or 0, len(snapshots) - 1)].step
        return cls(
            run=state["run"],
            text=state["text"],
            held_out=state["heldOut"] if state["text"] is None else None,
            step=step,
        )

    @property
    def input(self) -> tuple[str, str | None, int | None]:
        return self.run, self.text, self.held_out

    def about(self, tokens: list[str]) -> Fill:
        """What a kept picture is of."""
        title = in_all_languages(run_registry.entry_title(run_registry.open_run(self.run)))
        return Fill(
            "{run} · {step} · {text}",
            run=in_languages(title),
            step=Format("step {step}", step=self.step),
            text=shortened(" ".join(tokens), 60),
        )
