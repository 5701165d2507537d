import numpy as np
import pytest

from workbench.errors import InputError
from workbench.metrics.case import Case
from workbench.metrics.names import Metric
from workbench.metrics.unjudged import unjudged_values


def test_unjudged_documents_count_0_and_1(make_labels, make_retrieved) -> None:
    # Document 0 is relevant, 1 judged and not, 2 and 3 unjudged; the second query is unanswerable.
    labels = make_labels(["aaaa"] * 4, {"qrels": {0: 1, 1: 0}}, {"answerable": False})
    retrieved = make_retrieved([(doc, 0, 4) for doc in range(4)], [2, 1, 0, 3], [0, 1])
    case = Case(labels, retrieved, "exact")
    precision = unjudged_values(case, Metric.parse("precision@2"))
    assert (precision.low[0], precision.high[0]) == (0, 0.5)
    assert np.isnan([precision.low[1], precision.high[1]]).all()
    mrr = unjudged_values(case, Metric.parse("mrr@10"))
    assert (mrr.low[0], mrr.high[0]) == (pytest.approx(1 / 3), 1)
    recall = unjudged_values(case, Metric.parse("recall@2"))
    assert (recall.low[0], recall.high[0]) == (0, 0.5)


def test_metrics_of_chunks_are_refused(make_labels, make_retrieved) -> None:
    labels, retrieved = make_labels(["aaaa"], {"qrels": {0: 1}}), make_retrieved([(0, 0, 4)], [0])
    with pytest.raises(InputError, match="is not over documents"):
        unjudged_values(Case(labels, retrieved, "exact"), Metric.parse("hit_recall@2"))
