"""Results of Ragas: an EvaluationDataset, or `evaluate(...).to_pandas()`, as JSON Lines, parquet or CSV.

The columns are `user_input, retrieved_contexts, retrieved_context_ids, response, reference`, before Ragas 0.2 `question, contexts, answer,
ground_truth` or `ground_truths`, and one for each metric, which is not read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.datasets.draft import Rows
from workbench.targets.recorded.cells import structured
from workbench.targets.recorded.exports import ExportedRow, ExportFormat

# The names of the question, the answer and the contexts.
_NAMES, _EARLIER_NAMES = ("user_input", "response", "retrieved_contexts"), ("question", "answer", "contexts")
# One of these beside a `question` is a sign of an export before Ragas 0.2.
_EARLIER = ("contexts", "ground_truth", "ground_truths")


def _marks(row: Mapping[str, Any]) -> bool:
    return "user_input" in row or ("question" in row and any(key in row for key in _EARLIER))


def _read(rows: Rows) -> Iterator[ExportedRow]:
    for row, where in rows:
        documents, fault = None, ""
        question, answer, contexts = _NAMES if _NAMES[0] in row else _EARLIER_NAMES
        try:
            documents = _documents(row, contexts)
        except ValueError as error:
            fault = str(error)
        yield ExportedRow(row, where, row.get(question), row.get(answer), documents, row.get("query_id"), fault=fault)


def _documents(row: Mapping[str, Any], contexts: str) -> Any:
    """Return the contexts with their ids, or what there is of them. Raises ValueError if they do not belong together."""
    texts, ids = (structured(row.get(key), key) for key in (contexts, "retrieved_context_ids"))
    if not isinstance(ids, list):
        return texts
    if not isinstance(texts, list):
        return [{"doc_id": doc_id} for doc_id in ids]
    if len(texts) != len(ids):
        raise ValueError(f"has {len(texts)} retrieved_contexts but {len(ids)} retrieved_context_ids")
    return [{"doc_id": doc_id, "text": text} for doc_id, text in zip(ids, texts, strict=True)]


RAGAS = ExportFormat("ragas", _marks, "user_input", _read)
