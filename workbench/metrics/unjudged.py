"""Document metrics as they would be if the retrieved documents that nobody judged were relevant."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from workbench.errors import InputError
from workbench.metrics.case import Case
from workbench.metrics.coverage import Floats
from workbench.metrics.evaluate import score
from workbench.metrics.families.documents import first_documents
from workbench.metrics.names import Metric


class UnjudgedValues(NamedTuple):
    """(q) values of a metric with the unjudged documents of the first k not relevant (`low`) and relevant (`high`); NaN unscored."""

    low: Floats
    high: Floats


def unjudged_values(case: Case, metric: Metric) -> UnjudgedValues:
    """A document metric twice, with the unjudged documents among the configuration's first k counted 0 and counted 1 (grade 1).

    They bound `success`, `precision` and `mrr`. Metrics that divide by the number of relevant documents (`recall`, `map`, `ndcg`) count
    this configuration's own unjudged documents there, not those that only others retrieved. Metrics of other units are refused.
    """
    labels = case.labels
    if metric.family != "documents" or metric.k is None:
        raise InputError(f"{metric} is not over documents", "bounds exist for recall@5, precision@5, ndcg@10 and the like")
    query, doc = np.divmod(np.setdiff1d(first_documents(case, metric.cut), labels.judged_pairs), labels.documents)
    judged = replace(
        labels,
        qrel_query=np.concatenate([labels.qrel_query, query]),
        qrel_doc=np.concatenate([labels.qrel_doc, doc]),
        qrel_relevance=np.concatenate([labels.qrel_relevance, np.ones_like(doc)]),
    )
    cases = (case, Case(judged, case.retrieved, case.spans))
    low, high = (score(one, metric)["value"].to_numpy(np.float64) for one in cases)
    return UnjudgedValues(low, np.where(np.isnan(low), np.nan, high))
