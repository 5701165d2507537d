"""Exports of tools with traces and files of OpenTelemetry are recorded results: what the monitor reads, one result for each trace."""

import contextlib
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.fuzzing import check_examples, few_or_many
from tests.monitor.traces.conftest import request, span, write_lines
from tests.monitor.traces.test_exports import HITS, MLFLOW_SPANS, OBSERVATIONS, PHOENIX, RUNS, SCORES
from tests.monitor.traces.test_reading import KEYS, KINDS, SPANS, VALUES
from tests.systems.recorded.conftest import answer, search
from workbench.core.errors import InputError
from workbench.core.records import Query, TargetHit
from workbench.systems.base import TargetError
from workbench.systems.recorded.target import RecordedTarget

FEE = Query("q1", "fee for one night?")
TRACE = {"trace_id": "t1", "request_time": 1_793_534_400_000, "trace_metadata": {}, "tags": {}, "request": "", "response": ""}


@pytest.mark.parametrize(
    ("tool", "rows"),
    [
        ("langfuse", [*OBSERVATIONS, *SCORES]),
        ("langsmith", RUNS),
        ("phoenix", PHOENIX),
        ("mlflow", [TRACE | {"spans": MLFLOW_SPANS}]),
    ],
)
def test_the_same_trace_is_the_same_result_in_every_export(recorded, tool: str, rows: list[dict[str, Any]]) -> None:
    for target in (recorded("a.jsonl", rows), recorded("b.jsonl", rows, format=tool), recorded("c.json", rows)):
        assert [(hit.text, dict(hit.metadata)) for hit in search(target, FEE)] == [(hit["text"], hit["metadata"]) for hit in HITS]
        assert (answer(target, FEE).text, target.identity()["format"]) == ("18 EUR", tool)


def test_a_span_of_phoenix_without_attributes_is_part_of_its_trace(recorded) -> None:
    bare = {key: value for key, value in PHOENIX[1].items() if not key.startswith("attributes.")} | {"context.span_id": "s9"}
    assert answer(recorded("a.jsonl", [bare, *PHOENIX]), FEE).text == "18 EUR"


def test_values_of_another_kind_are_no_crash(recorded) -> None:
    rows = [row | {"context.trace_id": [], "parent_id": {}, "start_time": [], "span_kind": 5} for row in PHOENIX]
    assert answer(recorded("a.jsonl", rows), FEE).text == "18 EUR"


def test_a_trace_of_mlflow_in_json_is_one_row(recorded) -> None:
    info = {name: value for name, value in TRACE.items() if name not in ("request", "response")}
    target = recorded("trace.json", {"info": info, "data": {"spans": MLFLOW_SPANS}})
    assert (answer(target, FEE).text, len(search(target, FEE))) == ("18 EUR", 2)


def test_a_table_of_an_evaluation_of_mlflow_is_read(recorded) -> None:
    # As `mlflow.genai.evaluate(...).tables["eval_results"]` has it.
    row = TRACE | {"request": {"question": FEE.text}, "response": {"answer": "18 EUR", "contexts": ["18 EUR."]}, "recall/value": 1.0}
    target = recorded("a.jsonl", [row | {"trace": "{}", "spans": [], "assessments": []}])
    assert (answer(target, FEE).text, search(target, FEE)) == ("18 EUR", (TargetHit(text="18 EUR."),))
    # As `mlflow.log_table` writes a table.
    table = {"columns": ["question", "answer", "contexts"], "data": [[FEE.text, "18 EUR", ["18 EUR."]]]}
    assert search(recorded("table.json", table), FEE) == (TargetHit(text="18 EUR."),)


# As opik 2.2 writes a trace in `opik export`.
OPIK_TRACE = {
    "id": "t1",
    "project_id": "p",
    "name": "rag",
    "start_time": "2026-11-01 12:00:00+00:00",
    "end_time": "2026-11-01 12:00:02+00:00",
    "input": {"query": FEE.text},
    "output": {"output": "18 EUR"},
    "error_info": None,
    "usage": None,
    "thread_id": "c-1",
    "feedback_scores": [{"name": "faithful", "value": 0.5, "reason": "half", "source": "sdk"}],
}
OPIK_SPANS = [
    {"id": "s1", "trace_id": "t1", "parent_span_id": None, "name": "retrieve", "type": "tool", "start_time": "2026-11-01 12:00:00+00:00"}
    | {"input": {"query": FEE.text}, "output": {"output": ["18 EUR."]}, "error_info": None},
    {"id": "s2", "trace_id": "t1", "parent_span_id": None, "name": "generate", "type": "llm", "start_time": "2026-11-01 12:00:01+00:00"}
    | {"input": {"messages": []}, "output": {"output": "18 EUR"}, "error_info": None, "usage": {"prompt_tokens": 7}},
]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("trace.json", {"trace": OPIK_TRACE, "spans": OPIK_SPANS, "downloaded_at": "2026", "project_name": "p"}),
        ("traces.jsonl", [{"trace": OPIK_TRACE, "spans": OPIK_SPANS}]),
        ("spans.jsonl", [*OPIK_SPANS, OPIK_TRACE]),
        (
            "experiment.json",
            {
                "experiment": {"id": "e", "dataset_name": "d"},
                "items": [
                    {"id": "i1", "dataset_item_id": "d1", "trace_id": "t1", "dataset_item_data": {"question": FEE.text, "expected": "18"}}
                    | {"evaluation_task_output": {"output": "18 EUR", "context": ["18 EUR."]}, "feedback_scores": []}
                ],
            },
        ),
    ],
)
def test_exports_of_opik_are_read(recorded, file: str, content: Any) -> None:
    target = recorded(file, content)
    assert (search(target, FEE), answer(target, FEE).text) == ((TargetHit(text="18 EUR."),), "18 EUR")
    assert target.identity()["format"] == "opik"


def test_a_trace_of_opik_with_an_error_is_no_answer(recorded) -> None:
    failed = OPIK_TRACE | {"output": None, "error_info": {"exception_type": "TimeoutError", "message": "30 s", "traceback": "…"}}
    with pytest.raises(TargetError, match="the recorded request failed: 30 s"):
        answer(recorded("a.json", {"trace": failed, "spans": []}), FEE)


def trulens_event(place: int, parent: str, kind: str, **attributes: Any) -> dict[str, Any]:
    """An event as `session.get_events` of trulens-core 2.16 has it."""
    own = {f"ai.observability.{name}": value for name, value in {"span_type": kind, "app_name": "rag"}.items()}
    return {
        "record": {"name": f"RAG.{kind}", "kind": 1, "parent_span_id": parent, "status": "STATUS_CODE_UNSET"},
        "event_id": str(place),
        "record_attributes": own | {f"ai.observability.{name.replace('__', '.')}": value for name, value in attributes.items()},
        "record_type": {"name": "SPAN", "value": "SPAN"},
        "start_timestamp": 1_793_534_400_000 + place,
        "timestamp": 1_793_534_401_000,
        "trace": {"trace_id": "7", "parent_id": parent, "span_id": str(place)},
    }


TRULENS = [
    trulens_event(2, "1", "retrieval", retrieval__query_text="night fee", retrieval__retrieved_contexts=["18 EUR."]),
    trulens_event(3, "1", "generation", call__return="18 EUR"),
    trulens_event(1, "", "record_root", record_root__input=FEE.text, record_root__output="18 EUR"),
    trulens_event(9, "", "eval_root", eval_root__score=0.5) | {"trace": {"trace_id": "8", "parent_id": "", "span_id": "9"}},
]


@pytest.mark.parametrize("content", ["rows", "texts"])
def test_events_of_trulens_are_read(recorded, content: str) -> None:
    rows = TRULENS if content == "rows" else [{name: str(value) for name, value in row.items()} for row in TRULENS]
    target = recorded("a.jsonl", rows)
    assert (search(target, FEE), answer(target, FEE).text) == ((TargetHit(text="18 EUR."),), "18 EUR")
    assert target.identity()["format"] == "trulens"


def test_records_of_trulens_have_answers_without_documents(recorded) -> None:
    row = {"app_id": "a", "record_id": "r1", "input_id": "", "input": FEE.text, "output": "18 EUR", "ts": 1_793_534_400_000}
    target = recorded("a.jsonl", [row])
    assert (answer(target, FEE).text, target.searches, target.identity()["format"]) == ("18 EUR", False, "trulens")


@pytest.mark.parametrize("name", ["otel-genai.otlp.jsonl", "otel-genai.otlp.pb"])
def test_a_file_of_the_official_sdk_is_a_target(big_data, name: str) -> None:
    target = RecordedTarget(name="harbour", path=str(big_data("traces") / name))
    assert (target.searches, target.answers, target.identity()["format"]) == (True, True, "otlp")
    berth = Query("a", "How much is a berth for one night?")
    assert list(search(target, berth)) == [TargetHit("berths.md#3", score=0.81), TargetHit("fees.md#1", score=0.62)]
    assert answer(target, berth).text == "A night costs 18 EUR [fees.md#1]."
    # Two searches found the same document twice, with two scores.
    hits = search(target, Query("b", "And for a boat of 14 metres – à quai?"))
    assert [hit.doc_id for hit in hits] == ["fees.md#4", "fees.md#1", "berths.md#3", "berths.md#3", "fees.md#1"]
    assert list(search(target, Query("c", "Is there a sauna?"))) == []
    with pytest.raises(TargetError, match="the recorded request failed: TimeoutError: model did not answer in 30 s"):
        answer(target, Query("d", "When is the office open?"))


def test_a_file_of_openinference_is_a_target(big_data, tmp_path: Path) -> None:
    shutil.copy(big_data("traces") / "openinference-langchain.otlp.jsonl", tmp_path / "traces.jsonl")
    target = RecordedTarget(name="harbour", path=str(tmp_path / "traces.jsonl"))
    assert [hit.doc_id for hit in search(target, Query("a", "How much is a berth for one night?"))] == ["berths.md#3", "fees.md#1"]
    assert list(search(target, Query("b", "Is there a sauna?"))) == []
    assert answer(target, Query("c", "fee for a 14 metre boat")).text == "27 EUR"


ROOT = span(
    0, None, {"openinference.span.kind": "CHAIN", "input.value": FEE.text, "output.value": "18 EUR", "metadata": '{"query_id": "q7"}'}
)


def test_a_question_has_the_id_of_its_metadata_and_fields_are_attributes(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "t.jsonl", request(ROOT, resource={"service.name": "x"}), request(ROOT))
    assert answer(RecordedTarget(name="a", path=str(file)), Query("q7", FEE.text)).text == "18 EUR"
    file = write_lines(
        tmp_path / "t.jsonl", request(span(0, None, {"my.question": FEE.text, "input.value": "[]", "output.value": "18 EUR"}))
    )
    with pytest.raises(InputError, match=r"t.jsonl:1 has no question in its attributes; its keys are 'my.question'"):
        RecordedTarget(name="a", path=str(file)).check()
    assert answer(RecordedTarget(name="a", path=str(file), fields={"question": "my.question"}), FEE).text == "18 EUR"


def test_fields_name_attributes_of_ones_own(tmp_path: Path) -> None:
    own = span(0, None, {"gen_ai.operation.name": "chat", "my.question": FEE.text, "my.answer": "18 EUR"})
    file = write_lines(tmp_path / "t.jsonl", request(own))
    fields = {"question": "my.question", "answer": "my.answer"}
    assert answer(RecordedTarget(name="a", path=str(file), fields=fields), FEE).text == "18 EUR"


def test_traces_that_record_no_text_are_left_out_unless_they_are_of_a_model(tmp_path: Path) -> None:
    health = span(0, None, {"http.request.method": "GET"}) | {"traceId": "1" * 32}
    file = write_lines(tmp_path / "t.jsonl", request(ROOT, health))
    assert answer(RecordedTarget(name="a", path=str(file)), Query("q7", FEE.text)).text == "18 EUR"
    file = write_lines(tmp_path / "t.jsonl", request(ROOT, span(1, None, {"gen_ai.operation.name": "chat"}) | {"traceId": "1" * 32}))
    with pytest.raises(InputError, match="a trace whose question was not captured; set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"):
        RecordedTarget(name="a", path=str(file)).check()


@few_or_many(100, 20_000)
def test_no_rows_raise_anything_but_an_input_error(examples: int, tmp_path: Path) -> None:
    places = iter(range(10**6))

    def read(rows: list[dict[str, Any]]) -> None:
        file = write_lines(tmp_path / f"{next(places)}.jsonl", *rows)
        with contextlib.suppress(InputError):
            target = RecordedTarget(name="a", path=str(file))
            target.check()
            assert target.identity()["format"]
        file.unlink()

    rows = st.dictionaries(st.sampled_from(KEYS), KINDS | VALUES, min_size=3)
    check_examples(examples, st.lists(rows | SPANS, min_size=1, max_size=5), read)


def test_several_traces_of_a_question_are_one_line(tmp_path: Path) -> None:
    again = span(0, None, {"input.value": FEE.text, "output.value": "19 EUR", "metadata.query_id": "q7"}) | {"traceId": "1" * 32}
    file = write_lines(tmp_path / "t.jsonl", request(ROOT), request(again))
    with pytest.raises(InputError, match=r"t.jsonl:2 has another result for the id 'q7' of .*t.jsonl:1; remove one of them$"):
        RecordedTarget(name="a", path=str(file)).check()


def test_a_broken_file_of_traces_is_one_line(recorded, wording) -> None:
    broken = [
        ("a.pb", "garbage"),
        ("a.jsonl", [request(ROOT | {"spanId": "x"})]),
        ("a.jsonl", [{"resourceSpans": [3]}]),
        ("a.jsonl", [{"resourceSpans": []}]),
        ("a.jsonl", [RUNS[2], RUNS[2] | {"outputs": {"answer": "19 EUR"}}]),
    ]
    wording(lambda case: recorded(*case).check(), broken)
