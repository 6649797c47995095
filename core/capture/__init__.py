"""Capture and edit: the tape that records tapped tensors, and ready-made edits that replace them.

Imported by every layer and model; imports nothing of core but `core.allocator`, `core.errors` and `core.messages`.
"""
