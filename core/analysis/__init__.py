"""Numbers read off models and runs: measures of heads and gates, training events, similarity of heads, diagnosis, costs.

Imports models, capture, tasks and runs; imported by `core.jobs` and by the app.
"""
