"""Plotly figures from plain arrays: no torch, no gradio."""
