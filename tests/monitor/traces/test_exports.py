"""Exports of Langfuse, LangSmith, Phoenix and MLflow become the same rows, from the fields that each tool documents."""

import base64
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.monitor.traces.conftest import write_lines
from workbench.monitor.traces import TraceRows, read_traces
from workbench.systems.recorded.traces.tool_exports import nanoseconds

DOCUMENTS = [
    {"page_content": "A night costs 18 EUR.", "type": "Document", "metadata": {"source": "fees.md", "score": 0.62}},
    {"page_content": "Berths B1 to B20.", "type": "Document", "metadata": {"source": "berths.md"}},
]
HITS = [
    {"doc_id": "fees.md", "text": "A night costs 18 EUR.", "score": 0.62, "hop": 0, "metadata": {"source": "fees.md", "score": 0.62}},
    {"doc_id": "berths.md", "text": "Berths B1 to B20.", "hop": 0, "metadata": {"source": "berths.md"}},
]
# What every export below says.
COMMON = {
    "id": "t1",
    "time": "2026-11-01T12:00:00.000000Z",
    "query": "fee for one night?",
    "rewritten": "night fee",
    "hits": HITS,
    "hops": [{"query": "night fee", "seconds": 0.25}],
    "answer": "18 EUR",
    "model": "small-model",
    "input_tokens": 212,
    "output_tokens": 14,
    "retrieval_seconds": 0.25,
    "generation_seconds": 1.5,
    "seconds": 2.0,
    "user": "u-1",
    "session": "c-1",
    "turn": 1,
    "trace_id": "t1",
    "span_id": "s1",
}


def one(found: TraceRows, tool: str, **left_out: int) -> dict[str, Any]:
    assert (found.formats, found.left_out) == ((tool,), left_out)
    (row,) = found.rows
    return dict(row)


def without(*names: str, **added: Any) -> dict[str, Any]:
    return {name: value for name, value in COMMON.items() if name not in names} | added


def observation(place: int, kind: str, parent: str, times: tuple[str, str], **fields: Any) -> dict[str, Any]:
    start, end = times
    return {
        "id": f"s{place}",
        "trace_id": "t1",
        "type": kind,
        "parent_observation_id": parent,
        "start_time": f"2026-11-01 12:00:{start}",
        "end_time": f"2026-11-01 12:00:{end}",
        "name": kind.lower(),
        "level": "DEFAULT",
        "status_message": "",
        "session_id": "c-1",
        "user_id": "u-1",
        "release": "2.1.0",
        "version": "",
        "tags": ["web", "index:7"],
        "environment": "default",
        "input": "",
        "output": "",
    } | fields


OBSERVATIONS = [
    observation(1, "SPAN", "", ("00.000000", "02.000000"), input='{"question": "fee for one night?"}', output='{"answer": "18 EUR"}'),
    observation(2, "RETRIEVER", "s1", ("00.100000", "00.350000"), input="night fee", output=json.dumps(DOCUMENTS)),
    observation(
        3,
        "GENERATION",
        "s1",
        ("00.400000", "01.900000"),
        input='[{"role": "user", "content": "a prompt"}]',
        output='{"role": "assistant", "content": "18 EUR"}',
        provided_model_name="small-model",
        prompt_version="4",
        total_cost=0.125,
        usage_details={"input": 212, "output": 14, "total": 226},
    ),
]
SCORES = [
    {
        "id": "1",
        "trace_id": "t1",
        "observation_id": "s3",
        "name": "faithful",
        "value": 0.5,
        "data_type": "NUMERIC",
        "source": "EVAL",
        "comment": "half",
    },
    {"id": "2", "trace_id": "t1", "name": "tone", "value": 0, "string_value": "friendly", "data_type": "CATEGORICAL", "source": "API"},
    {"id": "3", "trace_id": "t1", "name": "user-feedback", "value": 0, "string_value": "False", "data_type": "BOOLEAN", "source": "API"},
]
LANGFUSE = COMMON | {
    "cost": 0.125,
    "versions": {"release": "2.1.0", "prompt": "4", "index": "7"},
    "evaluations": [
        {"name": "faithful", "score": 0.5, "explanation": "half", "judge": "EVAL"},
        {"name": "tone", "label": "friendly", "judge": "API"},
    ],
    "feedback": [{"kind": "thumb", "value": -1, "text": "False"}],
}


def camel(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(camel, value))
    if not isinstance(value, dict):
        return value
    return {
        "".join(part if not place else part.title() for place, part in enumerate(key.split("_"))): camel(item)
        for key, item in value.items()
    }


@pytest.mark.parametrize("form", ["jsonl", "json", "csv", "interface", "earlier interface", "parquet"])
def test_langfuse_observations_and_scores(tmp_path: Path, form: str) -> None:
    for name, rows in (("observations_v2", OBSERVATIONS), ("scores", SCORES)):
        folder = tmp_path / name
        folder.mkdir()
        flat = [{key: json.dumps(item) if isinstance(item, dict) else item for key, item in row.items()} for row in rows]
        if form == "jsonl":
            write_lines(folder / "1.jsonl", *rows)
        elif form == "json":
            (folder / "1.json").write_text(json.dumps(rows), "utf-8")
        elif form == "csv":
            pd.DataFrame(flat).to_csv(folder / "1.csv", index=False)
        elif form == "parquet":
            pd.DataFrame(rows).to_parquet(folder / "1.parquet")
        else:
            pd.DataFrame([cells_of_langfuse(row, form == "interface") for row in rows]).to_csv(folder / "1.csv", index=False)
    assert one(read_traces(tmp_path), "langfuse") == LANGFUSE


def cells_of_langfuse(row: dict[str, Any], texts_as_they_are: bool) -> dict[str, str]:
    """The cells of a row in the CSV of Langfuse's interface: times are JSON, and in earlier versions texts too."""
    return {
        key: item if texts_as_they_are and isinstance(item, str) and not key.endswith("Time") else json.dumps(item)
        for key, item in camel(row).items()
    }


def test_langfuse_traces_of_the_interface_have_observations_inside(tmp_path: Path) -> None:
    trace = {
        "id": "t1",
        "timestamp": "2026-11-01T12:00:00.000Z",
        "name": "rag",
        "userId": "u-1",
        "sessionId": "c-1",
        "release": "2.1.0",
        "input": "fee for one night?",
        "output": "18 EUR",
        "latency": 2.0,
        "observations": [{key: item for key, item in camel(row).items() if key != "parentObservationId" or item} for row in OBSERVATIONS],
        "scores": camel(SCORES),
    }
    (tmp_path / "trace-t1.json").write_text(json.dumps(trace), "utf-8")
    row = one(read_traces(tmp_path), "langfuse")
    assert row == LANGFUSE | {"span_id": "t1"}


def test_a_langfuse_observation_with_an_error_has_its_message(tmp_path: Path) -> None:
    failed = OBSERVATIONS[2] | {"level": "ERROR", "status_message": "timeout", "output": ""}
    row = one(read_traces(write_lines(tmp_path / "o.jsonl", OBSERVATIONS[0] | {"output": ""}, failed)), "langfuse")
    assert row["error"] == "timeout"
    assert "answer" not in row


def test_a_trace_of_opik_has_its_scores_and_the_use_of_its_model(tmp_path: Path) -> None:
    span = {
        "id": "s2",
        "type": "llm",
        "name": "chat",
        "start_time": "2026-11-01 12:00:01+00:00",
        "output": {"output": "18 EUR"},
        "model": "m",
    }
    trace = {
        "id": "t1",
        "name": "rag",
        "start_time": "2026-11-01 12:00:00+00:00",
        "input": {"query": "fee?"},
        "output": {"output": "18 EUR"},
    }
    scored = trace | {"error_info": None, "feedback_scores": [{"name": "faithful", "value": 0.5, "reason": "half", "source": "sdk"}]}
    row = one(read_traces(write_lines(tmp_path / "o.jsonl", {"trace": scored, "spans": [span | {"usage": {"prompt_tokens": 7}}]})), "opik")
    assert (row["query"], row["answer"], row["model"], row["input_tokens"]) == ("fee?", "18 EUR", "m", 7)
    assert row["evaluations"] == [{"name": "faithful", "score": 0.5, "explanation": "half", "judge": "sdk"}]


def run(place: int, kind: str, parent: str | None, times: tuple[str, str], **fields: Any) -> dict[str, Any]:
    return {
        "id": f"s{place}",
        "trace_id": "t1",
        "parent_run_id": parent,
        "dotted_order": f"2026{place}",
        "run_type": kind,
        "name": kind,
        "session_id": "the-project",
        "start_time": f"2026-11-01T12:00:{times[0]}",
        "end_time": f"2026-11-01T12:00:{times[1]}",
        "error": None,
        "extra": {"metadata": {"thread_id": "c-1", "user_id": "u-1", "revision_id": "abc", "ls_model_name": "small-model"}},
        "prompt_tokens": 212,
        "completion_tokens": 14,
        "total_cost": "0.125",
    } | fields


RUNS = [
    run(
        3,
        "llm",
        "s1",
        ("00.400000", "01.900000"),
        inputs={"messages": [{"role": "user", "content": "a prompt"}]},
        outputs={"generations": [[{"text": "18 EUR"}]]},
    ),
    run(2, "retriever", "s1", ("00.100000", "00.350000"), inputs={"query": "night fee"}, outputs={"documents": DOCUMENTS}),
    run(
        1,
        "chain",
        None,
        ("00", "02"),
        inputs={"question": "fee for one night?"},
        outputs={"answer": "18 EUR"},
        feedback_stats={"helpful": {"n": 2, "avg": 0.5}},
    ),
]
FEEDBACK = {"run_id": "s1", "key": "user_score", "score": 1, "value": None, "comment": "thanks", "feedback_source": {"type": "app"}}


def test_langsmith_runs_and_feedback(tmp_path: Path) -> None:
    expected = COMMON | {
        "cost": 0.125,
        "versions": {"revision_id": "abc"},
        "evaluations": [{"name": "helpful", "score": 0.5}],
        "feedback": [{"kind": "thumb", "value": 1, "text": "thanks"}],
    }
    write_lines(tmp_path / "feedback.jsonl", FEEDBACK)
    (tmp_path / "runs.json").write_text(json.dumps({"runs": RUNS}), "utf-8")
    assert one(read_traces(tmp_path), "langsmith") == expected
    (tmp_path / "runs.json").unlink()
    texts = ("inputs", "outputs", "extra", "feedback_stats")
    rows = [{key: json.dumps(item) if key in texts else item for key, item in row.items()} for row in RUNS]
    pd.DataFrame(rows).to_parquet(tmp_path / "runs.parquet")
    assert one(read_traces(tmp_path), "langsmith") == expected


def phoenix(place: int, kind: str, parent: str | None, times: tuple[str, str], **attributes: Any) -> dict[str, Any]:
    return {
        "name": kind.lower(),
        "span_kind": kind,
        "parent_id": parent,
        "start_time": f"2026-11-01T12:00:{times[0]}+00:00",
        "end_time": f"2026-11-01T12:00:{times[1]}+00:00",
        "status_code": "OK",
        "status_message": "",
        "context.span_id": f"s{place}",
        "context.trace_id": "t1",
    } | {f"attributes.{name.replace('__', '.')}": value for name, value in attributes.items()}


FLAT = [
    {
        "document.content": document["page_content"],
        "document.metadata": document["metadata"],
        **({"document.score": 0.62} if "score" in document["metadata"] else {}),
    }
    for document in DOCUMENTS
]
ABOUT = {"session__id": "c-1", "user__id": "u-1", "metadata": {"release": "2.1.0"}}
PHOENIX = [
    phoenix(2, "RETRIEVER", "s1", ("00.100000", "00.350000"), input__value="night fee", retrieval__documents=FLAT),
    phoenix(
        3,
        "LLM",
        "s1",
        ("00.400000", "01.900000"),
        llm__model_name="small-model",
        llm__token_count__prompt=212,
        llm__token_count__completion=14,
        llm__output_messages=[{"message.role": "assistant", "message.content": "18 EUR"}],
    ),
    phoenix(1, "CHAIN", None, ("00", "02"), input__value="fee for one night?", output__value="18 EUR", **ABOUT),
]
ANNOTATION = {"span_id": "s1", "name": "correct", "annotator_kind": "HUMAN", "result": {"score": 1.0, "label": "yes", "explanation": None}}


def nested(row: dict[str, Any]) -> dict[str, Any]:
    """A span of the REST interface."""
    attributes = {key.removeprefix("attributes."): value for key, value in row.items() if key.startswith("attributes.")}
    kept = {key: value for key, value in row.items() if not key.startswith(("attributes.", "context."))}
    return kept | {"attributes": attributes, "context": {"trace_id": "t1", "span_id": row["context.span_id"]}}


def test_phoenix_spans_and_annotations(tmp_path: Path) -> None:
    expected = COMMON | {
        "versions": {"release": "2.1.0"},
        "evaluations": [{"name": "correct", "score": 1.0, "label": "yes", "judge": "HUMAN"}],
    }
    write_lines(tmp_path / "annotations.jsonl", ANNOTATION)
    table = [row | {key: pd.Timestamp(row[key]) for key in ("start_time", "end_time")} for row in PHOENIX]
    pd.DataFrame(table).to_parquet(tmp_path / "spans.parquet")
    assert one(read_traces(tmp_path), "phoenix") == expected
    (tmp_path / "spans.parquet").unlink()
    (tmp_path / "spans.json").write_text(json.dumps({"data": list(map(nested, PHOENIX)), "next_cursor": None}), "utf-8")
    assert one(read_traces(tmp_path), "phoenix") == expected


def mlflow_span(place: int, kind: str, parent: int | None, times: tuple[float, float], **attributes: Any) -> dict[str, Any]:
    def identity(number: int) -> str:
        return base64.b64encode(bytes([number]) * 8).decode()

    begin = int(datetime.fromisoformat("2026-11-01T12:00:00+00:00").timestamp())
    return {
        "trace_id": base64.b64encode(bytes([9]) * 16).decode(),
        "span_id": identity(place),
        "parent_span_id": None if parent is None else identity(parent),
        "name": kind.lower(),
        "start_time_unix_nano": begin * 10**9 + int(times[0] * 1e9),
        "end_time_unix_nano": begin * 10**9 + int(times[1] * 1e9),
        "status": {"code": "STATUS_CODE_OK", "message": ""},
        "attributes": {"mlflow.spanType": json.dumps(kind)}
        | {name.replace("__", "."): json.dumps(value) for name, value in attributes.items()},
    }


MLFLOW_SPANS = [
    mlflow_span(1, "CHAIN", None, (0, 2), mlflow__spanInputs={"question": "fee for one night?"}, mlflow__spanOutputs="18 EUR"),
    mlflow_span(
        2,
        "RETRIEVER",
        1,
        (0.125, 0.375),
        mlflow__spanInputs={"query": "night fee"},
        mlflow__spanOutputs=[{"page_content": item["page_content"], "metadata": item["metadata"], "id": None} for item in DOCUMENTS],
    ),
    mlflow_span(
        3,
        "CHAT_MODEL",
        1,
        (0.5, 2),
        mlflow__spanOutputs={"choices": [{"message": {"role": "assistant", "content": "18 EUR"}}]},
        mlflow__chat__tokenUsage={"input_tokens": 212, "output_tokens": 14},
        mlflow__llm__model="small-model",
    ),
]
ASSESSMENTS = [
    {
        "assessment_name": "grounded",
        "source": {"source_type": "LLM_JUDGE"},
        "feedback": {"value": "yes"},
        "rationale": "it is",
        "valid": True,
    },
    {"assessment_name": "old", "source": {"source_type": "CODE"}, "feedback": {"value": 0.5}, "valid": False},
    {"assessment_name": "wanted", "source": {"source_type": "HUMAN"}, "expectation": {"value": "18 EUR"}},
    {"assessment_name": "failed", "source": {"source_type": "CODE"}, "feedback": {"value": None, "error": {"error_code": "TIMEOUT"}}},
]
METADATA = {"mlflow.trace.session": "c-1", "mlflow.trace.user": "u-1", "mlflow.trace.tokenUsage": '{"input_tokens": 1, "output_tokens": 1}'}
MLFLOW = COMMON | {
    "span_id": "t1",
    "versions": {"release": "2.1.0"},
    "evaluations": [
        {"name": "grounded", "label": "yes", "explanation": "it is", "judge": "LLM_JUDGE"},
        {"name": "failed", "judge": "CODE", "error": "TIMEOUT"},
    ],
}


def test_mlflow_traces_as_rows_and_as_json(tmp_path: Path) -> None:
    row = {
        "trace_id": "t1",
        "state": "OK",
        "request_time": 1_793_534_400_000,
        "execution_duration": 2000,
        "request": '{"question": "fee for one night?"}',
        "response": '"18 EUR"',
        "trace_metadata": METADATA,
        "tags": {"release": "2.1.0", "mlflow.traceName": "rag"},
        "spans": MLFLOW_SPANS,
        "assessments": ASSESSMENTS,
    }
    assert one(read_traces(write_lines(tmp_path / "rows.jsonl", row)), "mlflow") == MLFLOW
    frame = pd.DataFrame([{key: json.dumps(item) if isinstance(item, list) else item for key, item in row.items()}])
    frame.to_parquet(tmp_path / "rows.parquet")
    assert one(read_traces(tmp_path / "rows.parquet"), "mlflow") == MLFLOW
    info = {
        "trace_id": "t1",
        "request_time": "2026-11-01T12:00:00.000Z",
        "execution_duration_ms": 2000,
        "state": "OK",
        "trace_metadata": METADATA,
        "tags": {"release": "2.1.0"},
        "assessments": ASSESSMENTS,
        "request_preview": '{"question": "fee for one night?"}',
        "response_preview": '"18 EUR"',
    }
    (tmp_path / "trace.json").write_text(json.dumps({"info": info, "data": {"spans": MLFLOW_SPANS}}), "utf-8")
    assert one(read_traces(tmp_path / "trace.json"), "mlflow") == MLFLOW


def test_an_mlflow_trace_of_version_2_without_spans_has_its_tokens(tmp_path: Path) -> None:
    row = {
        "request_id": "t1",
        "timestamp_ms": 1_793_534_400_000,
        "status": "ERROR",
        "execution_time_ms": 500,
        "request": '{"question": "fee?"}',
        "response": None,
        "request_metadata": METADATA,
    }
    found = one(read_traces(write_lines(tmp_path / "rows.jsonl", row)), "mlflow")
    assert (found["error"], found["seconds"], found["input_tokens"]) == ("the span has an error", 0.5, 1)


def test_times_are_read_in_every_form() -> None:
    expected = 1_793_534_400_250_000_000
    forms = ["2026-11-01 12:00:00.250000", "2026-11-01T12:00:00.25Z", "2026-11-01T13:00:00.250+01:00", 1_793_534_400.25, 1_793_534_400_250]
    assert [nanoseconds(form) for form in [*forms, 1_793_534_400_250_000, expected, str(expected)]] == [expected] * 8
    assert [nanoseconds(form) for form in (None, "", "soon", True, -5, 10**400, [], float("inf"))] == [0] * 8
