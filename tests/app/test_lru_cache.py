"""What is kept stays within its bytes, and is computed once however many ask at once."""

import threading

import pytest

from app.routes import looks
from app.service.lru_cache import LRUCache
from app.service.runs import run_registry, shipped
from core import InputError


def at_once(count, ask):
    found, barrier = [], threading.Barrier(count)

    def one():
        barrier.wait()
        try:
            found.append(ask())
        except InputError as error:
            found.append(error)

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_the_least_used_goes_when_the_bytes_are_used_up():
    kept = LRUCache(100)
    for key in "abc":
        kept.get(key, lambda: bytes(33))
    kept.get("a", lambda: pytest.fail("it is kept"))
    kept.get("d", lambda: bytes(33))
    assert list(kept.values) == ["c", "a", "d"] and kept.total <= 100
    kept.get("large", lambda: bytes(1000))
    assert list(kept.values) == ["large"], "the newest stays, alone"
    kept.get("a", lambda: bytes(33))
    assert list(kept.values) == ["a"]


def test_a_refusal_is_told_to_all_who_wait_and_is_not_kept():
    kept, tried, all_here = LRUCache(100), [], threading.Event()

    def refuse():
        tried.append(1)
        all_here.wait(0.5)
        raise InputError("no")

    found = at_once(4, lambda: kept.get("x", refuse))
    assert [str(error) for error in found] == ["no"] * 4 and len(tried) == 1
    assert kept.get("x", lambda: b"yes") == b"yes" and not kept.under_way


def test_equal_looks_at_once_are_computed_once(monkeypatch):
    looked, look = [], looks.look
    monkeypatch.setattr(looks, "look", lambda *asked: looked.append(1) or look(*asked))
    found = at_once(8, lambda: looks.packed_look("parity-lstm", "2 3 2 2 3 3 3", None))
    assert len(looked) == 1 and len(set(found)) == 1


def test_a_run_is_opened_once_and_large_ones_make_way(monkeypatch):
    opened, load = [], shipped.load
    monkeypatch.setattr(
        run_registry, "_loaded_runs", LRUCache(run_registry.LOADED_RUNS_BYTES, run_registry._memory_bytes)
    )
    monkeypatch.setattr(shipped, "load", lambda name: opened.append(name) or load(name))
    found = at_once(6, lambda: run_registry.open_run("parity-gru"))
    assert opened == ["parity-gru"] and len({id(one) for one in found}) == 1
    assert run_registry._memory_bytes(found[0]) == run_registry.LOADED_RUNS_BYTES // run_registry.MAX_LOADED_RUNS
    monkeypatch.setattr(run_registry._loaded_runs, "most", 1)
    run_registry.open_run("parity-rnn")
    assert list(run_registry._loaded_runs.values) == [("parity-rnn",)]


def test_answers_of_all_kinds_share_one_budget(monkeypatch):
    monkeypatch.setattr(run_registry, "_responses", answers := LRUCache(100, len))
    first, second = (run_registry.cached(lambda run, n: bytes(n)) for _ in range(2))
    first.__wrapped__.__qualname__, second.__wrapped__.__qualname__ = "first", "second"
    for n in (40, 41):
        first("parity-lstm", n)
    second("parity-lstm", 50)
    assert answers.total == 91 and len(answers.values) == 2
