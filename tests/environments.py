"""Environments with packages that Workbench's own must not have. They need a package index."""

import os
import subprocess
import venv
from collections.abc import Mapping
from pathlib import Path


def install(folder: Path, *packages: str) -> Path:
    """Install packages into a new environment, and return the folder of its programs."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip(programs, "install", *packages)
    return programs


def pip(programs: Path, *words: str) -> None:
    """Run the pip of an environment. It may reach the package index: PYTHONPATH has the code that refuses connections."""
    done = subprocess.run([programs / "pip", *words], env=outside(), capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-2000:]


def outside() -> Mapping[str, str]:
    """Return the variables of the environment that a process outside of the test's environment gets."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
