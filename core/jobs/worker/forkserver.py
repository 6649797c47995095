"""`python -m core.jobs.worker.forkserver`: imports all that training needs, once, and forks a worker on request.

It must neither compute nor use a GPU itself: threads and CUDA contexts do not survive a fork.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

import torch
import torch._dynamo  # otherwise imported by the first optimiser, for seconds

from core.jobs.worker.loop import WorkerLoop
from core.runs.store import Store

NICENESS = 5  # below the caller, which answers requests


def main(requests: socket.socket, folder: str, most_bytes: int, checkpoint_seconds: float) -> None:
    """Fork a worker for each byte received, with the file descriptor that comes with it as its connection."""
    torch.set_num_threads(1)  # the runs share the processors among themselves
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the caller, which then closes the connections
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 1, 1)
        if not message:
            break
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.nice(NICENESS)
            with suppress(EOFError, OSError):  # the caller is gone
                WorkerLoop(Connection(descriptors[0]), Store(folder, most_bytes), checkpoint_seconds).serve()
            os._exit(0)
        os.close(descriptors[0])
    with suppress(ChildProcessError):
        os.wait()
    os._exit(0)  # unloading torch takes seconds on a busy machine


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), *json.loads(sys.argv[2]))
