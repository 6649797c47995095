"""Workers on a Ray cluster as the caller sees them: the same as those in processes here.

The caller never imports ray; a process of its own does (`core.jobs.ray.driver`), and can be lost without harm.
"""

from __future__ import annotations

import importlib.util
import json
import re
import select
import socket
import subprocess
import time
from typing import ClassVar

from core.errors import ConfigError
from core.jobs.failures import CLUSTER_LOST, NO_ADDRESS, NO_PROCESSORS, NO_RAY, RAY_CLIENT, START_RAY, unreachable
from core.jobs.worker_handle import Nursery, Worker
from core.messages import Text
from core.runs.store import Store

CONNECT_SECONDS = 60.0  # most of it is for importing torch and ray on a busy machine
REACH_SECONDS = 3.0
END_SECONDS = 3.0
ADDRESS = re.compile(r"([^\s:/\[\]]+|\[[\da-fA-F:.]+\]):\d{1,5}")  # host:port, or [IPv6]:port


class RayWorker(Worker):
    def kill(self) -> None:
        """Its number belongs to another machine: Ray has to do it."""
        self.tell("kill")


class RayNursery(Nursery):
    """The process that is connected to the cluster; it is started again when it has lost it."""

    program = "core.jobs.ray.driver"
    worker = RayWorker
    close_seconds = 5.0
    no_workers = CLUSTER_LOST
    environment: ClassVar[dict[str, str]] = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DISABLE_IMPORT_WARNING": "1",
        "RAY_gcs_rpc_server_reconnect_timeout_s": "10",  # then it ends, and jobs are told; ray's default is a minute
    }

    def __init__(self, store: Store, checkpoint_seconds: float, address: str):
        check(address)
        super().__init__(store, checkpoint_seconds, address)
        try:
            self.places = self._connected(address)
        except ConfigError:
            self._process.kill()
            self.end()
            raise

    def _connected(self, address: str) -> int:
        """How many processors the cluster has, once it is known."""
        status, deadline = b"", time.monotonic() + CONNECT_SECONDS
        while not status.endswith(b"\n"):
            answering, _, _ = select.select([self._orders], [], [], max(0.0, deadline - time.monotonic()))
            more = self._orders.recv(4096) if answering else b""
            if not more:
                raise ConfigError("ray", address, unreachable(address), START_RAY)
            status += more
        facts = json.loads(status)
        if "problem" in facts:
            raise ConfigError("ray", address, *map(Text.from_dict, facts["problem"]))
        if not facts["processors"]:
            raise ConfigError("ray", address, *NO_PROCESSORS)
        return facts["processors"]

    def end(self) -> None:
        """Left to itself, it takes leave of the cluster."""
        if self._process is not None:
            self._orders.close()
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def wait_until_gone(self, pids: list[int]) -> None:
        """The connection to an actor is closed when the actor is dead."""


def check(address: str) -> None:
    """Whatever can be said at once about an address."""
    if address.startswith("ray://"):
        raise ConfigError("ray", address, *RAY_CLIENT)
    if address != "auto" and not ADDRESS.fullmatch(address):
        raise ConfigError("ray", address, *NO_ADDRESS)
    if importlib.util.find_spec("ray") is None:
        raise ConfigError("ray", address, *NO_RAY)
    if address != "auto" and not reachable(address):
        raise ConfigError("ray", address, unreachable(address), START_RAY)


def reachable(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()
    except (OSError, OverflowError):
        return False
    return True
