"""The web app: what `core` computes, made visible."""
