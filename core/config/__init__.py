"""Options, their ranges and help; one frozen configuration per family; presets of published sizes.

Imports only `core.errors` and `core.translatable`, so every other package of core may import it.
"""
