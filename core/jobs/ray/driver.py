"""`python -m core.jobs.ray.driver`: the caller's end of a Ray cluster, and the only process that imports ray.

Ray ends a process that has lost its cluster, so that process must not be the caller's. To the caller it looks like the
nursery that forks local workers; instead of forking, it asks Ray for an actor and passes on what both have to say.
Ray removes the actors when this process ends, however it ends.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

import core
from core.jobs.failures import NOT_STORED, SAME_VERSIONS, START_RAY, refused_by_ray, unreachable
from core.jobs.ray import actor
from core.jobs.ray.worker_handle import reachable
from core.jobs.ray.worker_loop import ENDED, versions
from core.runs.store import PART, Store, StoreError

CORE = Path(core.__file__).parent
ATTEMPT_SECONDS = 20.0  # a cluster that is there answers in two; ray itself would go on trying for minutes


class HomeStore(Store):
    """The caller's store, for runs that come and go as bytes."""

    def needed_by(self, order: str, *details: Any) -> dict[str, bytes]:
        """The files that an order is about: the run itself, or the one that it begins in."""
        if order != "open":
            return {}
        key, recipe = details[:2]
        keys, files = [key], {}
        begins_in = recipe.get("origin") or recipe.get("body")
        if begins_in and not self._readable(key):
            keys.append(begins_in["parent"])
        for path in map(self.path, keys):
            with suppress(FileNotFoundError):
                files[path.name] = path.read_bytes()
        return files

    def _readable(self, key: str) -> bool:
        try:
            self.facts(key)
        except StoreError:
            return False
        return True

    def put(self, key: str, content: bytes) -> None:
        path = self.path(key)
        part = path.with_suffix(f".{threading.get_native_id()}.{os.getpid()}{PART}")
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        self._evict(keep=path)


class Worker:
    """One actor and one connection to the caller, who takes them for a worker process."""

    def __init__(self, link: socket.socket, seat: Any, store: HomeStore):
        self.link, self.seat, self.store = link, seat, store
        self.connection = Connection(os.dup(link.fileno()))
        self.ready = self.leaving = False
        self.lock = threading.Lock()  # both threads have something to tell
        for passing in (self.pass_orders, self.pass_answers):
            threading.Thread(target=passing, daemon=True).start()

    def pass_orders(self) -> None:
        with suppress(EOFError, OSError):  # the caller, or the actor, is gone
            while True:
                order = self.connection.recv()
                if order[0] == "kill" or (order[0] == "end" and not self.ready):
                    break
                self.give(order)
        self.end()

    def give(self, order: tuple) -> None:
        try:
            files = self.store.needed_by(*order)
        except OSError:  # it is there, but cannot be read
            self.tell("failed", order[1], NOT_STORED, traceback.format_exc())
        else:
            self.seat.order.remote(order, files)

    def pass_answers(self) -> None:
        """Until the actor is dead or out of reach; what it might store later is not heard any more."""
        try:
            while True:
                for answer in ray.get(self.seat.answers.remote()):
                    self.hear(answer)
        except RayError as death:
            if not self.leaving:
                self.tell("log", str(death))
        finally:
            with suppress(OSError):  # the caller has closed its end
                self.link.shutdown(socket.SHUT_RDWR)

    def hear(self, answer: tuple) -> None:
        if answer[0] == "stored":
            self.seat.confirm.remote(self.keep(*answer[1:]))
        elif answer == ENDED:
            self.end()
        else:
            self.ready = self.ready or answer[0] == "ready"
            self.tell(*answer)

    def keep(self, key: str, content: bytes) -> str | None:
        try:
            self.store.put(key, content)
        except OSError as problem:
            return str(problem)
        return None

    def end(self) -> None:
        self.leaving = True
        ray.kill(self.seat)

    def tell(self, *answer: Any) -> None:
        with self.lock, suppress(OSError):  # the caller is gone: the other thread hears of that too
            self.connection.send(answer)


def sources() -> dict[str, str]:
    """The program, module by module."""
    found = {}
    for path in sorted(CORE.rglob("*.py")):
        parts = path.relative_to(CORE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return found


def connect(address: str) -> dict[str, Any]:
    """What came of it, for the caller: the number of processors, or a problem and its remedy in two languages."""
    patience = threading.Timer(ATTEMPT_SECONDS, os._exit, [1])
    patience.daemon = True
    patience.start()
    try:
        if address == "auto" or reachable(address):
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
            return {"processors": int(ray.cluster_resources().get("CPU", 0))}
        why, remedy = unreachable(address), START_RAY
    except ConnectionError:
        why, remedy = unreachable(address), START_RAY
    except (RuntimeError, ValueError, RayError) as error:
        why, remedy = refused_by_ray(error), SAME_VERSIONS
    finally:
        patience.cancel()
    return {"problem": [why.to_dict(), remedy.to_dict()]}


def main(orders: socket.socket, folder: str, most_bytes: int, checkpoint_seconds: float, address: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the caller, who then closes the connections
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where ray repeats what its nodes log
    status = connect(address)
    orders.sendall(json.dumps(status).encode() + b"\n")
    if "problem" in status:
        return
    ray.cloudpickle.register_pickle_by_value(actor)
    store, luggage = HomeStore(folder, most_bytes), ray.put(sources())
    while True:
        message, files, _, _ = socket.recv_fds(orders, 1, 1)
        if not message:
            break
        Worker(socket.socket(fileno=files[0]), actor.Seat.remote(luggage, checkpoint_seconds, versions()), store)
    ray.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), *json.loads(sys.argv[2]))
