"""The command `dataset answers`, with a model on the loopback interface."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.chat_provider import ChatProvider
from workbench.cli.main import main

DOCUMENTS = {
    "cats": "Cats purr when content.",
    "dogs": "Dogs bark at strangers.",
    "owls": "Owls hoot at night.",
    "eels": "Eels say nothing.",
}
GRADES = [("q1", "dogs", 1), ("q1", "cats", 2), ("q1", "owls", 2), ("q1", "eels", 1), ("q2", "owls", 1)]


@pytest.fixture
def beir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_STORE", str(tmp_path / "store"))
    folder = tmp_path / "animals"
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": doc_id, "title": doc_id.title(), "text": text} for doc_id, text in DOCUMENTS.items()]
    write(folder / "corpus.jsonl", rows)
    write(folder / "queries.jsonl", [{"_id": "q1", "text": "why do cats purr"}, {"_id": "q2", "text": "when do owls hoot"}])
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in GRADES)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    return folder


def write(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def answers(folder: Path, provider: ChatProvider, *words: object) -> Result:
    model = ["--provider", "openai", "--model", "m", "--base-url", f"{provider.host}/v1", "--retries", "0"]
    outputs = ["--output", folder.parent / "truth.json", "--outputs", folder.parent / "outputs"]
    return CliRunner().invoke(main, ["dataset", "answers", *map(str, [folder, *outputs, *model, *words])])


def truth(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder.parent / "truth.json").read_text("utf-8"))
    return rows


def reply(answerable: bool, text: str) -> dict[str, Any]:
    return {"text": json.dumps({"answerable": answerable, "answer": text})}


def test_an_answer_is_written_from_the_most_relevant_documents(beir: Path, provider: ChatProvider) -> None:
    provider.reply_to = lambda _: reply(True, "Because they are content.")
    done = answers(beir, provider, "--questions", "q1", "--read", 3, "--grade", 2)
    assert done.exit_code == 0, done.output
    assert "1 of 1 reference answer, all synthetic" in done.output
    (row,) = truth(beir)
    assert row["query_id"] == "q1"
    assert row["query_text"] == "why do cats purr"
    assert row["ground_truth_answer"] == "Because they are content."
    # Both of grade 2, in the order of the judgements, and none of grade 1.
    assert row["expected_document_ids"] == row["provenance"]["documents"] == ["cats", "owls"]
    assert row["highly_relevant_count"] == 2
    assert (row["synthetic"], row["accepted_by"]) == (True, "")
    assert (row["provenance"]["model"], row["provenance"]["provider"], row["provenance"]["max_tokens"]) == ("m", "openai", 500)
    (asked,) = provider.asked
    assert asked.get("max_tokens", asked.get("max_completion_tokens")) == 500
    prompt = asked["messages"][-1]["content"]
    assert "Cats\n\nCats purr" in prompt
    assert "bark" not in prompt


def test_documents_of_higher_grades_are_read_first(beir: Path, provider: ChatProvider) -> None:
    provider.reply_to = lambda _: reply(True, "Because.")
    done = answers(beir, provider, "--questions", "q2,q1", "--read", 3)
    assert done.exit_code == 0, done.output
    assert [row["query_id"] for row in truth(beir)] == ["q2", "q1"]
    assert truth(beir)[1]["provenance"]["documents"] == ["cats", "owls", "dogs"]
    assert truth(beir)[1]["expected_document_ids"] == ["cats", "owls", "dogs", "eels"]


def test_the_same_command_again_makes_no_call(beir: Path, provider: ChatProvider) -> None:
    provider.reply_to = lambda _: reply(True, "Because.")
    assert answers(beir, provider).exit_code == 0
    first, calls = truth(beir), len(provider.asked)
    assert answers(beir, provider).exit_code == 0
    assert (truth(beir), len(provider.asked)) == (first, calls) == (first, 2)


def test_a_question_without_an_answer_says_why(beir: Path, provider: ChatProvider) -> None:
    provider.reply_to = lambda body: reply("owls" in body["messages"][-1]["content"].rpartition("Question: ")[2], "At night.")
    done = answers(beir, provider)
    assert done.exit_code == 0
    assert "q1 has no answer: the model found no answer in these documents" in done.stderr
    assert {row["query_id"]: row["ground_truth_answer"] for row in truth(beir)} == {"q1": "", "q2": "At night."}
    assert truth(beir)[0]["missing"] == "the model found no answer in these documents"
    provider.reply_to = lambda _: reply(False, "")
    assert answers(beir, provider, "--read", 4, "--model", "other").exit_code == 1


def test_a_call_that_fails_ends_in_3(beir: Path, provider: ChatProvider) -> None:
    provider.faults, provider.lasting = [{"status": 500, "message": "out of memory"}], True
    done = answers(beir, provider)
    assert done.exit_code == 3
    assert "0 of 2 reference answers" in done.output


def test_a_file_that_a_person_reviewed_is_not_overwritten(beir: Path, provider: ChatProvider) -> None:
    provider.reply_to = lambda _: reply(True, "Because.")
    assert answers(beir, provider).exit_code == 0
    rows = truth(beir)
    rows[0]["accepted_by"] = "Ada"
    (beir.parent / "truth.json").write_text(json.dumps(rows))
    done = answers(beir, provider)
    assert done.exit_code == 2
    assert "has answers accepted by Ada" in done.stderr
    assert truth(beir) == rows
    (beir.parent / "truth.json").write_text("not JSON")
    assert "is no file of reference answers" in answers(beir, provider).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--grade", 3], "has no document of grade 3 or more"),
        (["--questions", "q9"], "has no question 'q9'"),
        (["--read", 9], "9 is not in the range 3<=x<=5"),
    ],
)
def test_what_the_dataset_lacks_is_named(beir: Path, provider: ChatProvider, words: list[object], message: str) -> None:
    done = answers(beir, provider, *words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert provider.asked == []
