"""Fingerprints of a dataset: its documents, its questions' texts, its labels."""

from collections.abc import Mapping

from workbench.core.fingerprint import fingerprint, fingerprint_of_rows
from workbench.records import Dataset

SOURCES = ("corpus", "questions", "labels")


def dataset_fingerprints(dataset: Dataset) -> Mapping[str, str]:
    """The fingerprint of each of SOURCES.

    `corpus`: the documents' ids, titles and texts. `questions`: the texts of the queries, in order. `labels`: queries and judgements, all that
    metrics read besides what was retrieved.
    """
    queries = [(query.query_id, query.answerable, dict(query.metadata)) for query in dataset.queries]
    qrels = [(qrel.query_id, qrel.doc_id, qrel.relevance) for qrel in dataset.qrels]
    needs = [(need.query_id, [(span.doc_id, span.start, span.end) for span in need.alternatives]) for need in dataset.needs]
    return {
        "corpus": fingerprint_of_rows((document.doc_id, document.title, document.text) for document in dataset.documents),
        "questions": fingerprint([query.text for query in dataset.queries]),
        "labels": fingerprint(queries, qrels, needs),
    }
