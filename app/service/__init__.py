"""The app's functions below its routes: from a run and an input to arrays, tables and sentences.

Imports `core`; imported by `app.routes` and the page, never the other way round.
"""
