"""Real weights: Hugging Face checkpoints as models of ours, with every tap, and back.

>>> checkpoint = core.pretrained.inspect("path/or/hub-id")  # family, sizes, memory; reads headers only
>>> model, tokenizer = core.load_pretrained("path/or/hub-id")
>>> core.save_pretrained(model, "folder", tokenizer)  # a folder that transformers loads
"""

from core.pretrained.checkpoint import Checkpoint
from core.pretrained.errors import PretrainedError
from core.pretrained.loading import inspect, load, load_pretrained
from core.pretrained.saving import save_pretrained

__all__ = ["Checkpoint", "PretrainedError", "inspect", "load", "load_pretrained", "save_pretrained"]
