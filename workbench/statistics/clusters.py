"""Which queries hang together: those whose answers lie in the same document are not independent observations."""

import numpy as np

from workbench.metrics.coverage import Ints
from workbench.metrics.inputs import Labels


def query_clusters(labels: Labels) -> Ints:
    """(queries) the cluster of each query: the document of its first evidence span.

    Without evidence it is the query's relevant document if it has exactly one, else the query itself. Several relevant documents
    link no queries: they would chain (query 1 and 2 share a document, 2 and 3 another), and NFCorpus, with 38 relevant documents a
    query, would collapse into one cluster. Documents keep their position, lone queries follow after the last document.
    """
    clusters = labels.documents + np.arange(labels.queries, dtype=np.int64)
    query, doc = labels.relevant_pairs // labels.documents, labels.relevant_pairs % labels.documents
    alone = labels.relevant_counts[query] == 1
    clusters[query[alone]] = doc[alone]
    with_evidence, first = np.unique(labels.alternative_query, return_index=True)
    clusters[with_evidence] = labels.alternative_doc[first]
    return clusters
