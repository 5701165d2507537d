"""Cutting, storing and searching a corpus holds blocks of it, and its own text; never a list as long as it is."""

import json
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.slow

# Two sizes in one process: what the first one used the second one uses again, so what is more is what grows with the corpus.
GROWTH = """
import json
from benchmarks.memory import synthetic
print(json.dumps([synthetic(chunks, 1_000_000) for chunks in (2_000, 12_000)]))
"""


def test_a_further_chunk_adds_little_memory(fork: Callable) -> None:
    few, many = json.loads(fork(GROWTH).output().splitlines()[-1])
    chunks = many["chunks"] - few["chunks"]
    growth = {stage: (peak - few["peak_mb"][stage]) * 1e6 / chunks for stage, peak in many["peak_mb"].items()}
    # Its vector alone is 1,536 bytes, and its tokens as the tokeniser gives them are 5,000. Seen: 2,100, a third of it its tokens in a cache that has an end.
    assert chunks == 10_000
    assert max(growth.values()) < 4_000, growth
