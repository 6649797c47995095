"""The Train tab: on the left what is to be trained, on the right the runs as they learn."""

from app.tabs.train.tab import train_tab

__all__ = ["train_tab"]
