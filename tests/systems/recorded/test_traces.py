"""Exports of LangSmith and Phoenix: the spans of a trace are one result."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.systems.recorded.conftest import BERTH, PILOT, answer, search
from workbench.core.records import Query, TargetHit
from workbench.systems.base import TargetDownError, TargetError
from workbench.systems.recorded.target import RecordedTarget

QUAY = TargetHit("quay", "A berth is a place.", 0.5, metadata={"source": "quay.md"})


def span(place: int, kind: str, parent: str | None, **attributes: object) -> dict[str, object]:
    """A row of Phoenix's `get_spans_dataframe()`."""
    return {
        "name": kind.lower(),
        "span_kind": kind,
        "parent_id": parent,
        "start_time": datetime(2026, 11, 1, 12, 0, place, tzinfo=UTC).isoformat(),
        "status_code": "UNSET",
        "status_message": "",
        "events": [],
        "context.span_id": f"s{place}",
        "context.trace_id": "t1",
        "attributes.openinference.span.kind": kind,
        "attributes.input.value": BERTH.text,
        "attributes.output.value": None,
        "attributes.retrieval.documents": None,
        "attributes.reranker.output_documents": None,
        "attributes.metadata": None,
    } | {f"attributes.{name.replace('__', '.')}": value for name, value in attributes.items()}


DOCUMENT = {
    "document.id": "quay",
    "document.content": "A berth is a place.",
    "document.score": 0.5,
    "document.metadata": {"source": "quay.md"},
}
OTHER = {"document.id": "harbour", "document.content": "Ships lie.", "document.score": 0.4}
SPANS = [
    span(3, "LLM", "s1", input__value="a prompt", output__value="A place."),
    span(2, "RETRIEVER", "s1", retrieval__documents=[DOCUMENT, OTHER]),
    span(1, "CHAIN", None, input__value=json.dumps({"question": BERTH.text}), output__value=json.dumps({"answer": "A place."})),
]


def test_phoenix_gives_the_question_and_answer_of_a_trace_and_the_documents_of_its_retriever(recorded, tmp_path: Path) -> None:
    pq.write_table(
        pa.Table.from_pylist([row | {"start_time": datetime.fromisoformat(str(row["start_time"]))} for row in SPANS]),
        tmp_path / "s.parquet",
    )
    for target in (recorded("spans.jsonl", SPANS), RecordedTarget(name="other", path=str(tmp_path / "s.parquet"))):
        assert list(search(target)) == [QUAY, TargetHit("harbour", "Ships lie.", 0.4)]
        assert (answer(target).text, target.identity()["format"]) == ("A place.", "phoenix")
        assert answer(target).sources == tuple(search(target))


def test_the_last_reranker_precedes_retrievers_and_documents_of_several_retrievers_are_joined(recorded) -> None:
    second = span(4, "RETRIEVER", "s1", retrieval__documents=[OTHER, DOCUMENT | {"document.id": "pier"}])
    assert [hit.doc_id for hit in search(recorded("a.jsonl", [second, *SPANS]))] == ["quay", "harbour", "pier"]
    rerankers = [span(place, "RERANKER", "s1", reranker__output_documents=[document]) for place, document in ((6, DOCUMENT), (5, OTHER))]
    assert list(search(recorded("b.jsonl", [*SPANS, *rerankers]))) == [QUAY]


def test_a_retriever_without_documents_found_nothing_if_other_retrievers_have_some(recorded) -> None:
    silent, failed = (
        {**row, "context.trace_id": trace, "attributes.input.value": PILOT.text, "status_code": status}
        for row, trace, status in ((span(1, "RETRIEVER", None), "t2", "UNSET"), (span(1, "RETRIEVER", None), "t3", "ERROR"))
    )
    assert list(search(recorded("a.jsonl", [*SPANS, silent]), PILOT)) == []
    with pytest.raises(TargetError, match="the span has an error"):
        search(recorded("b.jsonl", [*SPANS, failed]), PILOT)
    with pytest.raises(TargetDownError, match="neither hits nor answers"):
        search(recorded("c.jsonl", [silent]), PILOT)


def test_spans_as_they_were_sent_are_read(recorded) -> None:
    def sent(row: dict[str, object], attributes: dict[str, object]) -> dict[str, object]:
        kept = {key: row[key] for key in ("name", "span_kind", "parent_id", "start_time", "status_code")}
        return kept | {"context": {"trace_id": "t1", "span_id": row["context.span_id"]}, "attributes": attributes}

    documents = {
        "retrieval.documents.0.document.id": "quay",
        "retrieval.documents.0.document.metadata.source": "quay.md",
        "retrieval.documents.0.document.score": 0.5,
        "retrieval.documents.0.document.content": "A berth is a place.",
        "retrieval.documents.1.document.content": "Ships lie.",
    }
    root = {"metadata.query_id": "q1", "input.value": "another wording", "output.value": "A place."}
    target = recorded("spans.json", [sent(SPANS[1], {"input.value": BERTH.text} | documents), sent(SPANS[2], root)])
    assert list(search(target, Query("q1", "another wording"))) == [QUAY, TargetHit(text="Ships lie.")]
    assert answer(target, Query("an id of the dataset", "another wording")).text == "A place."


def test_a_trace_that_is_a_retriever_alone_has_no_answer(recorded) -> None:
    target = recorded("a.jsonl", [SPANS[1] | {"parent_id": "elsewhere", "attributes.output.value": "[…]"}])
    assert (target.searches, target.answers) == (True, False)


def test_a_span_with_an_error_is_a_failure_of_its_question(recorded) -> None:
    failed = span(1, "CHAIN", None) | {"status_code": "ERROR", "status_message": "no reply"}
    with pytest.raises(TargetError, match=r"^the recorded request failed: no reply$"):
        answer(recorded("a.jsonl", [failed]))


# As LangSmith writes runs, and as its SDK prints them in JSON.
RUNS = [
    {
        "id": "r1",
        "name": "rag",
        "run_type": "chain",
        "trace_id": "r1",
        "parent_run_id": None,
        "start_time": "2026-11-01T12:00:01",
        "inputs": {"question": BERTH.text},
        "outputs": {"answer": "A place."},
        "error": None,
    },
    {
        "id": "r2",
        "name": "retriever",
        "run_type": "retriever",
        "trace_id": "r1",
        "parent_run_id": "r1",
        "start_time": "2026-11-01T12:00:02",
        "inputs": {"query": BERTH.text},
        "outputs": {
            "documents": [
                {"id": None, "page_content": "A berth is a place.", "metadata": {"doc_id": "quay"}, "type": "Document"},
                {
                    "lc": 1,
                    "type": "constructor",
                    "id": ["langchain", "schema", "document", "Document"],
                    "kwargs": {"page_content": "Ships lie.", "metadata": {"source": "harbour.md"}},
                },
            ]
        },
    },
]
DOCUMENTS = [
    TargetHit("quay", "A berth is a place.", metadata={"doc_id": "quay"}),
    TargetHit(text="Ships lie.", metadata={"source": "harbour.md"}),
]


def test_langsmith_gives_the_inputs_and_outputs_of_a_trace_and_the_documents_of_its_retriever(recorded, tmp_path: Path) -> None:
    texts = [row | {key: json.dumps(row[key]) for key in ("inputs", "outputs")} for row in RUNS]
    pq.write_table(pa.Table.from_pylist(texts), tmp_path / "runs.parquet")
    for target in (
        recorded("runs.jsonl", RUNS),
        recorded("runs.json", RUNS),
        RecordedTarget(name="other", path=str(tmp_path / "runs.parquet")),
    ):
        assert list(search(target)) == DOCUMENTS
        assert (answer(target).text, target.identity()["format"]) == ("A place.", "langsmith")


def test_columns_of_an_experiment_of_langsmith_are_read(recorded) -> None:
    text = "inputs.question,outputs.answer,outputs.documents,error,reference.answer,feedback.correct,example_id,id\n"
    text += f"{BERTH.text},A place.,\"[{{'page_content': 'one', 'metadata': {{}}}}]\",,x,1,e1,r1\n"
    text += f"{PILOT.text},,,TimeoutError('late'),y,0,e2,r2\n"
    target = recorded("experiment.csv", text)
    assert (list(search(target)), answer(target).text) == ([TargetHit(text="one")], "A place.")
    with pytest.raises(TargetError, match=r"^the recorded request failed: TimeoutError\('late'\)$"):
        answer(target, PILOT)


def test_messages_of_a_chat_are_a_question_and_an_answer(recorded) -> None:
    serialized = {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": {"content": "A place.", "type": "ai"}}
    rows = [
        {
            "inputs": {"messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": BERTH.text}]},
            "outputs": {"messages": [{"type": "human", "content": BERTH.text}, serialized]},
        },
        {
            "inputs": {"messages": [[{"type": "human", "content": [{"type": "text", "text": PILOT.text}]}]]},
            "outputs": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "The ship."}}]},
            "metadata": {"query_id": "q2"},
        },
    ]
    target = recorded("examples.jsonl", rows)
    assert (answer(target).text, answer(target, PILOT).text) == ("A place.", "The ship.")


def test_a_bad_span_is_one_line(recorded, wording) -> None:
    wording(
        lambda row: recorded("a.jsonl", [row]).check(),
        [
            {"inputs": {"a": "x", "b": "y"}},
            {"inputs": "['a' 'b']"},
            {"inputs": {"question": "x"}, "outputs": {"documents": [{"colour": 1}]}},
            {"inputs": {"question": "x"}, "outputs": {"documents": [3]}},
        ],
    )
