"""What-if on a large set: values computed from the stored rankings of one sweep equal those that another sweep computed."""

from pathlib import Path

import numpy as np
import pytest

import workbench as wb

pytestmark = pytest.mark.soak

METRICS = [
    "recall@1",
    "ndcg@10",
    "mrr@10",
    "map@10",
    "hit_precision@5",
    "chunk_precision@5",
    "irrelevant@3",
    "span_recall@5",
    "span_recall@1500t",
    "span_iou@5",
    "span_precision_omega",
    "need_recall@5",
    "complete@1000t",
]
COLUMNS = ["value", "low", "high", "attainable"]


def test_what_if_equals_a_sweep_of_covid_qa(big_data, tmp_path: Path) -> None:
    dataset = wb.load_dataset(big_data("covid-qa"))

    def swept(metrics: list[str], name: str) -> wb.Results:
        sweep = {"chunking": [wb.FixedChunker(size=128, overlap=32), wb.SentenceChunker(size=256)]}
        pipeline = wb.Pipeline(retrieval=wb.BM25Retriever(k=20))
        return wb.sweep(wb.Experiment(name, dataset, pipeline=pipeline, sweep=sweep, metrics=metrics), tmp_path / "outputs")

    narrow, wide = swept(["recall@5"], "narrow"), swept(METRICS, "wide")
    for metric in METRICS:
        own = narrow.what_if(metric, dataset=dataset).set_index("configuration")
        assert set(own["source"]) == {"re-scored"}, metric
        theirs = wide.metrics.query("metric == @metric and slice == 'all'").set_index("configuration").loc[own.index]
        np.testing.assert_allclose(own[COLUMNS].astype(float), theirs[COLUMNS].astype(float), rtol=0, atol=1e-12, err_msg=metric)
        assert own["n"].tolist() == theirs["n"].tolist(), metric
