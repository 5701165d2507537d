"""Files of traces become rows of a log: every field of the official files, files of our own, and hostile ones."""

import gzip
import io
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.fuzzing import check_examples, few_or_many
from tests.monitor.traces.conftest import request, span, write_lines
from workbench.core.errors import InputError
from workbench.monitor.log.fields import row_fault
from workbench.monitor.traces import bounded_lines, read_traces
from workbench.systems.recorded.traces.trace import NOT_CAPTURED

BERTHS, FEES = {"doc_id": "berths.md#3", "score": 0.81}, {"doc_id": "fees.md#1", "score": 0.62}
VERSIONS = {"release": "2.1.0", "environment": "test", "index": "harbour-docs", "embedder": "text-embedding-3-small"}
MODEL = "gpt-4.1-mini-2025-04-14"


def rated(score: float, label: str = "partly", explanation: str = "one claim of two is supported") -> dict[str, Any]:
    return {"name": "faithfulness", "score": score, "label": label, "explanation": explanation}


GENAI_ROWS = [
    {
        "id": "b64491499c842170ce26a7bb98c2d6d2",
        "time": "2026-11-26T13:13:41.552723Z",
        "query": "How much is a berth for one night?",
        "rewritten": "berth fee one night",
        "hits": [BERTHS | {"hop": 0}, FEES | {"hop": 0}],
        "hops": [{"query": "berth fee one night", "seconds": 148_832e-9}],
        "answer": "A night costs 18 EUR [fees.md#1].",
        "model": MODEL,
        "truncated": False,
        "input_tokens": 212,
        "output_tokens": 14,
        "embedding_seconds": 76_023e-9,
        "retrieval_seconds": 148_832e-9,
        "generation_seconds": 234_972e-9,
        "seconds": 1_036_208e-9,
        "versions": VERSIONS,
        "user": "u-17",
        "session": "conv-1",
        "turn": 1,
        "evaluations": [rated(0.5)],
        "trace_id": "b64491499c842170ce26a7bb98c2d6d2",
        "span_id": "526bf03969277e7d",
    },
    {
        "id": "3458983b4037fc8b0aa499d2fd356704",
        "time": "2026-11-26T13:13:41.553817Z",
        "query": "And for a boat of 14 metres – à quai?",
        "rewritten": "berth fee 14 metre boat",
        "hits": [
            {"doc_id": "fees.md#4", "score": 0.77, "hop": 0},
            {"doc_id": "fees.md#1", "score": 0.6, "hop": 0},
            {"doc_id": "berths.md#3", "score": 0.41, "hop": 0},
            BERTHS | {"hop": 1},
            FEES | {"hop": 1},
        ],
        "hops": [{"query": "berth fee 14 metre boat", "seconds": 77_425e-9}, {"query": "surcharge by length", "seconds": 178_993e-9}],
        "answer": "27 EUR with the surcharge for length [fees.md#4].",
        "model": MODEL,
        "truncated": False,
        "input_tokens": 341,
        "output_tokens": 19,
        "embedding_seconds": 113_775e-9,
        "retrieval_seconds": 256_418e-9,
        "generation_seconds": 255_414e-9,
        "seconds": 11_241_583e-9,
        "versions": VERSIONS,
        "user": "u-17",
        "session": "conv-1",
        "turn": 2,
        "evaluations": [rated(0.5)],
        "trace_id": "3458983b4037fc8b0aa499d2fd356704",
        "span_id": "f8e855578a2fba52",
    },
    {
        "id": "d944bff48883e2419bea32764b97a530",
        "time": "2026-11-26T13:13:41.565131Z",
        "query": "Is there a sauna?",
        "rewritten": "sauna",
        "hits": [],
        "hops": [{"query": "sauna", "seconds": 45_284e-9}],
        "answer": "I cannot find this in the documents.",
        "model": MODEL,
        "truncated": False,
        "input_tokens": 98,
        "output_tokens": 9,
        "embedding_seconds": 38_898e-9,
        "retrieval_seconds": 45_284e-9,
        "generation_seconds": 192_412e-9,
        "seconds": 851_395e-9,
        "versions": VERSIONS,
        "user": "u-4",
        "session": "conv-2",
        "turn": 1,
        "evaluations": [rated(0.5)],
        "trace_id": "d944bff48883e2419bea32764b97a530",
        "span_id": "6dbc103ee8949a2b",
    },
    {
        "id": "32e43534d6e3d580e67d72b7efeafbb1",
        "time": "2026-11-26T13:13:41.566038Z",
        "query": "When is the office open?",
        "rewritten": "office opening hours",
        "hits": [BERTHS | {"hop": 0}, FEES | {"hop": 0}],
        "hops": [{"query": "office opening hours", "seconds": 68_985e-9}],
        "error": "TimeoutError: model did not answer in 30 s",
        "model": "gpt-4.1-mini",
        "embedding_seconds": 34_871e-9,
        "retrieval_seconds": 68_985e-9,
        "generation_seconds": 197_011e-9,
        "seconds": 569_613e-9,
        "versions": VERSIONS,
        "user": "u-4",
        "session": "conv-2",
        "turn": 2,
        "evaluations": [rated(0.0)],
        "trace_id": "32e43534d6e3d580e67d72b7efeafbb1",
        "span_id": "a709de3dafe747b5",
    },
]
BERTH_TEXT, FEE_TEXT = "Visitors use berths B1 to B20.", "A night costs 18 EUR up to 12 metres."
OPENINFERENCE_ROWS = [
    {
        "id": "5a40dbdb7dafb796a9c9fa349fe202bc",
        "time": "2026-11-26T13:28:24.595362Z",
        "query": "How much is a berth for one night?",
        "hits": [
            BERTHS | {"text": BERTH_TEXT, "hop": 0, "metadata": {"source": "berths.md", "score": 0.81}},
            FEES | {"text": FEE_TEXT, "hop": 0, "metadata": {"source": "fees.md", "relevance_score": 0.62}},
        ],
        "hops": [{"query": "How much is a berth for one night?", "seconds": 315_136e-9}],
        "answer": "A night costs 18 EUR [fees.md#1].",
        "input_tokens": 212,
        "output_tokens": 14,
        "retrieval_seconds": 315_136e-9,
        "generation_seconds": 1_455_872e-9,
        "seconds": 7_342_080e-9,
        "versions": {"release": "2.1.0"},
        "user": "u-17",
        "session": "conv-1",
        "turn": 1,
        "trace_id": "5a40dbdb7dafb796a9c9fa349fe202bc",
        "span_id": "2c7a2dca31b76d9b",
    },
    {
        "id": "239ee86f19b91131438ce6bcd832cc26",
        "time": "2026-11-26T13:28:24.603030Z",
        "query": "Is there a sauna?",
        "hits": [],
        "hops": [{"query": "Is there a sauna?", "seconds": 262_912e-9}],
        "answer": "I cannot find this in the documents.",
        "input_tokens": 98,
        "output_tokens": 9,
        "retrieval_seconds": 262_912e-9,
        "generation_seconds": 718_848e-9,
        "seconds": 3_874_048e-9,
        "versions": {"release": "2.1.0"},
        "user": "u-17",
        "session": "conv-1",
        "turn": 2,
        "trace_id": "239ee86f19b91131438ce6bcd832cc26",
        "span_id": "d0b43e9244774b40",
    },
    {
        "id": "ded001905350d06dcb0c222fbda724aa",
        "time": "2026-11-26T13:28:24.607535Z",
        "query": "fee for a 14 metre boat",
        "rewritten": "fee 14 metre boat",
        "hits": [
            {"doc_id": "fees.md#1", "text": FEE_TEXT, "score": 7.1, "hop": 0, "metadata": {"source": "fees.md", "relevance_score": 0.62}},
        ],
        "hops": [{"query": "fee 14 metre boat", "seconds": 167_279e-9}],
        "answer": "27 EUR",
        "embedding_seconds": 58_932e-9,
        "retrieval_seconds": 167_279e-9,
        "reranking_seconds": 103_479e-9,
        "seconds": 1_077_051e-9,
        "versions": {"embedder": "all-MiniLM-L6-v2", "reranker": "cross-encoder/ms-marco-MiniLM-L6-v2"},
        "user": "u-4",
        "session": "conv-2",
        "turn": 1,
        "evaluations": [{"name": "faithfulness", "score": 0.5, "label": "partly", "judge": "LLM"}],
        "trace_id": "ded001905350d06dcb0c222fbda724aa",
        "span_id": "acb89e9a2ea9463c",
    },
]


def nanoseconds(value: Any) -> Any:
    """A row with its seconds as whole nanoseconds, since sums of floats differ in the last digit."""
    if isinstance(value, list):
        return list(map(nanoseconds, value))
    if not isinstance(value, dict):
        return value
    return {key: round(item * 1e9) if key.endswith("seconds") else nanoseconds(item) for key, item in value.items()}


def check(found: Any, expected: list[dict[str, Any]]) -> None:
    assert nanoseconds(list(found)) == nanoseconds(expected)
    assert [row_fault(row) for row in found] == [""] * len(expected)


@pytest.mark.parametrize("name", ["otel-genai.otlp.jsonl", "otel-genai.otlp.pb"])
def test_every_field_of_a_file_of_the_official_sdk_is_read(big_data, name: str) -> None:
    found = read_traces(big_data("traces") / name)
    assert (found.formats, found.left_out) == (("otlp",), {})
    check(found.rows, GENAI_ROWS)


def test_every_field_of_a_file_of_openinference_is_read(big_data) -> None:
    found = read_traces(big_data("traces") / "openinference-langchain.otlp.jsonl")
    assert (found.formats, found.left_out) == (("otlp",), {})
    check(found.rows, OPENINFERENCE_ROWS)


def test_evaluations_of_another_file_join_their_rows(big_data, tmp_path: Path) -> None:
    folder = big_data("traces")
    added = [rated(1.0, "supported", "invented for this file"), rated(0.5, "partly", "invented for this file")]
    added += [rated(0.0, "refusal", "invented for this file")]
    expected = [
        row | {"evaluations": [*row["evaluations"], *joined]}
        for row, joined in zip(GENAI_ROWS, [*([item] for item in added), []], strict=True)
    ]
    found = read_traces(folder / "otel-evaluations.otlp.jsonl", folder / "otel-genai.otlp.pb")
    check(found.rows, expected)
    # A folder with both forms has each span twice.
    for name in ("otel-evaluations.otlp.jsonl", "otel-genai.otlp.pb", "otel-genai.otlp.jsonl"):
        shutil.copy(folder / name, tmp_path)
    found = read_traces(tmp_path)
    assert found.left_out == {"a span that appears again": 25}
    check(found.rows, expected)
    alone = read_traces(folder / "otel-evaluations.otlp.jsonl")
    assert (alone.rows, alone.left_out) == ((), {"an evaluation of a trace that gave no row": 3})


ROOT = span(0, None, {"openinference.span.kind": "CHAIN", "input.value": "fee?", "output.value": "18 EUR"}, seconds=9)
FOUND = span(1, 0, {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": [{"id": "fees.md", "score": 0.5}]})
SAID = span(
    2,
    0,
    {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"the fee?"}]}]',
        "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"It is 18."}]}]',
        "gen_ai.usage.input_tokens": 5,
    },
)


def test_spans_arrive_in_any_order_over_lines_and_files(tmp_path: Path) -> None:
    spans = [ROOT, FOUND, SAID]
    write_lines(tmp_path / "all.jsonl", request(*spans))
    expected = read_traces(tmp_path / "all.jsonl")
    for seed in range(6):
        random.Random(seed).shuffle(spans)
        folder = tmp_path / str(seed)
        folder.mkdir()
        write_lines(folder / "a.jsonl", request(spans[0]), request(spans[1]))
        with gzip.open(folder / "b.jsonl.gz", "wt") as file:
            file.write(json.dumps(request(spans[2])))
        assert read_traces(folder) == expected
    assert expected.rows[0]["answer"] == "18 EUR"


def test_a_json_file_can_have_one_request_on_many_lines_or_json_lines(tmp_path: Path) -> None:
    (tmp_path / "pretty.json").write_text(json.dumps(request(ROOT), indent=2), "utf-8")
    write_lines(tmp_path / "lines.json", request(ROOT), request(FOUND))
    assert [len(read_traces(tmp_path / name).rows) for name in ("pretty.json", "lines.json")] == [1, 1]


def test_content_that_was_not_captured_says_what_to_set(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "t.jsonl", request(span(0, None, {}), span(1, 0, {"gen_ai.operation.name": "chat"})))
    found = read_traces(file)
    assert (found.rows, found.left_out) == ((), {NOT_CAPTURED: 1})
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY" in NOT_CAPTURED


HOSTILE = {
    "[" * 100_000: "a line that is not JSON",
    '{"resourceSpans": NaN}': "a line that is not JSON",
    '{"resourceSpans": ' + "9" * 5000 + "}": "a line that is not JSON",
    '{"resourceSpans": [], "resourceSpans": []}': "a line that is not JSON",
    '{"resourceSpans": [': "a line that is not JSON",
    '{"resourceSpans": ["\\ud800"]}': "a line that is not JSON",
    "\x00\x01": "a line that is not JSON",
    "3": "a row of no known format",
    "[[[[[[[[{}]]]]]]]]": "a row of no known format",
    '{"a": 1}': "a row of no known format",
    '{"resourceSpans": [3]}': "an OTLP message that is not as specified",
}


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:30].encode("unicode_escape").decode())
def test_a_hostile_line_is_counted_and_the_next_is_read(tmp_path: Path, line: str) -> None:
    found = read_traces(write_lines(tmp_path / "t.jsonl", line, request(ROOT)))
    assert found.left_out == {HOSTILE[line]: 1}
    assert len(found.rows) == 1


def test_bytes_that_are_no_text_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(b"\xff\xfe{}\n" + json.dumps(request(ROOT)).encode())
    assert read_traces(tmp_path / "t.jsonl").left_out == {"a line that is not JSON": 1}


def test_a_line_of_100_mb_is_counted_and_the_next_is_read(tmp_path: Path) -> None:
    with (tmp_path / "t.jsonl").open("wb") as file:
        file.write(b'{"resourceSpans": "')
        file.truncate(100_000_000)
        file.seek(0, 2)
        file.write(b"\n" + json.dumps(request(ROOT)).encode())
    found = read_traces(tmp_path)
    assert found.left_out == {"a line that is too long": 1}
    assert len(found.rows) == 1


def test_a_line_that_is_too_long_is_skipped_to_its_end() -> None:
    file = io.BytesIO(b"short\n" + b"x" * 50 + b"\nnext\n" + b"y" * 10 + b"\n" + b"z" * 11)
    assert list(bounded_lines(file, 10)) == [b"short\n", None, b"next\n", b"y" * 10 + b"\n", None]


def test_compressed_files_that_are_broken_are_counted(tmp_path: Path) -> None:
    packed = gzip.compress("\n".join(json.dumps(request(ROOT)) for _ in range(2)).encode())
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[:-8])
    assert read_traces(tmp_path).left_out["a compressed file that is broken"] == 1
    (tmp_path / "t.pb").write_bytes(b"\xff" * 9)
    (tmp_path / "large.pb").write_bytes(bytes((20 << 20) + 1))
    left_out = read_traces(tmp_path).left_out
    assert (left_out["a file that is not OTLP"], left_out["a file of protobuf of more than 20 MiB"]) == (1, 1)


def test_traces_in_no_known_format_are_an_error_with_the_formats(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "t.jsonl", '{"a": 1}')
    with pytest.raises(InputError, match=r"has no trace in a format that is known; give OTLP as JSON lines or protobuf, or an export of"):
        read_traces(file)
    with pytest.raises(InputError, match="is not a file or a folder"):
        read_traces(tmp_path / "missing")


def test_a_span_that_appears_twice_counts_once(tmp_path: Path) -> None:
    found = read_traces(write_lines(tmp_path / "t.jsonl", request(ROOT, SAID), request(SAID)))
    assert found.left_out == {"a span that appears again": 1}
    assert found.rows[0]["input_tokens"] == 5


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["[{", "[]", '{"a":[{}]}'])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=8
)
KEYS = [
    "id",
    "trace_id",
    "traceId",
    "context.trace_id",
    "context.span_id",
    "span_id",
    "parent_id",
    "name",
    "type",
    "run_type",
    "start_time",
    "end_time",
    "input",
    "output",
    "inputs",
    "outputs",
    "attributes",
    "attributes.input.value",
    "attributes.retrieval.documents",
    "attributes.metadata",
    "span_kind",
    "status_code",
    "data_type",
    "value",
    "annotator_kind",
    "run_id",
    "key",
    "score",
    "request_time",
    "trace_metadata",
    "spans",
    "info",
    "data",
    "assessments",
    "timestamp",
    "session_id",
    "observations",
    "scores",
    "extra",
    "feedback_stats",
    "usage_details",
    "request",
    "response",
    "execution_duration",
    "resourceSpans",
    "level",
    "comment",
]
KINDS = st.sampled_from(["RETRIEVER", "LLM", "RERANKER", "chain", "GENERATION", "EMBEDDING", "EVALUATOR", "2026-01-01 00:00:00", 5, "t1"])
ATTRIBUTES = [
    "openinference.span.kind",
    "gen_ai.operation.name",
    "input.value",
    "output.value",
    "retrieval.documents",
    "retrieval.documents.0.document.content",
    "metadata",
    "gen_ai.retrieval.documents",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "llm.output_messages.0.message.content",
    "session.id",
    "error.type",
    "gen_ai.usage.input_tokens",
    "gen_ai.response.finish_reasons",
    "evaluations.0.evaluation.name",
    "evaluations.0.evaluation.score",
    "llm.cost.total",
    "reranker.output_documents.1.document.id",
    "llm.input_messages",
]


SPANS = st.builds(
    lambda place, parent, found: span(place, parent, dict(found)),
    st.integers(1, 4),
    st.none() | st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from(ATTRIBUTES), KINDS | VALUES), max_size=6),
).map(request)


@few_or_many(150, 20_000)
def test_no_row_raises_anything_but_an_input_error(examples: int, tmp_path: Path) -> None:
    def read(rows: list[dict[str, Any]]) -> None:
        (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        try:
            found = read_traces(tmp_path / "t.jsonl")
        except InputError:
            return
        assert [row_fault(row) for row in found.rows] == [""] * len(found.rows)
        json.dumps(found.rows, allow_nan=False)

    rows = st.dictionaries(st.sampled_from(KEYS), KINDS | VALUES, min_size=3)
    check_examples(examples, st.lists(rows | SPANS, max_size=5), read)


@few_or_many(100, 20_000)
def test_no_bytes_raise_anything_but_an_input_error(examples: int, tmp_path: Path) -> None:
    good = json.dumps(request(ROOT)).encode()

    def read(made: tuple[str, bytes, int]) -> None:
        name, raw, at = made
        (tmp_path / name).write_bytes(good[:at] + raw + good[at:])
        try:
            read_traces(tmp_path / name)
        except InputError:
            pass
        finally:
            (tmp_path / name).unlink()

    names = st.sampled_from(["t.jsonl", "t.json", "t.pb", "t.csv", "t.parquet", "t.jsonl.gz"])
    check_examples(examples, st.tuples(names, st.binary(max_size=12), st.integers(0, len(good))), read)


def test_a_request_that_the_official_sdk_encodes_is_read(tmp_path: Path) -> None:
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import StatusCode

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("rag", attributes={"openinference.span.kind": "CHAIN", "input.value": "fee?"}) as root:
        with tracer.start_as_current_span("search", attributes={"openinference.span.kind": "RETRIEVER", "retrieval.documents": []}):
            pass
        attributes = {"openinference.span.kind": "LLM", "tag.tags": ("a", "b"), "llm.token_count.prompt": 3}
        with tracer.start_as_current_span("chat", attributes=attributes) as chat:
            chat.record_exception(TimeoutError("30 s"))
            chat.set_status(StatusCode.ERROR)
    provider.shutdown()
    (tmp_path / "t.pb").write_bytes(encode_spans(exporter.get_finished_spans()).SerializeToString())
    found = read_traces(tmp_path)
    (row,) = found.rows
    assert found.left_out == {}
    assert (row["id"], row["span_id"]) == (format(root.context.trace_id, "032x"), format(root.context.span_id, "016x"))
    assert [row[name] for name in ("query", "hits", "error", "input_tokens")] == ["fee?", [], "TimeoutError: 30 s", 3]
