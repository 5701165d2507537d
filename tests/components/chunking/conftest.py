import json
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.core.records import Document

Corpus = Callable[[str], list[Document]]


@pytest.fixture(scope="session")
def corpus(big_data: Callable[[str], Path]) -> Corpus:
    """The documents of a big set by its folder's name."""

    def read(name: str) -> list[Document]:
        rows = [json.loads(line) for line in (big_data(name) / "corpus.jsonl").read_text("utf-8").splitlines()]
        return [Document(row["_id"], row["text"], row.get("title", "")) for row in rows]

    return read
