"""Tables of a run's dataset: questions, documents, labels, and the passages that a report shows."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.fingerprint import fingerprint
from workbench.core.formatting import encodable
from workbench.metrics.coverage import Union
from workbench.metrics.inputs import Labels
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage_results import StageResults
from workbench.records import Dataset, Query
from workbench.results.run_tables import WHERE
from workbench.statistics.clusters import query_clusters

# Characters shown on each side of a piece of evidence, so that readers see a missed one in context.
_BESIDE = 160


def questions_table(dataset: Dataset, labels: Labels) -> pd.DataFrame:
    """Return a row for each query, in the dataset's order."""
    queries, clusters = dataset.queries, query_clusters(labels)
    rows = [
        (query.query_id, encodable(query.text), query.answerable, encodable(query.answer), json.dumps(slice_fields(query)))
        for query in queries
    ]
    table = pd.DataFrame(rows, columns=["query_id", "text", "answerable", "answer", "metadata"])
    return table.assign(cluster=clusters.codes, documents=[json.dumps(numbers) for numbers in clusters.documents])


def slice_fields(query: Query) -> dict[str, Any]:
    """Return a query's metadata with its filter as the field `where`, so that filters are shown and define slices as the others do."""
    return ({WHERE: json.dumps(dict(query.where), ensure_ascii=False)} if query.where else {}) | dict(query.metadata)


def documents_table(dataset: Dataset) -> pd.DataFrame:
    """Return a row for each document. Baselines compare the fingerprints, which need not resist an attacker."""
    rows = [(each.doc_id, fingerprint(each.title, each.text)[:12], len(each.text)) for each in dataset.corpus]
    return pd.DataFrame(rows, columns=["doc_id", "fingerprint", "characters"])


def judgements_table(dataset: Dataset) -> pd.DataFrame:
    """Return a row for each judgement."""
    return pd.DataFrame({name: [getattr(qrel, name) for qrel in dataset.qrels] for name in ("query_id", "doc_id", "relevance")})


def evidence_table(dataset: Dataset) -> pd.DataFrame:
    """Return a row for each alternative of each need."""
    rows = [
        (need.query_id, number, place, span.doc_id, span.start, span.end)
        for number, need in enumerate(dataset.needs)
        for place, span in enumerate(need.alternatives)
    ]
    return pd.DataFrame(rows, columns=["query_id", "need", "alternative", "doc_id", "start", "end"])


def passages_table(run: RunContext, finished: Sequence[StageResults]) -> pd.DataFrame:
    """Return the text of everything that the report shows: of documents, and what targets have read besides."""
    contexts = [results.contexts_of(variant) for results in finished if "contexts" in results.entries for variant in run.variants]
    passages = [entry.table("passages")[["doc_id", "start", "end", "text"]] for entry in contexts]
    read = pd.concat(passages, ignore_index=True) if passages else pd.DataFrame(columns=["doc_id", "start", "end", "text"])
    slices = read[["doc_id", "start", "end"]].drop_duplicates()
    slices = slices.assign(doc=pd.Index(run.doc_ids).get_indexer(pd.Index(slices["doc_id"])))
    shown = [results.entry("explanations").table("context") for results in finished]
    known = covering_passages(run.dataset, run.labels, [*shown, slices[slices["doc"] >= 0]])
    foreign = read.loc[~read["doc_id"].isin(run.doc_ids), ["doc_id", "start", "text"]].drop_duplicates()
    texts = [encodable(text) for text in foreign["text"]]
    ends = [start + len(text) for start, text in zip(foreign["start"], texts, strict=True)]
    return pd.concat([known, foreign.assign(text=texts, end=ends)]) if len(foreign) else known


def covering_passages(dataset: Dataset, labels: Labels, shown: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return passages that cover every slice (doc, start, end) in `shown`, and all evidence with the text around it."""
    low, high = labels.offsets[labels.alternative_doc], labels.offsets[labels.alternative_doc + 1] - 1
    starts, ends = [np.maximum(labels.alternative_start - _BESIDE, low)], [np.minimum(labels.alternative_end + _BESIDE, high)]
    for slices in shown:
        origin = labels.offsets[slices["doc"].to_numpy(np.int64)]
        starts.append(origin + slices["start"].to_numpy(np.int64))
        ends.append(origin + slices["end"].to_numpy(np.int64))
    union = Union.of(np.concatenate(starts), np.concatenate(ends))
    rows = labels.places(union.starts, union.ends)
    passages = [(dataset.documents[doc].doc_id, start, end, encodable(labels.texts[doc][start:end])) for doc, start, end in rows]
    return pd.DataFrame(passages, columns=["doc_id", "start", "end", "text"])
