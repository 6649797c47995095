"""`python -m core.jobs.ray.driver`: the caller's end of a Ray cluster, and the only process that imports ray.

Ray ends a process that has lost its cluster, so that process must not be the caller's. To the caller it looks like the
fork server of local workers; instead of forking, it creates a Ray actor and forwards orders and replies.
Ray removes the actors when this process ends, however it ends.
"""

from __future__ import annotations

import json
import logging
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
from core.jobs.messages import (
    Kill,
    LogLine,
    LoopEnded,
    OpenRun,
    RunFailed,
    RunStored,
    Shutdown,
    WorkerOrder,
    WorkerReady,
    WorkerReply,
)
from core.jobs.ray import actor
from core.jobs.ray.worker_launcher import is_reachable
from core.jobs.ray.worker_loop import versions
from core.runs.atomic_files import write_atomically
from core.runs.store import Store, StoreError

CORE = Path(core.__file__).parent
ATTEMPT_SECONDS = 20.0  # a cluster that is there answers in two; ray itself would go on trying for minutes


class CallerStore(Store):
    """The caller's store, read and written as whole files."""

    def files_for(self, order: OpenRun) -> dict[str, bytes]:
        """The files that the order needs: the run itself, and the parent of a fork or transfer that is to begin."""
        keys, files = [order.key], {}
        origin = order.recipe.get("origin") or order.recipe.get("body")
        if origin and not self._is_readable(order.key):
            keys.append(origin["parent"])
        for path in map(self.path, keys):
            with suppress(FileNotFoundError):
                files[path.name] = path.read_bytes()
        return files

    def _is_readable(self, key: str) -> bool:
        try:
            self.facts(key)
        except StoreError:
            return False
        return True

    def put(self, key: str, content: bytes) -> None:
        path = self.path(key)
        write_atomically(path, content)
        self._evict(keep=path)


class ActorProxy:
    """Forwards between one actor and the caller's connection to it, as if the actor were a worker process."""

    def __init__(self, caller: socket.socket, worker_actor: Any, store: CallerStore):
        self.caller, self.actor, self.store = caller, worker_actor, store
        self.connection = Connection(os.dup(caller.fileno()))
        self.ready = self.ending = False
        self.lock = threading.Lock()  # both threads send to the caller
        for forward in (self.forward_orders, self.forward_replies):
            threading.Thread(target=forward, daemon=True).start()

    def forward_orders(self) -> None:
        with suppress(EOFError, OSError):  # the caller, or the actor, is gone
            while True:
                order = self.connection.recv()
                if isinstance(order, Kill) or (isinstance(order, Shutdown) and not self.ready):
                    break
                self.forward_order(order)
        self.end()

    def forward_order(self, order: WorkerOrder) -> None:
        files = {}
        if isinstance(order, OpenRun):
            try:
                files = self.store.files_for(order)
            except OSError:  # the file is there, but cannot be read
                self.send(RunFailed(order.key, NOT_STORED, traceback.format_exc()))
                return
        self.actor.put_order.remote(order, files)

    def forward_replies(self) -> None:
        """Until the actor is dead or out of reach; checkpoints it might make later are not stored any more."""
        try:
            while True:
                for reply in ray.get(self.actor.take_replies.remote()):
                    self.forward_reply(reply)
        except RayError as death:
            if not self.ending:
                self.send(LogLine(str(death)))
        finally:
            with suppress(OSError):  # the caller has closed its end
                self.caller.shutdown(socket.SHUT_RDWR)

    def forward_reply(self, reply: WorkerReply) -> None:
        if isinstance(reply, RunStored):
            self.actor.confirm_stored.remote(self.store_run(reply))
        elif isinstance(reply, LoopEnded):
            self.end()
        else:
            self.ready = self.ready or isinstance(reply, WorkerReady)
            self.send(reply)

    def store_run(self, reply: RunStored) -> str | None:
        """None, or why it could not be stored."""
        try:
            self.store.put(reply.key, reply.content)
        except OSError as problem:
            return str(problem)
        return None

    def end(self) -> None:
        self.ending = True
        ray.kill(self.actor)

    def send(self, reply: WorkerReply) -> None:
        with self.lock, suppress(OSError):  # the caller is gone: `forward_orders` gets an EOFError
            self.connection.send(reply)


def collect_sources() -> dict[str, str]:
    """The sources of `core`, by dotted module name."""
    sources = {}
    for path in sorted(CORE.rglob("*.py")):
        parts = path.relative_to(CORE.parent).with_suffix("").parts
        sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return sources


def connect(address: str) -> dict[str, Any]:
    """Connect to the cluster: {"processors": their number} or {"problem": [why, remedy]}, for the caller."""
    timeout = threading.Timer(ATTEMPT_SECONDS, os._exit, [1])
    timeout.daemon = True
    timeout.start()
    try:
        if address == "auto" or is_reachable(address):
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
            return {"processors": int(ray.cluster_resources().get("CPU", 0))}
        why, remedy = unreachable(address), START_RAY
    except ConnectionError:
        why, remedy = unreachable(address), START_RAY
    except (RuntimeError, ValueError, RayError) as error:
        why, remedy = refused_by_ray(error), SAME_VERSIONS
    finally:
        timeout.cancel()
    return {"problem": [why.to_dict(), remedy.to_dict()]}


def main(requests: socket.socket, folder: str, most_bytes: int, checkpoint_seconds: float, address: str) -> None:
    """Report the outcome of connecting, then create an actor for each byte received, with its connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the caller, which then closes the connections
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where ray repeats the logs of its nodes
    status = connect(address)
    requests.sendall(json.dumps(status).encode() + b"\n")
    if "problem" in status:
        return
    ray.cloudpickle.register_pickle_by_value(actor)
    store, sources = CallerStore(folder, most_bytes), ray.put(collect_sources())
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 1, 1)
        if not message:
            break
        # pyrefly: ignore[missing-attribute]: added by `ray.remote`
        worker_actor = actor.WorkerActor.remote(sources, checkpoint_seconds, versions())
        ActorProxy(socket.socket(fileno=descriptors[0]), worker_actor, store)
    ray.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), *json.loads(sys.argv[2]))
