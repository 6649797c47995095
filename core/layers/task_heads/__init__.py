"""Task heads: from hidden states to logits, loss and prediction; with the CRF and GlobalPointer that two of them use.

Imports other layers and `core.capture`; imported by `core.models`.
"""
