"""Results of Ragas, promptfoo and DeepEval."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.data.draft import Rows
from workbench.systems.recorded.exports import ExportedRow, ExportFormat
from workbench.systems.recorded.payloads import documents_of, structured

# The names of the question, the answer and the contexts.
_NAMES, _EARLIER_NAMES = ("user_input", "response", "retrieved_contexts"), ("question", "answer", "contexts")
# One of these beside a `question` is a sign of an export before Ragas 0.2.
_EARLIER = ("contexts", "ground_truth", "ground_truths")


def _ragas(rows: Rows) -> Iterator[ExportedRow]:
    """Read an EvaluationDataset, or `evaluate(...).to_pandas()`, as JSON Lines, parquet or CSV.

    The columns are `user_input, retrieved_contexts, retrieved_context_ids, response, reference`, before Ragas 0.2 `question, contexts, answer,
    ground_truth` or `ground_truths`, and one for each metric, which is not read.
    """
    for row, where in rows:
        documents, fault = None, ""
        question, answer, contexts = _NAMES if _NAMES[0] in row else _EARLIER_NAMES
        try:
            documents = _ragas_documents(row, contexts)
        except ValueError as error:
            fault = str(error)
        yield ExportedRow(row, where, row.get(question), row.get(answer), documents, row.get("query_id"), fault=fault)


def _ragas_documents(row: Mapping[str, Any], contexts: str) -> Any:
    """Return the contexts with their ids, or what there is of them. Raises ValueError if they do not belong together."""
    texts, ids = (structured(row.get(key), key) for key in (contexts, "retrieved_context_ids"))
    if not isinstance(ids, list):
        return texts
    if not isinstance(texts, list):
        return [{"doc_id": doc_id} for doc_id in ids]
    if len(texts) != len(ids):
        raise ValueError(f"has {len(texts)} retrieved_contexts but {len(ids)} retrieved_context_ids")
    return [{"doc_id": doc_id, "text": text} for doc_id, text in zip(ids, texts, strict=True)]


RAGAS = ExportFormat(
    "ragas",
    lambda row: "user_input" in row or ("question" in row and any(key in row for key in _EARLIER)),
    "user_input",
    _ragas,
)


def _promptfoo(rows: Rows) -> Iterator[ExportedRow]:
    """Read `promptfoo eval --output results.json` (or .jsonl): a result for each test, prompt and provider.

    A result has the variables of the prompt in `vars` and the reply of the provider in `response.output`, a text or an object. Retrieved
    documents are in that object, in the metadata of the reply, or in the variables, such as `context`.
    """
    for row, where in rows:
        variables, response = (row[key] if isinstance(row.get(key), Mapping) else {} for key in ("vars", "response"))
        output = response.get("output")
        places = (output if isinstance(output, Mapping) else None, response.get("metadata"), variables)
        # A reply that is an object has its sources inside; a text has none.
        documents = next((place for place in places if isinstance(place, Mapping) and _has_documents(place)), None)
        error = response.get("error") or (row.get("error") if output is None else None)
        yield ExportedRow(row, where, variables, output, documents, variables.get("query_id"), error)


def _has_documents(place: Mapping[str, Any]) -> bool:
    try:
        return documents_of(place) is not None
    except ValueError:
        # Reported where the documents are read.
        return True


PROMPTFOO = ExportFormat(
    "promptfoo",
    lambda row: "vars" in row and any(key in row for key in ("response", "promptIdx", "testIdx", "error")),
    "vars",
    _promptfoo,
    "provider.label",
)


_OUTPUTS, _CONTEXTS = ("actual_output", "actualOutput"), ("retrieval_context", "retrievalContext")
_SEPARATOR = "|"
# How a context is written whose source is known.
_SOURCED = re.compile(r"deepeval_source=(?P<source>.*?),deepeval_context=(?P<text>.*)", re.DOTALL)


def _deepeval(rows: Rows) -> Iterator[ExportedRow]:
    """Read test cases that `EvaluationDataset.save_as` wrote, or a test run (`.deepeval/.latest_run_full.json`).

    The keys of a test case are `input, actual_output, retrieval_context, expected_output`, in a test run `actualOutput, retrievalContext`.
    CSV and JSON Lines join the contexts with `|`, so only JSON keeps contexts apart that contain it.
    """
    rows = list(rows)
    # A row of CSV has no key for an empty cell, which is how contexts are written that are none.
    none: list[Any] | None = [] if any(key in row for row, _ in rows for key in _CONTEXTS) else None
    for row, where in rows:
        answer, contexts = (next((row[key] for key in keys if key in row), other) for keys, other in ((_OUTPUTS, None), (_CONTEXTS, none)))
        if isinstance(contexts, str):
            contexts = contexts.split(_SEPARATOR) if contexts else []
        documents = contexts
        if isinstance(contexts, list):
            sourced = [_SOURCED.fullmatch(context) if isinstance(context, str) else None for context in contexts]
            documents = [
                {"doc_id": found["source"], "text": found["text"], "metadata": {"source": found["source"]}} if found else context
                for found, context in zip(sourced, contexts, strict=True)
            ]
        yield ExportedRow(row, where, row.get("input"), answer, documents, row.get("query_id"))


DEEPEVAL = ExportFormat("deepeval", lambda row: "input" in row and any(key in row for key in (*_OUTPUTS, *_CONTEXTS)), "input", _deepeval)
