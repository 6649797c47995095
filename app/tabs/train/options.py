"""Native controls for the options of models, tasks and training, made once for each family and each task.

They show a recipe of the page's state and set it without a request (`static/js/train_options.js`); only the groups of the
chosen family and task are visible.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import gradio as gr

from app.components.words import word, word_of
from app.i18n import in_all_languages
from app.service.build.option_titles import option_title
from app.service.training.menu import FIRST, MAIN_OPTIONS, options_of_parts, recipe_bases
from core import Option

SCRIPT = "import(new URL('ours/js/train_options.js', document.baseURI))"


@dataclass
class OptionControl:
    part: str
    of: str  # the family or task that it is for; "": all
    option: Option
    component: Any


class OptionControls:
    """Controls of the options of a recipe. First they are placed with `groups`, then tied to the page's state with `tie`.

    key: of the state: {"family", "task", "variant"} and by part what differs from the variant; or, with a "base" by part,
    from that.
    """

    def __init__(self, key: str):
        self.key = key
        self.controls: list[OptionControl] = []
        self.boxes: list[tuple[gr.Group, str, str]] = []

    def groups(self, part: str, main: bool | None = None, only: Container[str] | None = None) -> None:
        """A group for each family or task; main: of the options that come first, or of the others; None: of all."""
        for of, options in options_of_parts()[part].items():
            chosen = [o for o in options if main is None or (o.name in MAIN_OPTIONS) == main]
            chosen = [o for o in chosen if only is None or o.name in only]
            if not chosen:
                continue
            with gr.Group(visible=of in ("", *FIRST), elem_classes=["options", f"options-{part}"]) as box:
                for option in chosen:
                    component = option_component(option, f"{self.key}-{part}-{of}-{option.name}".replace(" ", "_"))
                    self.controls.append(OptionControl(part, of, option, component))
            self.boxes.append((box, part, of))

    def tie(self) -> None:
        places = [
            {
                "part": control.part,
                "of": control.of,
                "name": control.option.name,
                "id": control.component.elem_id,
                "kind": _kind(control.option),
                "optional": control.option.optional,
                "default": control.option.default,
                "help": in_all_languages(control.option.help),
                "choices": {value: in_all_languages(text) for value, text in control.option.choices.items()},
            }
            for control in self.controls
        ]
        follower = gr.HTML(
            value=None,
            html_template="<i hidden></i>",
            js_on_load=f"{SCRIPT}.then(({{ optionControls }}) => optionControls(element, props, trigger))",
            apply_default_css=False,
            elem_classes=["page-state"],
            state_key=self.key,
            places=places,
            boxes=[{"part": part, "of": of} for _, part, of in self.boxes],
            recipes=recipe_bases(),
        )
        outputs = [*(control.component for control in self.controls), *(box for box, _, _ in self.boxes)]
        follow = f"() => innerview.follow({json.dumps('options of ' + self.key)})"
        follower.change(None, None, outputs, js=follow, api_visibility="private")
        for i, control in enumerate(self.controls):
            move = f"(value) => innerview.option({json.dumps(self.key)}, {i}, value)"
            control.component.input(None, [control.component], None, js=move)


def option_component(option: Option, elem_id: str) -> gr.components.Component:
    """A control for one option: a number, a switch, a list; *automatic or a number* is a text."""
    common: dict[str, Any] = {
        "label": word_of(option_title(option.name)),
        "info": word_of(option.help),
        "interactive": True,
        "elem_id": elem_id,
        "elem_classes": ["option", f"option-{option.name}"],
    }
    kind = _kind(option)
    if kind == "choice":
        return gr.Dropdown(list(option.choices), value=option.default, filterable=False, **common)
    if kind == "bool" and option.optional:
        return gr.Dropdown(["automatic", "on", "off"], value="automatic", filterable=False, **common)
    if kind == "bool":
        return gr.Checkbox(option.default, **common)
    if option.optional:
        value = "" if option.default is None else str(option.default)
        return gr.Textbox(value, placeholder=word("automatic"), lines=1, max_lines=1, **common)
    bounds: dict[str, Any] = {"minimum": option.low, "maximum": option.high}
    common |= {name: bound for name, bound in bounds.items() if math.isfinite(bound)}
    return gr.Number(option.default, step=1 if kind == "int" else 0.001, **common)


def option_names_style() -> str:
    """Rules that write the name of an option in Python beside its title."""
    names = {
        option.name for groups in options_of_parts().values() for options in groups.values() for option in options
    }
    rules = (f'.option-{name} [data-testid=block-info]::after, .option-{name} .label-text::after {{ content: "{name}"; }}' for name in sorted(names))  # fmt: skip
    return "<style>" + "\n".join(rules) + "</style>"


def _kind(option: Option) -> str:
    return "choice" if option.kind is str else option.kind.__name__
