"""Docs are executed: links lead somewhere, experiments are valid, examples of data are read, commands exit 0."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from workbench.datasets.sources import SOURCES, GoldenSource
from workbench.experiment.read import experiment_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    (page.name, language, text)
    for page in PAGES
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
]


def blocks(language: str) -> list[tuple[str, str]]:
    found = [(page, text) for page, kind, text in BLOCKS if kind == language]
    assert found
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


# docs/extending.md needs its package: test_extending.py runs it.
@pytest.mark.parametrize(("page", "text"), [(page, text) for page, text in blocks("yaml") if page != "extending.md"])
def test_experiments_and_datasets_in_the_docs_are_valid(page, text):
    settings = yaml.safe_load(text)
    if "name" in settings:
        assert experiment_of(settings, page).configurations
    else:
        for line in text.strip().splitlines():
            source = yaml.safe_load(line)["dataset"]
            SOURCES[source["kind"]].model_validate(source)


@pytest.mark.parametrize("text", [text for _, text in blocks("json")])
def test_questions_in_the_docs_are_read(text, tmp_path):
    (tmp_path / "documents").mkdir()
    for doc_id in ("travel", "leave"):
        (tmp_path / "documents" / f"{doc_id}.md").write_text(f"About {doc_id}.")
    (tmp_path / "questions.jsonl").write_text(text)
    dataset = GoldenSource(path=str(tmp_path)).load()
    assert dataset.queries[0].text == json.loads(text)["query"]


COMMANDS = [
    line.removeprefix(".venv/bin/")
    for _, text in blocks("sh")
    for line in text.strip().splitlines()
    if re.match(r"(\.venv/bin/)?workbench ", line)
]


def test_the_two_commands_of_the_readme_are_targets_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    for line in ("make quickstart", "make test"):
        assert any(line in text for _, text in blocks("sh"))
        assert f"\n{line.removeprefix('make ')}: " in makefile


# These need a sweep's results: tests/cli/test_sweep.py and test_history.py run them.
AFTER_A_SWEEP = ("sweep", "export", "report")


@pytest.mark.parametrize("command", sorted({command for command in COMMANDS if command.split()[1] not in AFTER_A_SWEEP}))
def test_commands_of_the_docs_exit_0(command, tmp_path):
    words = shlex.split(command)[1:]
    outputs = ["--outputs", str(tmp_path)] if words[0] == "plan" else []
    done = subprocess.run(
        [str(Path(sys.executable).parent / "workbench"), *words, *outputs], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_reference_is_what_the_code_says():
    done = subprocess.run([sys.executable, "docs/reference.py", "--check"], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
