"""Short scripts that run alone, each showing one thing: `python -m demos.ner_crf --help`.

Each prints its result next to what to expect, and writes its pictures as HTML pages that need no network.
"""
