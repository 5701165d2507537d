"""The published figures of Chroma's chunking report (Smith and Troynikov 2024), by the product's own chunkers and metric.

Figures of the report's table: precision Ω in percent, sizes in cl100k tokens. The two fixed rows without overlap are higher
here than published (21.0 and 12.5): that code put repeated text at its first occurrence, ours has real offsets.
"""

import numpy as np
import pandas as pd
import pytest

from workbench.components.registry import CHUNKERS
from workbench.data.sources import BeirSource
from workbench.measures.metrics.evaluate import evaluate
from workbench.measures.metrics.inputs import Labels, Retrieved
from workbench.measures.metrics.names import Metric

PUBLISHED = [
    ("recursive", 200, 0, 29.9, 0.1),
    ("recursive", 400, 0, 17.7, 0.1),
    ("recursive", 800, 400, 6.7, 0.1),
    ("fixed", 800, 400, 4.7, 0.1),
    ("fixed", 200, 0, 21.4, 0.15),
    ("fixed", 400, 0, 12.7, 0.15),
]


@pytest.mark.parametrize(("kind", "size", "overlap", "omega", "tolerance"), PUBLISHED)
def test_precision_omega_is_that_of_the_chroma_report(big_data, kind, size, overlap, omega, tolerance):
    dataset = BeirSource(path=str(big_data("chroma-chunking"))).load()
    chunker = CHUNKERS[kind](size=size, overlap=overlap, tokens="cl100k")
    rows = [(doc, chunk.start, chunk.end) for doc, document in enumerate(dataset.documents) for chunk in chunker.split(document)]
    chunks = pd.DataFrame(rows, columns=["doc", "start", "end"])
    nothing = pd.DataFrame({name: pd.Series(dtype="int64") for name in ("query", "rank", "chunk", "doc", "score")})
    retrieved = Retrieved(
        chunks.assign(delivered_start=chunks["start"], delivered_end=chunks["end"]), nothing, nothing, np.zeros(len(dataset.queries))
    )
    scores = evaluate(Labels.of(dataset), retrieved, [Metric.parse("span_precision_omega")], spans="chroma")
    assert scores["value"].notna().sum() == 472
    assert 100 * scores["value"].mean() == pytest.approx(omega, abs=tolerance)
