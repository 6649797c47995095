"""The pictures behind what one way wrote: the next token, attention, gates, and the tree of its beams."""

from __future__ import annotations

from typing import Any

import gradio as gr

from app.components.live_plot import LivePlot, LiveText, plot_values, text_value
from app.components.token_buttons import TokenButtons, token_values
from app.figures.beam_tree import chosen_path_sentence, parents_of
from app.figures.expressions import Format
from app.figures.tokens import seen
from app.service.generation.result import Result

Component = gr.components.Component


class NextTokenPlots:
    """Of the chosen token of the chosen way: a click on a token moves between them without a request."""

    def __init__(self, sides: tuple[str, ...]):
        with gr.Row(elem_classes="generate-step"):
            with gr.Column(min_width=300):
                self.next_token = {side: LivePlot(classes="generate-shares", when={"side": [side]}) for side in sides}
            with gr.Column(elem_classes="generate-behind", min_width=300):
                self.attended = {side: LivePlot(classes="generate-attended", when={"side": [side]}) for side in sides}
                self.gates = {side: LivePlot(classes="generate-gates", when={"side": [side]}) for side in sides}

    def of(self, side: str) -> dict[str, LivePlot]:
        return {"next_token": self.next_token[side], "attended": self.attended[side], "gates": self.gates[side]}


class TreePlot:
    """The beams of one way as a tree, above it the path to the chosen candidate."""

    def __init__(self, side: str):
        self.side = side
        with gr.Row(elem_classes="generate-path-row"):
            self.path = TokenButtons(classes="generate-path")
            self.path_words = LiveText(classes="generate-path-words", role="status", when={"treeSide": [side]})
        self.tree = LivePlot(classes="generate-tree", when={"treeSide": [side]})

    @property
    def outputs(self) -> list[Component]:
        return [self.path, self.path_words, self.tree]

    def words(self, result: Result) -> dict[Component, Any]:
        view = result.view
        if view is None or not view.tree:
            return {self.path: None, self.path_words: None}
        tokens = [seen(view.token(node["id"])) for node in view.nodes]
        way = Format("The way here")
        path = token_values(tokens, way, lead=way, key="node", also={"treeSide": self.side}, parents=parents_of(view))
        return {self.path: path, self.path_words: text_value(chosen_path_sentence(view))}


def way_values(plots: NextTokenPlots, tree: TreePlot, result: Result, about: Any) -> dict[Component, Any]:
    values = plot_values(result.figures, about)
    places: dict[str, LivePlot] = {**plots.of(tree.side), "tree": tree.tree}
    return {plot: values.get(name) for name, plot in places.items()} | tree.words(result)
