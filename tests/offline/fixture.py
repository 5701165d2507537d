"""A test fails if it, or a Python process that it started, reached for another machine without naming it by the marker `reaches`."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.offline.sitecustomize import NOTES

# Read when huggingface_hub is imported, which no test may be the first to do.
os.environ["HF_HUB_OFFLINE"] = "1"

__all__ = ["_connections", "_stays_on_this_machine"]


@pytest.fixture(scope="session", autouse=True)
def _connections(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the file of hosts that were refused, which child processes add to."""
    notes = tmp_path_factory.mktemp("connections") / "hosts.txt"
    notes.touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(NOTES, str(notes))
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        yield notes


@pytest.fixture(autouse=True)
def _stays_on_this_machine(_connections: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    before = len(_connections.read_text("utf-8").splitlines())
    yield
    named = {host for marker in request.node.iter_markers("reaches") for host in marker.args}
    found = sorted({*_connections.read_text("utf-8").splitlines()[before:]} - named)
    assert not found, f"the test reached for {', '.join(found)}: use this machine, or name the host by the marker `reaches`"
