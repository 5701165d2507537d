"""What the command line prints and leaves when a server repeats keys and sends escape sequences, by real processes and a real server."""

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from tests import forked
from workbench.cli.main import main

from .conftest import Provider

KEY = "sk-very-secret-key"
# They retitle the terminal, clear it, colour it, reverse a line and break it.
PARTS = ["\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\u202e", "\u2028"]
ESCAPES = "".join(PARTS)


@pytest.fixture
def experiment(tmp_path: Path, provider: Provider) -> Path:
    """An experiment with a document whose name contains escape sequences, on a server."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / f"cats{ESCAPES}.md").write_text("# Cats\n\nCats purr when they are content.\n")
    (tmp_path / "documents" / "dogs.md").write_text("# Dogs\n\nDogs bark at strangers.\n")
    (tmp_path / "questions.jsonl").write_text(json.dumps({"query": "why do dogs bark", "relevant_doc_ids": ["dogs"]}) + "\n")
    embedding = f"{{kind: openai, model: words, base_url: {provider.host}/v1, max_tokens: 64, tokenizer: cl100k, retries: 0}}"
    path = tmp_path / "x.yaml"
    path.write_text(
        f"name: x\ndataset: {{kind: golden, path: {tmp_path}}}\nmetrics: [recall@1]\n"
        f"pipeline: {{embedding: {embedding}}}\nsweep: {{embedding: {{max_tokens: [62, 63, 64]}}}}\n"
    )
    return path


def told(*words: object) -> tuple[int, str]:
    """What a command prints, and its exit code."""
    done = CliRunner().invoke(main, [str(word) for word in words])
    return done.exit_code, done.output


def dirt(text: str) -> list[str]:
    """What must not be printed. A progress bar has escape sequences of its own, but not these."""
    return [repr(part) for part in (*PARTS, "\x1b]", "\x07", "\x9b", KEY[:-4]) if part in text]


@pytest.mark.slow
def test_a_servers_error_prints_no_escape_sequence_and_no_key_and_leaves_none(experiment: Path, provider: Provider) -> None:
    # The key is also where the message is cut.
    message = f"Incorrect key {KEY}{ESCAPES}, you sent Authorization: Bearer {KEY} to http://me:{KEY}@host/?token={KEY} {'x' * 60} {KEY}"
    provider.faults = [{"status": status, "message": message} for status in (401, 400, 500)]
    outputs = experiment.parent / "outputs"
    # A configuration without the server succeeds, since a sweep without any result leaves no tables.
    with_bm25 = "sweep.retrieval=[{kind: dense}, {kind: bm25}]"
    done = forked.run("sweep", experiment, "--outputs", outputs, "--set", with_bm25, env={"OPENAI_API_KEY": KEY})
    printed = done.stdout + done.stderr
    assert done.returncode == 3, printed
    assert all(f"{status}: " in printed for status in (401, 400, 500))
    assert r"\x1b]0;owned\x07" in printed
    left = [path for path in (outputs / "x").rglob("*") if path.is_file()]
    errors = [path.read_text("utf-8") for path in left if path.parent.name == "errors"]
    assert len(errors) == 3
    manifest, failed = (
        json.loads((outputs / "x" / "manifest.json").read_text("utf-8")),
        pd.read_parquet(outputs / "x" / "configurations.parquet"),
    )
    for text in (printed, *errors, *manifest["failures"].values(), *failed["error"].dropna()):
        assert dirt(text) == []
    for path in left:
        assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("address", ["http://localhost:1/v1?token={}", "http://me:{}@localhost:1/v1", "http://localhost:1/{}#{}"])
def test_an_address_with_a_secret_is_refused_without_printing_it(experiment: Path, address: str) -> None:
    changes = ["--set", "sweep={}", "--set", f"pipeline.embedding.base_url={address.format(KEY, KEY)}"]
    for command in ("plan", "sweep"):
        code, printed = told(command, experiment, "--outputs", experiment.parent / "outputs", *changes)
        assert (code, dirt(printed), len(printed.splitlines())) == (2, [], 1)
        assert "base_url contains a " in printed
    assert not (experiment.parent / "outputs").exists()


def test_names_of_files_and_arguments_print_no_escape_sequences(experiment: Path) -> None:
    folder, hostile = experiment.parent, f"{experiment.parent}/none{ESCAPES}"
    (folder / "documents" / f"empty{ESCAPES}.md").write_text("")
    (folder / "documents" / f"binary{ESCAPES}\udcff.md").write_bytes(b"\xff\xfe\x00")
    for words, expected in (
        (("dataset", "check", folder), 1),
        (("dataset", "check", hostile), 2),
        (("dataset", "check", folder, hostile), 2),
        (("dataset", hostile), 2),
        ((f"--{ESCAPES}",), 2),
        (("plan", hostile), 2),
        (("plan", experiment, "--set", hostile), 2),
        (("plan", experiment, "--set", f"pipeline.retrieval.kind={ESCAPES}"), 2),
        (("lab", hostile), 2),
        (("export", hostile), 2),
    ):
        code, printed = told(*words)
        assert (code, dirt(printed)) == (expected, []), words
        assert "owned" in printed
