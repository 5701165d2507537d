"""The commands `dataset generate` and `dataset accept`, with a model on the loopback interface."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.asked_sweeps import AskedSweep
from tests.canary import CANARY, contains_canary
from tests.loopback import closed_port
from tests.reading_model import ReadingModel
from workbench.cli.main import main
from workbench.data.sources import GoldenSource
from workbench.report.analysis.values import SyntheticQuestions, shared_families, synthetic_questions

HANDBOOK = Path(__file__).parents[2] / "experiments" / "handbook" / "documents"
DOCUMENTS = ("hr/students-and-apprentices.md", "legal/speaking-up.md", "support/customer-training-courses.md")
FILES = ["documents.jsonl", "dropped.jsonl", "generation.json", "questions.jsonl", "references.jsonl"]


def dataset(*words: object) -> Result:
    return CliRunner().invoke(main, ["dataset", *map(str, words)])


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


@pytest.fixture
def documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three documents of the handbook, and a store of their own."""
    monkeypatch.setenv("WORKBENCH_STORE", str(tmp_path / "store"))
    folder = tmp_path / "pages"
    for name in DOCUMENTS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((HANDBOOK / name).read_bytes())
    return folder


def generate(documents: Path, model: ReadingModel, *words: object, to: str = "new") -> Result:
    return dataset("generate", documents, "--output", documents.parent / to, *model.options, *words)


def test_questions_of_the_handbook_are_a_golden_dataset_with_exact_evidence(documents: Path, reading_model: ReadingModel) -> None:
    done = generate(documents, reading_model, "--questions", 6, "--multi-hop", 0.2, "--unanswerable", 0.2)
    folder = documents.parent / "new"
    assert done.exit_code == 0, done.output
    assert sorted(os.listdir(folder)) == FILES
    loaded = GoldenSource(path=str(folder)).load()
    assert sorted(query.metadata["type"] for query in loaded.queries) == ["factoid"] * 4 + ["multi_hop", "unanswerable"]
    assert len(loaded.documents) == len(DOCUMENTS)
    texts = {document.doc_id: document.text for document in loaded.documents}
    for query in loaded.queries:
        needs = [need for need in loaded.needs if need.query_id == query.query_id]
        spans = [span for need in needs for span in need.alternatives]
        assert len(needs) == {"factoid": 1, "multi_hop": 2, "unanswerable": 0}[query.metadata["type"]]
        assert all(texts[span.doc_id][span.start : span.end] in query.text for span in spans)
        assert {qrel.doc_id for qrel in loaded.qrels if qrel.query_id == query.query_id} == {span.doc_id for span in spans}
        assert query.answerable == bool(spans)
        assert query.synthetic
        assert not query.accepted_by
        provenance = query.metadata["provenance"]
        assert (provenance["model"], provenance["provider"], provenance["seed"]) == ("qwen3-4b", "openai", 0)
        assert provenance["reference_agrees"]
        assert set(provenance["prompts"]) > {"answer-1", "reference-1"}
    # Spread over the documents.
    assert {passage.partition(":")[0] for query in loaded.queries for passage in query.metadata["provenance"]["passages"]} == set(texts)
    references = rows(folder / "references.jsonl")
    assert [row["query_id"] for row in references] == [query.query_id for query in loaded.queries]
    assert all(len(row["documents"]) == 3 for row in references)
    checked = dataset("check", folder)
    assert checked.exit_code == 0
    assert (
        "note: 6 of 6 questions are synthetic (drafted by a model, or with such answers), and 6 of them are accepted by nobody; review"
        in checked.stdout
    )


def test_the_same_command_again_makes_no_call_and_the_same_files(documents: Path, reading_model: ReadingModel) -> None:
    assert generate(documents, reading_model, "--questions", 3).exit_code == 0
    calls = len(reading_model.provider.asked)
    before = {name: (documents.parent / "new" / name).read_bytes() for name in FILES if name != "generation.json"}
    again = generate(documents, reading_model, "--questions", 3)
    assert again.exit_code == 0
    assert f"calls: 0 made, {calls} from the cache" in again.stdout
    assert len(reading_model.provider.asked) == calls
    assert {name: (documents.parent / "new" / name).read_bytes() for name in before} == before
    assert [path.name for path in documents.parent.iterdir() if path.name.startswith(".")] == []


def test_a_budget_of_calls_ends_in_3_and_the_next_run_goes_on(documents: Path, reading_model: ReadingModel) -> None:
    first = generate(documents, reading_model, "--questions", 3, "--calls", 4)
    assert first.exit_code == 3
    assert len(reading_model.provider.asked) == 4
    assert "failed: the budget of 4 calls is spent" in first.stderr
    assert "run the same command again to make only these calls" in first.stderr
    second = generate(documents, reading_model, "--questions", 3)
    assert second.exit_code == 0, second.output
    whole = len(reading_model.provider.asked)
    other = generate(documents, reading_model, "--questions", 3, to="other")
    assert len(reading_model.provider.asked) == whole
    assert (documents.parent / "other" / "questions.jsonl").read_text() == (documents.parent / "new" / "questions.jsonl").read_text()
    assert other.exit_code == 0


def test_failures_are_counted_and_a_key_is_nowhere(documents: Path, reading_model: ReadingModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_EVAL_OPENAI_API_KEY", CANARY)
    reading_model.provider.faults = [{"status": 500, "message": "overloaded"}, {"refusal": "I will not."}]
    done = generate(documents, reading_model, "--questions", 4, "--multi-hop", 0, "--unanswerable", 0)
    assert done.exit_code == 3
    assert "dropped: 2 failed" in done.stdout
    assert "500: overloaded" in done.stderr
    assert "safety filter" in done.stderr
    assert len(rows(documents.parent / "new" / "questions.jsonl")) == 2
    assert sum(json.loads((documents.parent / "new" / "generation.json").read_text())["failures"].values()) == 2
    assert [path for path in documents.parent.rglob("*") if path.is_file() and contains_canary(path)] == []
    again = generate(documents, reading_model, "--questions", 4, "--multi-hop", 0, "--unanswerable", 0)
    assert again.exit_code == 0
    assert len(rows(documents.parent / "new" / "questions.jsonl")) == 4


def test_a_server_that_is_down_stops_after_the_first_round(documents: Path, reading_model: ReadingModel) -> None:
    reading_model.provider.faults, reading_model.provider.lasting = [{"status": 503, "message": "down"}], True
    done = generate(documents, reading_model, "--questions", 4)
    assert done.exit_code == 3
    assert len(reading_model.provider.asked) == 4
    assert rows(documents.parent / "new" / "questions.jsonl") == []


def test_a_model_that_writes_no_json_ends_in_1_with_its_replies(documents: Path, reading_model: ReadingModel) -> None:
    reading_model.provider.reply_to = lambda _: {"text": 'Sure! {"question": "Who?", "answer": "Ada", "quote": "Ada wrote it."}'}
    done = generate(documents, reading_model, "--questions", 2, "--tries", 2)
    assert done.exit_code == 1
    assert "dropped: 4 malformed (the reply did not fit its JSON schema)" in done.stdout
    assert done.stderr == f"workbench: no question was accepted; see {documents.parent / 'new' / 'dropped.jsonl'}, and use another model\n"
    assert {row["reason"] for row in rows(documents.parent / "new" / "dropped.jsonl")} == {"malformed"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--local", "none.gguf"], "--local has no use for --provider; leave one of them out"),
        (["--usd", "1", "--base-url", "http://example.org/v1"], "--usd 1 needs the prices of answering 'openai': qwen3-4b at "),
        (["--split", "dev"], "pages has no documents; expected documents.jsonl or documents/"),
        (["--answers"], "pages has no answerable question without an answer; leave --answers out to generate questions"),
        (["--model", ""], "OpenAIClient model is ''"),
    ],
)
def test_wrong_options_are_one_line(
    documents: Path, reading_model: ReadingModel, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    done = generate(documents, reading_model, *words)
    assert done.exit_code == 2, done.output
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert reading_model.provider.asked == []
    assert not (documents.parent / "new").exists()


def test_a_wrong_key_is_one_line(documents: Path, reading_model: ReadingModel) -> None:
    reading_model.provider.faults, reading_model.provider.lasting = [{"status": 401, "message": "no such key"}], True
    # One call at a time, as the server complains about requests that are given up.
    done = generate(documents, reading_model, "--concurrency", 1)
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert not (documents.parent / "new").exists()


def test_without_a_server_every_candidate_fails(documents: Path, reading_model: ReadingModel) -> None:
    options = [*reading_model.options, "--base-url", f"http://127.0.0.1:{closed_port()}/v1"]
    done = dataset("generate", documents, "--output", documents.parent / "new", *options, "--questions", 2)
    assert done.exit_code == 3
    assert "2 calls failed: answering" in done.stderr or "2 calls failed: no answer" in done.stderr


def test_without_a_model_it_says_how_to_name_one_or_to_write_the_questions(documents: Path) -> None:
    refused = dataset("generate", documents, "--output", documents.parent / "new")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "no model is named to write them; give --provider or --local" in refused.stderr
    assert "or write questions in the labeller: workbench init FOLDER" in refused.stderr


def test_no_work_of_a_person_is_overwritten(documents: Path, reading_model: ReadingModel) -> None:
    other = dataset("generate", documents, "--output", documents, *reading_model.options)
    assert (other.exit_code, other.stderr.count("exists and is no folder of generated questions; name a new one with --output")) == (2, 1)
    assert generate(documents, reading_model, "--questions", 2).exit_code == 0
    folder = documents.parent / "new"
    first, second = (row["query_id"] for row in rows(folder / "questions.jsonl"))
    accepted = dataset("accept", folder, "--questions", f"{first}, ", "--by", " Ada ")
    assert accepted.exit_code == 0, accepted.output
    assert accepted.stdout == f"{folder}: 1 question accepted by Ada; 1 synthetic still accepted by nobody\n"
    refused = generate(documents, reading_model, "--questions", 2)
    assert refused.exit_code == 2
    assert "questions.jsonl was edited or accepted since it was generated; name another folder with --output" in refused.stderr
    assert (
        "2 of 2 questions are synthetic (drafted by a model, or with such answers), and 1 of them are accepted"
        in dataset("check", folder).stdout
    )
    assert dataset("accept", folder / "questions.jsonl", "--all", "--by", "Eve").exit_code == 0
    assert {row["query_id"]: row["accepted_by"] for row in rows(folder / "questions.jsonl")} == {first: "Ada", second: "Eve"}
    assert "and all are accepted" in dataset("check", folder).stdout


@pytest.mark.parametrize(
    "words", [[], ["--all", "--questions", "a"], ["--questions", " , "], ["--questions", "b"], ["--questions", "plain"]]
)
def test_what_cannot_be_accepted_is_one_line_and_changes_nothing(tmp_path: Path, words: list[str]) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"query_id": "a", "query": "Who?", "synthetic": true}\n{"query_id": "plain", "query": "Why?"}\n')
    before = file.read_bytes()
    done = dataset("accept", file, *words, "--by", "Ada")
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert file.read_bytes() == before


def test_a_run_on_generated_questions_says_so_and_names_the_shared_family(
    documents: Path, reading_model: ReadingModel, tmp_path: Path
) -> None:
    assert generate(documents, reading_model, "--questions", 3).exit_code == 0
    sweep = AskedSweep(tmp_path, reading_model.provider)
    run = sweep.tables(data=tmp_path / "new", answering={"model": "qwen2.5-7b"})
    assert synthetic_questions(run) == SyntheticQuestions(3, 0, 3, ("qwen3-4b",))
    (shared,) = shared_families(run)
    assert (shared.family, list(shared.models)) == ("qwen", ["questions", "answers"])
