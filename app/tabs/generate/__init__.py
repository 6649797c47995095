"""The Generate tab: what a run gives back for its input, in the way it gives it, and what it was asked in its training."""

from app.tabs.generate.tab import generate_tab

__all__ = ["generate_tab"]
