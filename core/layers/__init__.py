"""The parts models are made of. Each one taps what it computes; none knows which family it serves."""
