"""The commands of the page on generated questions, against a model on the loopback interface."""

import json
import re
import shlex
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.docs.conftest import DOCS, ROOT, blocks
from tests.docs.lesson import check_printed
from tests.reading_model import ReadingModel
from workbench.cli.main import main
from workbench.data.sources import GoldenSource
from workbench.people.generation.candidates import REASONS

PAGE = DOCS / "how-to" / "generate_questions.md"
# The page has all documents and more questions.
FEW = (
    "hr/students-and-apprentices.md",
    "legal/speaking-up.md",
    "support/customer-training-courses.md",
    "finance/foreign-currency-and-grants.md",
)


def misquoting(model: ReadingModel) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the replies of a model whose first quote is not in the text."""
    first = threading.Lock()

    def reply(body: dict[str, Any]) -> dict[str, Any]:
        said = json.loads(model.reply(body)["text"])
        if said.get("quote") and "question" in said and first.acquire(blocking=False):
            said["quote"] = "Ada signs each card."
        return {"text": json.dumps(said)}

    return reply


def test_the_page_generates_accepts_and_checks(reading_model: ReadingModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FEW:
        place = tmp_path / "experiments" / "handbook" / "documents" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((ROOT / "experiments" / "handbook" / "documents" / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKBENCH_STORE", str(tmp_path / "store"))
    reading_model.provider.reply_to = misquoting(reading_model)
    generate, accept, answer = (line.strip() for line in blocks(PAGE, "console"))
    generated, checked = (text.replace("20 of 20", "8 of 8").replace("52 documents, 20", "4 documents, 8") for text in blocks(PAGE, "text"))
    command = generate.replace("http://localhost:8000/v1", reading_model.base_url).replace("--questions 20", "--questions 8")
    assert command.count("--questions 8") == 1
    done = CliRunner().invoke(main, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    check_printed(done.stdout, generated)
    assert CliRunner().invoke(main, shlex.split(accept)[1:]).exit_code == 0
    check_printed(CliRunner().invoke(main, ["dataset", "check", "my-questions"]).stdout, checked)
    # A dataset with questions without answers.
    rows = [json.loads(line) for line in (tmp_path / "my-questions" / "questions.jsonl").read_text("utf-8").split("\n") if line]
    (tmp_path / "my-dataset").mkdir()
    (tmp_path / "my-dataset" / "documents.jsonl").write_bytes((tmp_path / "my-questions" / "documents.jsonl").read_bytes())
    unanswered = [
        {name: value for name, value in row.items() if name not in ("answer", "answer_variants", "synthetic", "provenance", "accepted_by")}
        for row in rows
    ]
    (tmp_path / "my-dataset" / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in unanswered), "utf-8")
    done = CliRunner().invoke(main, shlex.split(answer.replace("http://localhost:8000/v1", reading_model.base_url))[1:])
    assert done.exit_code == 0, done.output
    answered = GoldenSource(path="my-answers").load()
    expected = [row.get("answer", "") for row in rows]
    assert [query.answer for query in answered.queries] == expected
    assert [query.synthetic for query in answered.queries] == [bool(text) for text in expected]
    assert {query.metadata["provenance"]["part"] for query in answered.queries if query.synthetic} == {"answer"}


def test_the_page_names_every_reason() -> None:
    table = PAGE.read_text("utf-8").partition("| reason | check |")[2].partition("\n\n")[0]
    rows = "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    assert re.findall(r"`(\w+)`", rows) == list(REASONS)
