"""Template grammars, their lexicon, and Bayes-optimal prediction of their words."""
