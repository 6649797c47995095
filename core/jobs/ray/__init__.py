"""Workers on a Ray cluster: the same protocol as local worker processes.

Only `driver.py` and `actor.py` import ray, each in a process of its own.
"""
