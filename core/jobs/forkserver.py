"""`python -m core.jobs.forkserver`: imports all that training needs, once, and forks a worker whenever it is asked to.

It must neither compute nor ask for a GPU itself: what that starts would not survive the fork.
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
import torch._dynamo  # what the first optimiser would otherwise import, for seconds

from core.jobs.worker import Desk
from core.runs.store import Store

NICER = 5  # than the caller, whose answers somebody is waiting for


def main(orders: socket.socket, folder: str, most_bytes: int, checkpoint_seconds: float) -> None:
    torch.set_num_threads(1)  # the runs share the processors among themselves
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the caller, who then closes the connections
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    while True:
        message, files, _, _ = socket.recv_fds(orders, 1, 1)
        if not message:
            break
        if os.fork() == 0:
            orders.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.nice(NICER)
            with suppress(EOFError, OSError):  # the caller is gone
                Desk(Connection(files[0]), Store(folder, most_bytes), checkpoint_seconds).serve()
            os._exit(0)
        os.close(files[0])
    with suppress(ChildProcessError):
        os.wait()
    os._exit(0)  # taking torch apart takes seconds on a busy machine


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), *json.loads(sys.argv[2]))
