"""The options of every family as native controls, made once from core's configurations and switched in the page.

The page's half is `static/js/build.js`: controls set the options of `build` in the page's state, and follow them.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

import core
from app.components.live_plot import LiveText, text_value
from app.components.words import chips, phrase, word
from app.figures.expressions import State
from app.i18n import in_all_languages
from app.service.build.controls import choice_name, control
from app.service.build.model_plan import main_options
from app.service.build.option_titles import option_title
from core import Option, Text
from core.config.families import CONFIGS
from core.translatable import verbatim

MODULE = "import(new URL('ours/js/build.js', document.baseURI))"
SWITCH = {"": Text("automatic"), "true": Text("on"), "false": Text("off")}  # of an optional bool


class BuildControls(gr.HTML):
    """Ties native controls to the state's `build` without a request; `names` of them, or the options of one family.

    A control that is used calls `innerview.build.use(family, name, value)`; when the state has changed, all of them are
    updated by what `innerview.build.follow(family)` returns, in order.
    """

    def __init__(self, family: str, controls: dict[str, Any], options: list[dict[str, Any]]):
        presets = {name: preset.options for name, preset in core.PRESETS.items() if preset.family == family}
        super().__init__(
            value=None,
            html_template="<i hidden></i>",
            js_on_load=f"{MODULE}.then(({{ buildControls }}) => buildControls(props, trigger))",
            apply_default_css=False,
            elem_classes=["page-state"],
            family=family,
            names=list(controls),
            options=options,
            presets=presets,
        )
        for name, used in controls.items():
            js = f"(value) => innerview.build.use({family!r}, {name!r}, value)"
            if isinstance(used, gr.Button):
                used.click(None, None, None, js=js, api_visibility="private")
            elif not isinstance(used, gr.Column | gr.Accordion):
                used.input(None, [used], None, js=js, api_visibility="private")
        follow = f"() => innerview.build.follow({family!r})"
        self.change(None, None, list(controls.values()), js=follow, api_visibility="private")

    def get_block_name(self) -> str:
        return "html"


def family_options(family: str) -> BuildControls:
    """Sizes and options of one family, hidden until it is chosen: the main options open, the others folded."""
    options = {option.name: option for option in CONFIGS[family].options()}
    main = main_options(family)
    rest = [name for name in options if name not in main]
    controls: dict[str, Any] = {}
    with gr.Column(visible=False, elem_classes=["build-family"]) as controls["group"]:
        sizes = [name for name, preset in core.PRESETS.items() if preset.family == family]
        if sizes:
            controls["preset"] = chips(
                {name: verbatim(name) for name in sizes},
                label=word("Ready-made sizes"), elem_classes=["build-presets"],
            )  # fmt: skip
        with gr.Column(elem_classes=["build-column"]):
            with gr.Column(elem_classes=["build-options"]):
                for name in main:
                    controls[name] = option_control(family, options[name])
            controls["rest"] = gr.Accordion(word("More options"), open=False, elem_classes=["build-rest"])
            with controls["rest"], gr.Column(elem_classes=["build-options"]):
                for name in rest:
                    controls[name] = option_control(family, options[name])
    facts = [{**control(options[name]), "folded": name in rest} for name in controls if name in options]
    return BuildControls(family, controls, facts)


def option_control(family: str, option: Option) -> gr.components.Component:
    """One option with its title, core's own name for it, and its help; and below it what core says against its value."""
    titles = in_all_languages(option_title(option.name))
    named: dict[str, Any] = {
        "label": phrase({language: f"{title}\n{option.name}" for language, title in titles.items()}),
        "info": phrase(control(option)["help"]),
        "elem_id": f"option-{family}-{option.name}",
        "elem_classes": ["option"],
        "interactive": True,
    }
    if option.kind is str:
        choices = [(choice_name(value)["en"], value) for value in option.choices]
        made: gr.components.Component = gr.Dropdown(choices, value=option.default, filterable=False, **named)
    elif option.kind is bool and option.optional:
        choices = [(str(text), value) for value, text in SWITCH.items()]
        made = gr.Dropdown(choices, value="", filterable=False, **named)
    elif option.kind is bool:
        made = gr.Checkbox(option.default, **named)
    elif option.optional:
        made = gr.Textbox("", max_lines=1, placeholder=word("automatic"), **named)
    else:
        made = gr.Number(option.default, step=1 if option.kind is int else 0.1, **named)
    LiveText(
        text_value(State("refusal")), role="alert", classes="problem", when={"refused": [option.name]},
        elem_classes=["option-problem"],
    )  # fmt: skip
    return made
