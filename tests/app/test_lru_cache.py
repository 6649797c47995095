"""The cache stays within its capacity, and computes a value once for any number of concurrent requests."""

import threading

import pytest

from app.routes import runs
from app.service.lru_cache import LRUCache
from app.service.runs import run_registry, shipped
from core import InputError


def run_concurrently(count, call):
    results, barrier = [], threading.Barrier(count)

    def run_once():
        barrier.wait()
        try:
            results.append(call())
        except InputError as error:
            results.append(error)

    threads = [threading.Thread(target=run_once) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_the_least_recently_used_is_evicted_first():
    cache = LRUCache(100)
    for key in "abc":
        cache.get(key, lambda: bytes(33))
    cache.get("a", lambda: pytest.fail("it is cached"))
    cache.get("d", lambda: bytes(33))
    assert list(cache.values) == ["c", "a", "d"] and cache.total <= 100
    cache.get("large", lambda: bytes(1000))
    assert list(cache.values) == ["large"], "the newest stays, alone"
    cache.get("a", lambda: bytes(33))
    assert list(cache.values) == ["a"]


def test_an_exception_reaches_all_waiting_threads_and_is_not_cached():
    cache, calls, never_set = LRUCache(100), [], threading.Event()

    def refuse():
        calls.append(1)
        never_set.wait(0.5)
        raise InputError("no")

    results = run_concurrently(4, lambda: cache.get("x", refuse))
    assert [str(error) for error in results] == ["no"] * 4 and len(calls) == 1
    assert cache.get("x", lambda: b"yes") == b"yes" and not cache.pending


def test_equal_requests_at_once_are_computed_once(monkeypatch):
    calls, collect_arrays = [], runs.collect_arrays
    monkeypatch.setattr(runs, "collect_arrays", lambda *arguments: calls.append(1) or collect_arrays(*arguments))
    results = run_concurrently(8, lambda: runs.input_arrays("parity-lstm", "2 3 2 2 3 3 3", None))
    assert len(calls) == 1 and len(set(map(id, results))) == 1


def test_a_run_is_opened_once_and_large_ones_make_way(monkeypatch):
    names, load = [], shipped.load
    monkeypatch.setattr(
        run_registry, "_loaded_runs", LRUCache(run_registry.LOADED_RUNS_BYTES, run_registry._memory_bytes)
    )
    monkeypatch.setattr(shipped, "load", lambda name: names.append(name) or load(name))
    results = run_concurrently(6, lambda: run_registry.open_run("parity-gru"))
    assert names == ["parity-gru"] and len({id(one) for one in results}) == 1
    assert run_registry._memory_bytes(results[0]) == run_registry.LOADED_RUNS_BYTES // run_registry.MAX_LOADED_RUNS
    monkeypatch.setattr(run_registry._loaded_runs, "capacity", 1)
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
