"""Exports of Ragas, DeepEval and promptfoo, written as these write them."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.systems.recorded.conftest import BERTH, PILOT, answer, search
from workbench.core.errors import InputError
from workbench.core.records import Query, TargetHit
from workbench.systems.base import TargetError
from workbench.systems.recorded.target import RecordedTarget

TEXTS = ["A berth is a place, it's said.", 'Pilots "pay"\nlittle.']
# As ragas 0.4 writes a sample: without the fields that are None.
RAGAS = [
    {"user_input": BERTH.text, "retrieved_contexts": TEXTS, "retrieved_context_ids": ["a", 7], "response": "A place.", "reference": "x"},
    {"user_input": PILOT.text, "retrieved_contexts": [], "retrieved_context_ids": [], "response": "The ship.", "reference": "y"},
]


def written_as_csv(rows: list[dict[str, object]]) -> str:
    """Rows as `csv` and pandas write them: a list as Python prints it."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def test_ragas_gives_contexts_with_their_ids_and_the_response(recorded, tmp_path: Path) -> None:
    scored = [row | {"faithfulness": score} for row, score in zip(RAGAS, (1.0, float("nan")), strict=True)]
    texts = [row | {"retrieved_context_ids": list(map(str, row["retrieved_context_ids"]))} for row in scored]
    pq.write_table(pa.Table.from_pylist(texts), tmp_path / "ragas.parquet")
    targets = [
        recorded("ragas.jsonl", RAGAS),
        recorded("ragas.csv", written_as_csv(scored)),
        RecordedTarget(name="other", path=str(tmp_path / "ragas.parquet"), format="ragas"),
    ]
    for target in targets:
        hits = (TargetHit("a", TEXTS[0]), TargetHit("7", TEXTS[1]))
        assert (search(target), answer(target).sources, answer(target).text) == (hits, hits, "A place.")
        assert (search(target, PILOT), answer(target, PILOT).text) == ((), "The ship.")
        assert target.identity()["format"] == "ragas"


def test_ragas_without_ids_or_without_texts(recorded) -> None:
    plain = {"user_input": BERTH.text, "response": "A place."}
    assert search(recorded("a.jsonl", [plain | {"retrieved_contexts": ["one"]}])) == (TargetHit(text="one"),)
    assert search(recorded("b.jsonl", [plain | {"retrieved_context_ids": ["a"]}])) == (TargetHit("a"),)
    assert not recorded("c.jsonl", [plain]).searches


def test_a_bad_export_is_one_line(recorded, wording) -> None:
    wording(
        lambda case: recorded(*case).check(),
        [
            ("a.csv", "user_input,retrieved_contexts\nq,\"['a' 'b']\""),
            ("a.csv", "user_input,retrieved_contexts\nq,\"['a', b]\""),
            ("a.csv", "user_input,answer\nq,a"),
            ("a.jsonl", '{"user_input": "q", "retrieved_contexts": ["a"], "retrieved_context_ids": []}'),
            ("a.jsonl", '{"user_input": "q", "retrieved_contexts": 3}'),
            ("a.jsonl", '{"user_input": "q", "retrieved_contexts": [3]}'),
            ("a.csv", "question,answer\nq,a"),
        ],
    )


def test_a_format_that_is_not_that_of_the_file_says_what_is_there(recorded) -> None:
    with pytest.raises(InputError, match=r"a.jsonl:1 has no question in user_input; its keys are 'q' and 'a'; name another with fields"):
        recorded("a.jsonl", [{"q": "x", "a": "y"}], format="ragas").check()


# As deepeval 4 writes a test case, by EvaluationDataset.save_as.
CASES = [
    {
        "input": BERTH.text,
        "actual_output": "A place.",
        "expected_output": "A place.",
        "retrieval_context": ["A berth is a place.", "deepeval_source=pilots.md,deepeval_context=Pilots pay."],
        "context": None,
        "name": None,
        "tools_called": None,
    },
    {"input": PILOT.text, "actual_output": "The ship.", "expected_output": None, "retrieval_context": None},
]
SOURCED = TargetHit("pilots.md", "Pilots pay.", metadata={"source": "pilots.md"})


def test_deepeval_gives_the_output_and_its_retrieval_context(recorded) -> None:
    joined = [case | {"retrieval_context": case["retrieval_context"] and "|".join(case["retrieval_context"])} for case in CASES]
    columns = [{key: value for key, value in case.items() if key in CASES[1]} for case in joined]
    # An empty cell of CSV is how contexts are written of which there is none.
    targets = ((recorded("a.json", CASES), None), (recorded("a.jsonl", joined), None), (recorded("a.csv", written_as_csv(columns)), ()))
    for target, none in targets:
        assert search(target) == (TargetHit(text="A berth is a place."), SOURCED)
        assert (answer(target).text, answer(target, PILOT).text, answer(target, PILOT).sources) == ("A place.", "The ship.", none)
        assert target.identity()["format"] == "deepeval"


def test_contexts_that_deepeval_joined_to_nothing_are_none(recorded) -> None:
    assert search(recorded("a.jsonl", [CASES[1] | {"retrieval_context": ""}]), PILOT) == ()


def test_a_test_run_of_deepeval_is_read(recorded) -> None:
    case = {"name": "test_case_0", "input": BERTH.text, "actualOutput": "A place.", "retrievalContext": ["one"], "metricsData": []}
    run = {"testCases": [case], "conversationalTestCases": [], "metricsScores": [], "testPassed": 1, "runDuration": 0.1}
    for content in (run, {"testRunData": run}):
        target = recorded("latest_run_full.json", content)
        assert (search(target), answer(target).text) == ((TargetHit(text="one"),), "A place.")


def promptfoo_result(question: str, provider: str, **fields: object) -> dict[str, object]:
    """A result as promptfoo 0.121 writes it."""
    return {
        "cost": 0,
        "gradingResult": {"pass": True, "score": 1, "reason": "No assertions"},
        "prompt": {"raw": question, "label": "{{question}}", "config": {}},
        "promptIdx": 0,
        "provider": {"id": "file://provider.js", "label": provider},
        "testCase": {"vars": {"question": question}, "assert": [], "options": {}},
        "testIdx": 0,
        "vars": {"question": question},
        **fields,
    }


PROMPTFOO = [
    promptfoo_result(
        BERTH.text,
        "my-rag",
        response={"output": {"answer": "A place.", "documents": [{"doc_id": "quay", "text": "A berth is a place.", "score": 0.5}]}},
    ),
    promptfoo_result(BERTH.text, "echo", response={"output": BERTH.text, "metadata": {}}),
    promptfoo_result(PILOT.text, "my-rag", error="no reply", response={"error": "no reply"}, success=False),
    promptfoo_result("Who docks?", "my-rag", response={"output": "A ship.", "metadata": {"documents": [{"id": "d9", "content": "x"}]}}),
    promptfoo_result("Who rows?", "my-rag", response={"output": "A boat."}, vars={"question": "Who rows?", "context": "Boats are rowed."}),
]
EVAL = {"evalId": "eval-1", "results": {"version": 3, "prompts": [], "results": PROMPTFOO, "stats": {}}, "config": {}, "vars": ["question"]}


def test_promptfoo_gives_the_output_of_one_provider(recorded) -> None:
    for target in (
        recorded("out.json", EVAL, where={"provider.label": "my-rag"}),
        recorded("out.jsonl", PROMPTFOO, where={"provider.label": "my-rag"}),
    ):
        assert search(target) == answer(target).sources == (TargetHit("quay", "A berth is a place.", 0.5),)
        assert answer(target).text == "A place."
        assert (search(target, Query("q", "Who docks?")), answer(target, Query("q", "Who docks?")).text) == (
            (TargetHit("d9", "x"),),
            "A ship.",
        )
        assert search(target, Query("q", "Who rows?")) == (TargetHit(text="Boats are rowed."),)
        with pytest.raises(TargetError, match=r"^the recorded request failed: no reply$"):
            answer(target, PILOT)


def test_results_of_several_providers_need_a_choice(recorded) -> None:
    with pytest.raises(
        InputError, match=r"result 2 has another result for the question 'What is a berth\?' .*where: {provider.label: its value}"
    ):
        recorded("out.json", EVAL).check()
    with pytest.raises(InputError, match=r"out.json has no row whose provider.label is 'my-rga'; it is 'echo' and 'my-rag'"):
        recorded("out.json", EVAL, where={"provider.label": "my-rga"}).check()
    with pytest.raises(InputError, match=r"has no row whose provider.nme is 'a'; the keys of its rows are 'cost', 'gradingResult'"):
        recorded("out.json", EVAL, where={"provider.nme": "a"}).check()


def test_fields_name_what_an_importer_does_not_find(recorded) -> None:
    response = {"output": {"said": {"final": "A place."}, "found": ["one"], "draft": "no"}}
    rows = [promptfoo_result("", "my-rag", vars={"topic": BERTH.text, "language": "English"}, response=response)]
    with pytest.raises(InputError, match=r"result 1 has no question in vars; its keys are .* name another with fields: {question: …}"):
        recorded("out.json", rows).check()
    fields = {"question": "vars.topic", "answer": "response.output.said", "documents": "response.output.found"}
    target = recorded("out.json", rows, fields=fields)
    assert (answer(target).text, search(target)) == ("A place.", (TargetHit(text="one"),))


DOUBT = "Perhaps a place, a ship or a pilot."


def outputs(value: object, kind: str = "langsmith") -> tuple[str, list[dict[str, object]]]:
    """The result of an application under two questions; the second has an answer in any case."""
    results = [(BERTH.text, value), (PILOT.text, {"answer": "The owner."})]
    noon: dict[str, object] = {"start_time": "2026-11-01T12:00:00Z", "error_info": None}
    mlflow: dict[str, object] = {"request_time": 1_793_534_400_000, "trace_metadata": {}, "tags": {}}
    rows: dict[str, Callable[[str, object], dict[str, object]]] = {
        "promptfoo": lambda text, out: promptfoo_result(text, "rag", response={"output": out}),
        "langsmith": lambda text, out: {"inputs": {"question": text}, "outputs": out},
        "langfuse": lambda text, out: {"id": text, "timestamp": "2026-11-01T12:00:00Z", "input": text, "output": out},
        "mlflow": lambda text, out: mlflow | {"trace_id": text, "request": json.dumps(text), "response": json.dumps(out)},
        "opik": lambda text, out: noon | {"id": text, "input": {"query": text}, "output": {"output": out}},
    }
    return "a.json" if kind == "promptfoo" else "a.jsonl", [rows[kind](text, out) for text, out in results]


@pytest.mark.parametrize("kind", ["langsmith", "promptfoo"])
@pytest.mark.parametrize(
    "value",
    [
        [{"type": "reasoning", "text": DOUBT}, {"type": "text", "text": "A place."}],
        {"content": [{"text": DOUBT, "thought": True}, {"text": "A place."}]},
        {"messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": DOUBT}, {"type": "text", "text": "A place."}]}]},
        {"output": [{"type": "reasoning", "text": DOUBT}, {"type": "message", "content": [{"type": "output_text", "text": "A place."}]}]},
        {"role": "model", "parts": [{"text": DOUBT, "thought": True}, {"text": "A place."}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "A place."}]}}]},
        {"text": DOUBT, "content": "A place."},
        {"reasoning": DOUBT, "spoken": "A place."},
        {"verdict": "A place."},
        {"finalAnswer": "A place.", "runId": "7f", "modelName": "m"},
    ],
)
def test_an_answer_is_told_from_what_is_beside_it(recorded, value: object, kind: str) -> None:
    assert answer(recorded(*outputs(value, kind))).text == "A place."


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"content": None, "reasoning_content": DOUBT}, "the reply is reasoning without an answer"),
        ({"reasoning": DOUBT, "answer": None}, "the reply is reasoning without an answer"),
        ({"content": "", "thinking": DOUBT, "done_reason": "length"}, "reasoning without an answer because it used all of its tokens"),
        ({"answer": "", "finish_reason": "length"}, "the answer is empty because it used all of its tokens"),
        ({"content": "A pl", "finish_reason": "abort"}, r"the reply broke off \(abort\)"),
        ({"content": "I look.", "tool_calls": [{"name": "search"}]}, "the model called a tool in place of an answer"),
        ({"chainOfThought": DOUBT}, "no recorded answer"),
        ({"role": "model", "parts": None}, "no recorded answer"),
        ({"output": None, "run_id": "7f"}, "no recorded answer"),
        ([{"type": "reasoning", "text": DOUBT}], "no recorded answer"),
    ],
)
def test_a_thought_a_role_or_an_id_is_no_answer(recorded, value: object, expected: str) -> None:
    with pytest.raises(TargetError, match=expected):
        answer(recorded(*outputs(value)))


def test_an_empty_text_is_a_recorded_empty_answer(recorded) -> None:
    assert answer(recorded(*outputs({"answer": "", "finish_reason": "stop"}))).text == ""
    assert answer(recorded(*outputs({"answer": "A pl", "finish_reason": "length"}))).truncated is True


@pytest.mark.parametrize("kind", ["langsmith", "promptfoo"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"error": "Rate limit exceeded"}, "Rate limit exceeded"),
        ({"answer": None, "error": "Rate limit exceeded"}, "Rate limit exceeded"),
        ({"answer": "Sorry, something went wrong.", "error": {"message": "too many requests", "code": 429}}, "too many requests"),
        ({"status": "error", "message": "no reply", "answer": ""}, "no reply"),
        ({"output": {"success": False, "detail": "no index"}}, "no index"),
        ('{"error": {"message": "too many requests", "code": 429}}', "too many requests"),
        ({"answer": '{"error": "no reply"}'}, "no reply"),
    ],
)
def test_a_recorded_error_is_a_failure_of_its_question(recorded, value: object, expected: str, kind: str) -> None:
    target = recorded(*outputs(value, kind))
    with pytest.raises(TargetError, match=f"^the recorded request failed: {expected}$"):
        answer(target)
    assert answer(target, PILOT).text == "The owner."


@pytest.mark.parametrize("kind", ["langsmith", "promptfoo"])
def test_a_score_that_is_no_finite_number_is_none(recorded, kind: str) -> None:
    documents = [{"id": place, "score": score} for place, score in enumerate((10**400, -(10**400), True, "0.5", 0.5))]
    found = search(recorded(*outputs({"answer": "A place.", "documents": documents}, kind)))
    assert [hit.score for hit in found] == [None, None, None, None, 0.5]


def test_a_recorded_part_that_is_no_text_leaves_the_documents(recorded) -> None:
    content = [{"type": "tool_result", "content": "A page."}, {"type": "text", "text": "A place."}]
    target = recorded(*outputs({"content": content, "documents": ["one"]}))
    with pytest.raises(TargetError, match="the answer has a part of type 'tool_result', which is no text"):
        answer(target)
    assert search(target) == (TargetHit(text="one"),)


@pytest.mark.parametrize("kind", ["langsmith", "promptfoo", "langfuse", "mlflow", "opik"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1, "a", {"b": 2}], "the answer is a list of texts and a number, which is no text"),
        (["a", {"b": 2}], "the answer is a list of texts and an object, which is no text"),
        ([{"text": "a"}, {"b": 2}], "the answer is a list of texts and an object, which is no text"),
        (["a", None], "the answer is a list of texts and null, which is no text"),
        (["a", ["one", "two"]], "the answer is a list of texts and a list, which is no text"),
        ({"answer": [True, "a"]}, "the answer is a list of texts and true or false, which is no text"),
        ([1, 2], "no recorded answer"),
        ([{"page_content": "A page."}], "no recorded answer"),
    ],
)
def test_a_list_of_more_than_texts_is_no_answer(recorded, kind: str, value: object, expected: str) -> None:
    assert answer(recorded(*outputs(["A ", {"type": "text", "text": "place."}], kind))).text == "A place."
    with pytest.raises(TargetError, match=f"^{expected}$"):
        answer(recorded(*outputs(value, kind)))


def test_a_broken_json_file_is_one_line(recorded, wording) -> None:
    wording(lambda content: recorded("a.json", content).check(), ['{"results": [', "3", '{"results": []}', ""])


def test_json_lines_in_a_file_named_json_are_read(recorded) -> None:
    lines = "\n".join(json.dumps(row) for row in RAGAS)
    assert answer(recorded("ragas.json", lines)).text == "A place."


def test_an_export_whose_list_of_contexts_is_empty_found_nothing(recorded) -> None:
    ragas = [{"user_input": BERTH.text, "retrieved_contexts": [], "response": "A."}]
    assert list(search(recorded("ragas.jsonl", ragas))) == []
    assert list(search(recorded("ragas.csv", written_as_csv([ragas[0] | {"retrieved_contexts": "[]"}])))) == []
    promptfoo = [promptfoo_result(BERTH.text, "rag", response={"output": {"answer": "A.", "context": ""}})]
    assert list(search(recorded("promptfoo.json", {"results": promptfoo}))) == []
    cases = [
        {"input": BERTH.text, "actual_output": "A.", "retrieval_context": ""},
        {"input": PILOT.text, "actual_output": "B.", "retrieval_context": "A ship."},
    ]
    assert [list(search(recorded("cases.csv", written_as_csv(cases)), query)) for query in (BERTH, PILOT)] == [
        [],
        [TargetHit(text="A ship.")],
    ]


@pytest.mark.parametrize("truth", [{"ground_truth": "A place."}, {"ground_truths": ["A place."]}, {}])
def test_an_export_before_ragas_0_2_is_read(recorded, truth: dict[str, object]) -> None:
    row = {"question": BERTH.text, "answer": "A place.", "contexts": ["A berth is a place."], "faithfulness": 1.0, **truth}
    for target in (recorded("a.jsonl", [row]), recorded("a.csv", written_as_csv([row]))):
        assert target.identity()["format"] == "ragas"
        assert (answer(target).text, search(target)) == ("A place.", (TargetHit(text="A berth is a place."),))
