"""INTERIM"""
from __future__ import annotations
from dataclasses import dataclass
import time, sys
from core.options import Text
sys.path.insert(0,'/tmp/trees')
@dataclass(frozen=True)
class Cost:
    family: str
    layers: int
    heads: int
    parameters: int
    bytes: int
    notes: tuple[Text, ...] = ()
def cost_at(place): return Cost("bert",6,12,22713216,90852864)
def fetch(place, reading): raise NotImplementedError
def read_rate(place): return 2e8
def read_whole(place, reading):
    from bridge_try import minilm
    for i in range(10): time.sleep(.1); reading.tell(i/10)
    return minilm()
