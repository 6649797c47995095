"""Task heads: from hidden states to logits, loss and answer; with the CRF and GlobalPointer two of them need.

Imports other layers and `core.capture`; imported by `core.models`.
"""
