"""Layers shared by all model families: attention, feed-forward, norms, positions, recurrent cells, task heads.

Each taps the tensors it computes (`core.capture.taps`); none depends on a particular family.
"""
