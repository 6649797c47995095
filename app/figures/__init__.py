"""Live figures: Plotly figures described once, for the page, notebooks, files and tests.

Imports numpy and plotly only (neither torch, gradio nor core); `app.service` makes the arrays, the page plays them.
"""
