"""Capture and edit: taps in layers, the tape that records tapped tensors, and edits that replace them.

Imported by every layer and model; imports nothing of core but `core.allocator`, `core.errors` and `core.translatable`.
"""
