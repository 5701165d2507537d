"""Cutting, storing and searching a corpus holds blocks of it, and its own text; never a list as long as it is."""

import json
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.slow

# Two sizes in one process: what the first one used the second one uses again, so what is more is what grows with the corpus. Both ask as many
# questions, and take long enough that the sampled peaks are those of their searches.
GROWTH = """
import json
from benchmarks.memory import synthetic
print(json.dumps([synthetic(chunks, 1_000_000) for chunks in (8_000, 24_000)]))
"""


def test_a_further_chunk_adds_little_memory(fork: Callable) -> None:
    few, many = json.loads(fork(GROWTH).output().splitlines()[-1])
    chunks = many["chunks"] - few["chunks"]
    growth = {stage: (peak - few["peak_mb"][stage]) * 1e6 / chunks for stage, peak in many["peak_mb"].items()}
    # Its vector alone is 1,536 bytes, and its tokens as the tokeniser gives them are 5,000. Seen: 3,200 at most, and 7,000 in one block.
    assert chunks == 16_000
    assert max(growth.values()) < 4_000, growth
