"""Starts the driver process (`driver.py`), which creates the workers on a Ray cluster as actors.

The interface is that of the launcher for this machine.

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
from core.jobs.messages import Kill
from core.jobs.worker_handle import WorkerHandle
from core.jobs.worker_launcher import WorkerLauncher
from core.runs.store import Store
from core.translatable import Text

CONNECT_SECONDS = 60.0  # most of it is for importing torch and ray on a busy machine
REACH_SECONDS = 3.0
STOP_SECONDS = 3.0
ADDRESS = re.compile(r"([^\s:/\[\]]+|\[[\da-fA-F:.]+\]):\d{1,5}")  # host:port, or [IPv6]:port


class RayWorkerHandle(WorkerHandle):
    def kill(self) -> None:
        """Through Ray: the pid is one of another machine."""
        self.send(Kill())


class RayWorkerLauncher(WorkerLauncher):
    """Owns the process that is connected to the cluster; it is started again when it has lost it."""

    program = "core.jobs.ray.driver"
    handle_type = RayWorkerHandle
    close_seconds = 5.0
    failure = CLUSTER_LOST
    environment: ClassVar[dict[str, str]] = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DISABLE_IMPORT_WARNING": "1",
        "RAY_gcs_rpc_server_reconnect_timeout_s": "10",  # then the process exits; ray's default is a minute
    }

    def __init__(self, store: Store, checkpoint_seconds: float, address: str):
        check_address(address)
        super().__init__(store, checkpoint_seconds, address)
        try:
            self.default_workers = self._count_processors(address)
        except ConfigError:
            self._process.kill()
            self.stop()
            raise

    def _count_processors(self, address: str) -> int:
        """Those of the cluster, as the driver reports them (one line of JSON) once it is connected."""
        status, deadline = b"", time.monotonic() + CONNECT_SECONDS
        while not status.endswith(b"\n"):
            readable, _, _ = select.select([self._requests], [], [], max(0.0, deadline - time.monotonic()))
            received = self._requests.recv(4096) if readable else b""
            if not received:
                raise ConfigError("ray", address, unreachable(address), START_RAY)
            status += received
        facts = json.loads(status)
        if "problem" in facts:
            raise ConfigError("ray", address, *map(Text.from_dict, facts["problem"]))
        if not facts["processors"]:
            raise ConfigError("ray", address, *NO_PROCESSORS)
        return facts["processors"]

    def stop(self) -> None:
        """The process disconnects from the cluster and exits when its socket is closed."""
        self._requests.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def wait_for_exit(self, pids: list[int]) -> None:
        """The connection to an actor is closed when the actor is dead."""


def check_address(address: str) -> None:
    """A `ConfigError` for an address that cannot be used, as far as that shows without ray."""
    if address.startswith("ray://"):
        raise ConfigError("ray", address, *RAY_CLIENT)
    if address != "auto" and not ADDRESS.fullmatch(address):
        raise ConfigError("ray", address, *NO_ADDRESS)
    if importlib.util.find_spec("ray") is None:
        raise ConfigError("ray", address, *NO_RAY)
    if address != "auto" and not is_reachable(address):
        raise ConfigError("ray", address, unreachable(address), START_RAY)


def is_reachable(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()
    except (OSError, OverflowError):
        return False
    return True
