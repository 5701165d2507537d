"""The dataset as tables: questions, judgements, evidence, and the texts that are needed to show a run."""

import json
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from workbench.metrics.coverage import Union
from workbench.metrics.inputs import Labels
from workbench.records import Dataset
from workbench.statistics.clusters import query_clusters

# Characters that are kept on each side of a piece of evidence, so that a missed one is read in its surroundings.
BESIDE = 160
# Half a surrogate pair is a character that no UTF-8 file can hold.
_LONE = re.compile("[\ud800-\udfff]")


def questions_table(dataset: Dataset, labels: Labels) -> pd.DataFrame:
    """A row for each query, in the dataset's order."""
    queries = dataset.queries
    columns = {
        "query_id": [query.query_id for query in queries],
        "text": [plain(query.text) for query in queries],
        "answerable": [query.answerable for query in queries],
        "answer": [plain(query.answer) for query in queries],
        "metadata": [json.dumps(dict(query.metadata)) for query in queries],
    }
    return pd.DataFrame(columns | {"cluster": query_clusters(labels)})


def judgements_table(dataset: Dataset) -> pd.DataFrame:
    """A row for each judgement."""
    columns = {name: [getattr(qrel, name) for qrel in dataset.qrels] for name in ("query_id", "doc_id", "relevance")}
    return pd.DataFrame(columns)


def evidence_table(dataset: Dataset) -> pd.DataFrame:
    """A row for each alternative of each need."""
    rows = [
        (need.query_id, number, place, span.doc_id, span.start, span.end)
        for number, need in enumerate(dataset.needs)
        for place, span in enumerate(need.alternatives)
    ]
    return pd.DataFrame(rows, columns=["query_id", "need", "alternative", "doc_id", "start", "end"])


def passages_table(dataset: Dataset, labels: Labels, shown: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The stretches of documents that hold every slice (doc, start, end) in `shown`, and all evidence with what is beside it."""
    offsets = labels.offsets[labels.alternative_doc]
    starts = [np.maximum(labels.alternative_start - BESIDE, offsets)]
    ends = [np.minimum(labels.alternative_end + BESIDE, labels.offsets[labels.alternative_doc + 1] - 1)]
    for slices in shown:
        origin = labels.offsets[slices["doc"].to_numpy(np.int64)]
        starts.append(origin + slices["start"].to_numpy(np.int64))
        ends.append(origin + slices["end"].to_numpy(np.int64))
    union = Union.of(np.concatenate(starts), np.concatenate(ends))
    rows = labels.places(union.starts, union.ends)
    found = [(dataset.documents[doc].doc_id, start, end, plain(labels.texts[doc][start:end])) for doc, start, end in rows]
    return pd.DataFrame(found, columns=["doc_id", "start", "end", "text"])


def plain(text: str) -> str:
    """A text as UTF-8 can hold it, of the same length."""
    return _LONE.sub("\ufffd", text) if not text.isascii() else text
