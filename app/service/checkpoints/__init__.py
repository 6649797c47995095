"""Pretrained checkpoints: where they are found, loading them, and the cache all sessions share."""
