"""Imported by Python at startup, in the app under test and its child processes: blocks connections to other machines.

Every attempt is refused and logged to the file named by REACHED.
"""

import os
import sys

LOCAL_HOSTS = {"", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::", b"localhost", b"127.0.0.1", None}
ADDRESS_ARGUMENT = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
}  # audit event → which of its arguments is the address


def refuse(event: str, args: tuple) -> None:
    if event not in ADDRESS_ARGUMENT:
        return
    address = args[ADDRESS_ARGUMENT[event]]
    host = address[0] if isinstance(address, tuple) else address
    unix = event in ("socket.connect", "socket.sendto") and not isinstance(address, tuple)
    if unix or host in LOCAL_HOSTS:
        return
    with open(os.environ["REACHED"], "a", encoding="utf-8") as log:
        log.write(f"{event} {host}\n")
    raise OSError(f"The tests allow no connection to {host}")


if "REACHED" in os.environ:
    sys.addaudithook(refuse)
