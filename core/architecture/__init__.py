"""The anatomy of a model: its modules as nested parts, its taps, the data flow between them, shapes and descriptions.

Built on the meta device, so it costs no memory. Imports `core.models`; imported by the app and by `core.analysis.costs`.
"""
