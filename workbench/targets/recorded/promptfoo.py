"""Results of `promptfoo eval --output results.json` (or .jsonl): one for each test, prompt and provider.

A result has the variables of the prompt in `vars` and the reply of the provider in `response.output`, a text or an object. Retrieved documents
are in that object, in the metadata of the reply, or in the variables, such as `context`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.datasets.draft import Rows
from workbench.targets.recorded.exports import ExportedRow, ExportFormat
from workbench.targets.recorded.payloads import documents_of


def _marks(row: Mapping[str, Any]) -> bool:
    return "vars" in row and ("response" in row or "promptIdx" in row or "testIdx" in row or "error" in row)


def _read(rows: Rows) -> Iterator[ExportedRow]:
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


PROMPTFOO = ExportFormat("promptfoo", _marks, "vars", _read, "provider.label")
