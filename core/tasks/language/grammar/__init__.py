"""Template grammars, their lexicon, and the Bayes-optimal reader that says what is predictable in them."""
