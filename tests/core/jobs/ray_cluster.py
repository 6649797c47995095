"""A real Ray cluster of two nodes on this machine's loopback addresses, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HEAD, OTHER = "127.0.0.2", "127.0.0.3"
NODE = {"num_cpus": 1, "object_store_memory": 100 * 1024**2, "include_dashboard": False}
NOTICE_SOON = {
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 3,
    "health_check_initial_delay_ms": 500,
}


class TwoNodes:
    """`nodes.address`, and what can happen to them. They end with this process."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.core.jobs.ray_cluster"],
            cwd=ROOT,
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address = self._answer()

    def _answer(self) -> str:
        line = self._process.stdout.readline()
        assert line, "the cluster has ended"
        return json.loads(line)

    def _do(self, what: str) -> str:
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self._answer()

    def kill_one(self) -> None:
        """The second node, as by a power cut."""
        self._do("kill_one")

    def start_one(self) -> None:
        self._do("start_one")

    def kill_all(self) -> None:
        self._do("kill_all")

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def seats() -> list[int]:
    """The processes of workers on any cluster here."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "cmdline").read_bytes().startswith(b"ray::Seat"):
                found.append(int(process.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def serve() -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={**NODE, "node_ip_address": HEAD, "_system_config": NOTICE_SOON}
    )
    other = cluster.add_node(**NODE, node_ip_address=OTHER)
    print(json.dumps(cluster.address), flush=True)
    for line in sys.stdin:
        match line.strip():
            case "kill_one":
                cluster.remove_node(other, allow_graceful=False)
            case "start_one":
                other = cluster.add_node(**NODE, node_ip_address=OTHER)
            case "kill_all":
                for node in cluster.list_all_nodes():
                    node.kill_all_processes(check_alive=False, allow_graceful=False)
        print(json.dumps("done"), flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    serve()
