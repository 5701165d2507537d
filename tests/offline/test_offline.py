"""No test reaches another machine, and those of which a test says so are refused too."""

import asyncio
import socket
import urllib.request

import pytest

from tests.offline.sitecustomize import NOTES
from workbench.llm.models.http import ConnectError, HttpRoute, asynchronous_client, blocking_client

# Addresses that are reserved for documentation.
NAME, NUMBER, LONG = "elsewhere.example", "192.0.2.1", "2001:db8::1"


async def open_async(address: str) -> None:
    async with asynchronous_client(HttpRoute(address, 1000)) as client:
        await client.get(address)


def open_blocking(address: str) -> None:
    with blocking_client(HttpRoute(address, 1000), 10) as client:
        client.get(address)


@pytest.mark.reaches(NAME, NUMBER)
@pytest.mark.parametrize("host", [NAME, NUMBER])
def test_clients_are_refused_at_once(host: str) -> None:
    for connect in (open_blocking, lambda address: asyncio.run(open_async(address))):
        with pytest.raises(ConnectError):
            connect(f"http://{host}/")
    with pytest.raises(OSError, match=f"tests may not reach {host}"):
        urllib.request.urlopen(f"http://{host}/", timeout=1)


@pytest.mark.reaches(NUMBER, LONG)
@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, NUMBER), (socket.AF_INET6, LONG)])
def test_sockets_are_refused(family: int, host: str) -> None:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(family, kind) as opened, pytest.raises(ConnectionRefusedError):
            opened.connect((host, 9)) if kind == socket.SOCK_STREAM else opened.sendto(b"x", (host, 9))


@pytest.mark.reaches(NUMBER)
def test_a_process_that_a_test_starts_is_refused_and_the_test_learns_of_it(run_python, tmp_path) -> None:
    notes = tmp_path / "notes"
    script = f"import socket\ntry: socket.create_connection(({NUMBER!r}, 9), 1)\nexcept ConnectionRefusedError as error: print(error)"
    assert run_python(script, env={NOTES: str(notes)}) == f"tests may not reach {NUMBER}"
    assert notes.read_text() == f"{NUMBER}\n"


def test_a_test_that_reaches_another_machine_fails(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from tests.offline.fixture import *")
    pytester.makeini("[pytest]\nmarkers = reaches")
    pytester.makepyfile(
        f"""
import contextlib, pytest, socket
def reach():
    with contextlib.suppress(OSError):
        socket.create_connection(({NUMBER!r}, 9), 1)
def test_refused(): reach()
@pytest.mark.reaches({NUMBER!r})
def test_allowed(): reach()
def test_quiet(): pass
"""
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*the test reached for 192.0.2.1*"])
