"""Read by Python when it starts, in an app that is being tested and in every process it starts: nothing leaves this machine.

Whatever tries is refused and written to the file named by REACHED.
"""

import os
import sys

HERE = {"", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::", b"localhost", b"127.0.0.1", None}
WATCHED = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
}  # where the address is


def refuse(event: str, args: tuple) -> None:
    if event not in WATCHED:
        return
    address = args[WATCHED[event]]
    host = address[0] if isinstance(address, tuple) else address
    unix = event in ("socket.connect", "socket.sendto") and not isinstance(address, tuple)
    if unix or host in HERE:
        return
    with open(os.environ["REACHED"], "a", encoding="utf-8") as log:
        log.write(f"{event} {host}\n")
    raise OSError(f"The tests let nothing out: {host}")


if "REACHED" in os.environ:
    sys.addaudithook(refuse)
