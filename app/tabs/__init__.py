"""The tabs of the page that have native Gradio parts, one module each."""
