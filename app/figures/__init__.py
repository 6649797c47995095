"""Live figures: Plotly figures described once, for the page, notebooks, files and tests.

Imports numpy and plotly only (neither torch, gradio nor core); `app.service` makes the arrays, the page plays them. The
functions here are for notebooks (`app.figures.notebook`); each returns a figure that shows itself.
"""

from app.figures.diagram import diagram
from app.figures.html import write_html
from app.figures.notebook import attention, gates, positions, training

__all__ = ["attention", "diagram", "gates", "positions", "training", "write_html"]
