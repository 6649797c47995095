"""Below the Attention tab: heads of another model that do what the head in focus does, both reading the same text."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import gradio as gr

from app.components.events import ask
from app.components.live_plot import LivePlot, LiveText, plot_values, text_value
from app.components.page_state import Controls, Question, told
from app.components.words import word
from app.figures.expressions import Fill, Format, Sentences
from app.i18n import in_all_languages
from app.service.checkpoints import checkpoint_runs
from app.service.runs import run_registry
from app.service.similar_heads import N_BEST, SimilarHeads, compare_heads
from app.tabs.attention_answers import Asked, input_of, points_of
from core.translatable import Text, verbatim
