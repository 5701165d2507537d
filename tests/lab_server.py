"""A real JupyterLab on the loopback, started by `workbench lab`."""

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

ROOT = Path(__file__).parents[1]
WORKBENCH = Path(sys.executable).parent / "workbench"
START_SECONDS, END_SECONDS = 120, 20
# Without these JupyterLab asks whether it may fetch its news, over the notebook.
_QUIET = '{"fetchNews": "false", "checkForUpdates": false, "doNotDisturbMode": true}'


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab, rooted at `root`. Its messages are in `log`."""

    root: Path
    url: str
    token: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def get(self, path: str, api: str = "api") -> Any:
        """Return the JSON that the server's API has at a path, such as `contents/notebooks`."""
        return self._ask("GET", path, api).json()

    def end_kernel(self, notebook: str) -> None:
        """End the kernel of a notebook, if it has one."""
        for session in self.get("sessions"):
            if session["path"] == notebook:
                self._ask("DELETE", f"sessions/{session['id']}")

    def end(self) -> None:
        """End the server and its kernels."""
        if self.process.poll() is not None:
            return
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.terminate()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()

    def _ask(self, method: str, path: str, api: str = "api") -> httpx2.Response:
        answer = httpx2.request(method, f"{self.url}/{api}/{path}", headers={"Authorization": f"token {self.token}"}, timeout=20)
        answer.raise_for_status()
        return answer


@pytest.fixture(scope="module")
def start_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Lab]]:
    """Start `workbench lab WORDS` in a folder, once for a module, with folders of Jupyter and IPython of its own."""
    running: dict[Path, Lab] = {}

    def start(root: Path, *words: object) -> Lab:
        if root not in running:
            running[root] = start_server(root, words, tmp_path_factory.mktemp("jupyter"))
        return running[root]

    yield start
    for lab in running.values():
        lab.end()


def free_port() -> int:
    """Return a port of the loopback that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_server(root: Path, words: tuple[object, ...], private: Path) -> Lab:
    """Start `workbench lab WORDS` in a folder, with folders of Jupyter and IPython in `private`."""
    settings = private / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(_QUIET)
    token, port = secrets.token_hex(16), free_port()
    # In the environment, where the list of processes does not show it.
    # What refuses connections to other machines is in PYTHONPATH too.
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "JUPYTER_TOKEN": token, "IPYTHONDIR": str(private / "ipython")}
    environment |= {f"JUPYTER_{name.upper()}_DIR": str(private / name) for name in ("config", "data", "runtime")}
    given = ["--no-browser", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0", "--expose-app-in-browser"]
    command = [str(WORKBENCH), "lab", *map(str, words), "--", *given, "--LabApp.extension_manager=readonly"]
    log = private / "log.txt"
    with log.open("wb") as written:
        process = subprocess.Popen(command, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=written, stderr=written)
    lab = Lab(root, f"http://127.0.0.1:{port}", token, process, log)
    ending = time.monotonic() + START_SECONDS
    while time.monotonic() < ending and process.poll() is None:
        try:
            lab.get("status")
            return lab
        except httpx2.ConnectError:
            time.sleep(0.2)
    lab.end()
    raise AssertionError(log.read_text("utf-8"))
