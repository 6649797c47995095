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
FAST_HEALTH_CHECKS = {
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 3,
    "health_check_initial_delay_ms": 500,
}


class TwoNodes:
    """`nodes.address`, and ways to lose and add nodes. They end with this process."""

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

    def _command(self, command: str) -> str:
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return self._answer()

    def kill_one(self) -> None:
        """The second node, as by a power cut."""
        self._command("kill_one")

    def start_one(self) -> None:
        self._command("start_one")

    def kill_all(self) -> None:
        self._command("kill_all")

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def actor_pids() -> list[int]:
    """The processes of worker actors on any cluster of this machine."""
    pids = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "cmdline").read_bytes().startswith(b"ray::WorkerActor"):
                pids.append(int(process.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return pids


def serve() -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={**NODE, "node_ip_address": HEAD, "_system_config": FAST_HEALTH_CHECKS}
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
