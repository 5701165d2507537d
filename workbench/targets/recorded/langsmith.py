"""Results of LangSmith: runs or examples as JSON Lines, JSON, CSV or parquet, or `ExperimentResults.to_pandas()`.

A row has `inputs` and `outputs`, as objects, as JSON or in columns such as `inputs.question`. Runs of one trace belong together: those of the
kind `retriever` have the documents. Of an example, `outputs` is taken as the answer of the application, as in a dataset made from its runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.datasets.draft import Rows
from workbench.targets.recorded.cells import structured
from workbench.targets.recorded.exports import ExportedRow, ExportFormat
from workbench.targets.recorded.traces.spans import TraceSpan, trace_span, traced_rows

INPUTS, OUTPUTS = ("inputs", "input"), ("outputs", "output")


def _marks(row: Mapping[str, Any]) -> bool:
    return "inputs" in row or any(key.startswith(("inputs.", "input.")) for key in row)


def _read(rows: Rows) -> Iterable[ExportedRow]:
    return traced_rows(_spans(rows))


def _spans(rows: Rows) -> Iterator[TraceSpan]:
    for row, where in rows:
        try:
            inputs, outputs = values_of(row, INPUTS), values_of(row, OUTPUTS)
            found = ExportedRow(row, where, inputs, outputs, outputs, _query_id(row, inputs), row.get("error"))
        except ValueError as error:
            found = ExportedRow(row, where, None, fault=str(error))
        run_id = row.get("id", row.get("run_id"))
        yield trace_span(found, row.get("trace_id"), run_id, row.get("parent_run_id"), row.get("run_type"), row.get("start_time"))


def values_of(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """Return the `INPUTS` or the `OUTPUTS` of a row, gathered from its columns if there is one for each. Raises ValueError if it cannot be read."""
    if names[0] in row:
        return structured(row[names[0]], names[0])
    columns = {key.partition(".")[2]: value for key, value in row.items() if key.startswith(tuple(f"{name}." for name in names))}
    return {key: structured(value, f"{names[0]}.{key}") for key, value in columns.items()} or None


def _query_id(row: Mapping[str, Any], inputs: Any) -> Any:
    places = (row, structured(row.get("metadata"), "metadata"), inputs)
    return next((place["query_id"] for place in places if isinstance(place, Mapping) and place.get("query_id") is not None), None)


LANGSMITH = ExportFormat("langsmith", _marks, "inputs", _read, "session_id")
