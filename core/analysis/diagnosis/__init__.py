"""Diagnosis of runs that fail: collect evidence, apply one rule per known cause, propose a change that helps.

`diagnose(collect_evidence(run))` is the whole interface; imported by `core.jobs`.
"""
