"""Results of DeepEval: test cases that `EvaluationDataset.save_as` wrote, or a test run (`.deepeval/.latest_run_full.json`).

The keys of a test case are `input, actual_output, retrieval_context, expected_output`, in a test run `actualOutput, retrievalContext`.
CSV and JSON Lines join the contexts with `|`, so only JSON keeps contexts apart that contain it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.datasets.draft import Rows
from workbench.targets.recorded.exports import ExportedRow, ExportFormat

_OUTPUTS, _CONTEXTS = ("actual_output", "actualOutput"), ("retrieval_context", "retrievalContext")
_SEPARATOR = "|"
# How a context is written whose source is known.
_SOURCED = re.compile(r"deepeval_source=(?P<source>.*?),deepeval_context=(?P<text>.*)", re.DOTALL)


def _marks(row: Mapping[str, Any]) -> bool:
    return "input" in row and any(key in row for key in (*_OUTPUTS, *_CONTEXTS))


def _read(rows: Rows) -> Iterator[ExportedRow]:
    rows = list(rows)
    # A row of CSV has no key for an empty cell, which is how contexts are written that are none.
    none: list[Any] | None = [] if any(key in row for row, _ in rows for key in _CONTEXTS) else None
    for row, where in rows:
        answer, contexts = (next((row[key] for key in keys if key in row), other) for keys, other in ((_OUTPUTS, None), (_CONTEXTS, none)))
        if isinstance(contexts, str):
            contexts = contexts.split(_SEPARATOR) if contexts else []
        documents = list(map(_document, contexts)) if isinstance(contexts, list) else contexts
        yield ExportedRow(row, where, row.get("input"), answer, documents, row.get("query_id"))


def _document(context: Any) -> Any:
    sourced = _SOURCED.fullmatch(context) if isinstance(context, str) else None
    return {"doc_id": sourced["source"], "text": sourced["text"], "metadata": {"source": sourced["source"]}} if sourced else context


DEEPEVAL = ExportFormat("deepeval", _marks, "input", _read)
