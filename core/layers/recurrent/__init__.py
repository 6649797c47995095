"""Recurrent layers: cells as equations, the engines that run them over time, packing, and seq2seq attention.

Imports other layers and `core.capture`; imported by `core.models`.
"""
