"""The page as Gradio blocks: run and input in the sidebar, a tab per kind of view, the timeline of training below."""

from __future__ import annotations

from typing import Any

import gradio as gr

from app.api import add_api
from app.components.live_plot import LiveText, text_value
from app.components.script_view import ScriptView
from app.components.words import word
from app.figures.expressions import Choose, Format, State
from app.sidebar import build_sidebar
from app.tabs.attention import attention_tab
from app.tabs.build import build_tab
from app.tabs.generate import generate_tab
from app.tabs.positions import positions_tab

TABS = {
    "build": word("Build"),
    "train": word("Train"),
    "attention": word("Attention"),
    "gates": word("Gates"),
    "positions": word("Positions"),
    "generate": word("Generate"),
}

FOLD_ON_PHONES = "() => ({ __type__: 'update', open: !matchMedia('(max-width: 900px)').matches })"
PURPOSES: dict[str, Any] = {  # what each is for, in a line
    "build": Format("Put a model together, and see its parts, its shapes and what it costs."),
    "train": Format("Train models on small tasks and watch them learn; stop, rewind, fork and compare."),
    "attention": Format("Which tokens look at which, in every head, at every moment of the training."),
    "gates": Format("What the units of a recurrent network let in, keep and give out."),
    "positions": Format("How a model knows where a token stands."),
    "generate": Format("Let the model write, and see what else it had in mind."),
}


def build_page() -> gr.Blocks:
    with gr.Blocks(title="InnerView", fill_width=True) as page:
        ScriptView("header")
        fold = build_sidebar()
        LiveText(text_value(Choose(State("tab"), PURPOSES)), classes="purpose", elem_id="purpose")
        with gr.Tabs(elem_id="tabs", selected="attention"):
            for name, title in TABS.items():
                with gr.Tab(title, id=name, elem_id=f"tab-{name}") as tab:
                    match name:
                        case "build":
                            build_tab(tab)
                        case "attention":
                            with gr.Column(elem_id="attention", elem_classes="view-attention"):
                                attention_tab()
                        case "positions":
                            positions_tab()
                        case "generate":
                            generate_tab()
                        case _:
                            ScriptView(name)
        ScriptView("timeline")
        page.load(None, None, [fold], js=FOLD_ON_PHONES, api_visibility="private")
        add_api()
    return page
