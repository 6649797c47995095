"""Language tasks whose sentences come from grammars, so that every right answer is known."""
