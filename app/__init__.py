"""The web app: a Gradio page over `core`, with its own routes for arrays."""
