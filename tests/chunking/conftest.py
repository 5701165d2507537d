import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.records import Document

Corpus = Callable[[str], list[Document]]


@pytest.fixture(scope="session")
def data() -> Path:
    folder = Path(os.environ.get("WORKBENCH_DATA", "../shared/data"))
    if not folder.is_dir():
        pytest.skip(f"the big sets are not in {folder}: set WORKBENCH_DATA")
    return folder


@pytest.fixture(scope="session")
def corpus(data: Path) -> Corpus:
    """The documents of a big set by its folder's name."""

    def read(name: str) -> list[Document]:
        path = data / name / "corpus.jsonl"
        if not path.is_file():
            pytest.skip(f"{path} is absent: set WORKBENCH_DATA")
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return [Document(row["_id"], row["text"], row.get("title", "")) for row in rows]

    return read
