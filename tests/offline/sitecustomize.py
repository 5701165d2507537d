"""Refuse connections to other machines in this process, and add their hosts to the file that WORKBENCH_TEST_CONNECTIONS names.

The tests import it, and a Python process that they start does so because PYTHONPATH has its folder.
"""

import os
import socket
import sys
from typing import Any

NOTES = "WORKBENCH_TEST_CONNECTIONS"
_HERE = {"", "localhost", "localhost.localdomain", "0.0.0.0", "::", "::1", "ip6-localhost", socket.gethostname()}


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        # A datagram socket that is connected has sent nothing: programs learn their own address so.
        address = None if event == "socket.connect" and arguments[0].type == socket.SOCK_DGRAM else arguments[1]
        host = address[0] if isinstance(address, tuple) else ""
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = arguments[0] or ""
    else:
        return
    host = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    if host in _HERE or host.startswith(("127.", "::ffff:127.")):
        return
    if notes := os.environ.get(NOTES):
        with open(notes, "a", encoding="utf-8") as stream:
            stream.write(f"{host}\n")
    raise ConnectionRefusedError(f"tests may not reach {host}")


sys.addaudithook(_refuse)
