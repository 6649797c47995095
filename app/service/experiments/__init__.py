"""Comparisons over many runs that ship as JSON: extrapolation by position scheme, fine-tuning by number of labels."""
