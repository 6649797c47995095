"""Custom Gradio components of the page."""
