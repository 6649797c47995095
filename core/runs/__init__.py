"""Runs: one model trained on one task by one recipe from one seed; forks, transfer, and the store that keeps them on disk.

Imports models, tasks and training; imported by `core.analysis`, `core.jobs` and the app.
"""
