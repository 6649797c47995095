"""The Train tab: from a request to a recipe within limits, the jobs it starts, and their stream of events."""
