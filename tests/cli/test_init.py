"""The command `init`: from a folder of mixed files to a report that names the files that could not be read."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import workbench as wb
from tests.mixed_documents import BIKES, ENERGY, SHED, markdown, mixed_folder
from tests.reading_model import ReadingModel
from workbench.cli.main import main
from workbench.core.records import Document
from workbench.data.conversion.process import ConverterProcess
from workbench.people.new_experiment.documents import read_origins
from workbench.people.new_experiment.start import Place, start_experiment

FAST = (
    "--set",
    "pipeline={retrieval: {kind: bm25}}",
    "--set",
    "sweep={chunking: [{kind: fixed, size: 256, overlap: 0}, {kind: markdown, size: 64}]}",
    "--set",
    "baseline=fixed-256-0-bm25",
)


def workbench(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").split("\n") if line]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with three documents in `docs`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKBENCH_STORE", str(tmp_path / "store"))
    (tmp_path / "docs").mkdir()
    for name, sections in {"bikes": BIKES, "shed": SHED, "energy": ENERGY}.items():
        (tmp_path / "docs" / f"{name}.md").write_text(markdown(sections, name.title()))
    return tmp_path


def state(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_thirty_mixed_files_end_in_a_report_that_names_those_that_could_not_be_read(desk: Path):
    reasons = mixed_folder(desk / "mixed", megabytes=0.01)
    assert len([path for path in (desk / "mixed").rglob("*") if not path.is_dir()]) >= 30
    made = workbench("init", "mixed")
    assert made.exit_code == 0, made.output
    for file, reason in reasons.items():
        (line,) = [line for line in made.stdout.splitlines() if line.startswith(f"skipped: {file} ")]
        assert reason in line
    assert "note: hr/latin1.txt is not UTF-8 and was read as cp1252; check its accents\n" in made.stdout
    assert f"19 documents from 31 files, {len(reasons)} skipped" in made.stdout
    assert "a first report works, but its figures are not a result" in made.stdout
    assert made.stdout.endswith("workbench lab experiments/mixed.yaml --notebook label   # then write the questions\n")
    folder = desk / "experiments" / "mixed"
    assert "Größere Beträge" in (folder / "documents" / "hr" / "latin1.txt").read_text("utf-8")
    questions = rows(folder / "questions.jsonl")
    assert len(questions) >= 20
    assert all(row["synthetic"] and not row["accepted_by"] and row["provenance"] == {"part": "placeholder"} for row in questions)
    assert workbench("dataset", "check", "experiments/mixed").exit_code == 0
    assert workbench("plan", "experiments/mixed.yaml", *FAST).exit_code == 0
    swept = workbench("sweep", "experiments/mixed.yaml", *FAST)
    assert swept.exit_code == 0, swept.output
    page = (desk / "outputs" / "mixed" / "report.html").read_text("utf-8")
    assert "every question is a placeholder, and figures on headings in place of questions are not a result" in page
    assert "Write the questions in place of the placeholders" in page
    assert f"{len(reasons)} files of the folder are not in it" in page
    run = wb.load("outputs/mixed").tables
    assert {each["file"] for each in run.unread} == set(reasons)
    assert all(f">{each['file']}<" in page for each in run.unread)


def test_a_second_run_adds_new_files_and_leaves_the_work_of_a_person_as_it_is(desk: Path):
    assert workbench("init", "docs").exit_code == 0
    folder = desk / "experiments" / "docs"
    before = state(desk / "experiments")
    again = workbench("init", "docs")
    assert again.exit_code == 0, again.output
    assert "0 documents from 3 files, 3 were there before, 0 skipped" in again.stdout
    assert state(desk / "experiments") == before
    # A person edits a document without evidence, rewrites a question, and changes the experiment.
    edited = (folder / "questions.jsonl").read_text("utf-8").replace('"accepted_by": ""', '"accepted_by": "Ada"', 1)
    (folder / "questions.jsonl").write_text(edited.rstrip("\n"), "utf-8")
    (folder / "documents" / "energy.md").write_text((folder / "documents" / "energy.md").read_text() + "More.\n")
    (desk / "experiments" / "docs.yaml").write_text("# mine\n" + (desk / "experiments" / "docs.yaml").read_text())
    kept = state(desk / "experiments")
    (desk / "docs" / "bikes.md").write_text("# Bikes\n\nAll is new.\n")
    (desk / "docs" / "shed.md").unlink()
    (desk / "docs" / "canteen.txt").write_text("The canteen is open from 11:30 to 14:00. A warm meal costs 6 euros for members.\n")
    third = workbench("init", "docs")
    assert third.exit_code == 0, third.output
    assert "note: bikes.md changed, and documents/bikes.md is kept" in third.stdout
    assert "note: documents/energy.md was edited and is kept\n" in third.stdout
    assert "note: shed.md was removed, and documents/shed.md is kept\n" in third.stdout
    assert "experiments/docs.yaml: kept as it is\n" in third.stdout
    now = state(desk / "experiments")
    assert now.keys() - kept.keys() == {"docs/documents/canteen.txt"}
    assert {name for name in kept if now[name] != kept[name]} == {"docs/questions.jsonl", "docs/origins.json"}
    assert (folder / "questions.jsonl").read_text("utf-8").startswith(edited)
    assert {row["relevant_doc_ids"][0] for row in rows(folder / "questions.jsonl")[edited.count("\n") :]} == {"canteen"}


def test_documents_without_a_question_are_named_and_folded_if_they_are_many(desk: Path):
    (desk / "docs" / "table.md").write_text("| a | b |\n|---|---|\n| 1 | 2 |\n")
    made = workbench("init", "docs")
    assert made.exit_code == 0, made.output
    assert "  1 of 4 new documents has no question: table\n" in made.stdout
    for number in range(12):
        (desk / "docs" / f"t{number:02}.md").write_text(f"| a | b |\n|---|---|\n| 9 | {number} |\n")
    (desk / "docs" / "canteen.txt").write_text("The canteen is open from 11:30 to 14:00. A warm meal costs 6 euros for members.\n")
    again = workbench("init", "docs")
    assert "  12 of 13 new documents have no question: t00, t01, t02, t03, t04, t05 and 6 more\n" in again.stdout


@pytest.mark.slow
def test_the_working_directory_with_outputs_and_packages_is_a_folder_of_documents(desk: Path):
    (desk / "node_modules" / "a").mkdir(parents=True)
    (desk / "node_modules" / "a" / "README.md").write_text("# A package\n")
    assert workbench("init", "docs").exit_code == 0
    swept = workbench("sweep", "experiments/docs.yaml", *FAST)
    assert swept.exit_code == 0, swept.output
    made = workbench("init", ".", "--name", "all")
    assert made.exit_code == 0, made.output
    for line in (
        "node_modules/ has packages of programs",
        "experiments/docs/ is the dataset of an experiment",
        "outputs/ has the outputs of",
    ):
        assert f"skipped: {line}" in made.stdout
    assert "experiments/all: 3 documents from " in made.stdout


def test_what_an_interrupted_run_has_written_is_found_again(desk: Path):
    assert workbench("init", "docs").exit_code == 0
    whole = state(desk / "experiments")
    # The record is written last, so this is the state of a run that ended just before.
    record = desk / "experiments" / "docs" / "origins.json"
    record.write_text(json.dumps({"source": json.loads(record.read_text())["source"]}))
    (desk / "experiments" / "docs.yaml").unlink()
    assert workbench("init", "docs").exit_code == 0
    now = state(desk / "experiments")
    assert {name for name in whole if now.get(name) != whole[name]} <= {"docs.yaml"}
    assert now.keys() == whole.keys()


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("document", "../../secret.md", "'../../secret.md' is no path below"),
        ("document", "/etc/hostname", "'/etc/hostname' is no path below"),
        ("document", "documents/a\0.md", "is no path below"),
        ("source", "docs\0", "its source is no path"),
    ],
)
def test_a_record_that_names_files_elsewhere_is_refused(desk: Path, field: str, value: str, reason: str):
    assert workbench("init", "docs").exit_code == 0
    file = desk / "experiments" / "docs" / "origins.json"
    record = json.loads(file.read_text())
    (record if field == "source" else record["documents"][0])[field] = value
    file.write_text(json.dumps(record))
    before = state(desk / "experiments")
    again = workbench("init", "docs")
    assert (again.exit_code, before) == (2, state(desk / "experiments"))
    assert reason in again.stderr


def test_a_folder_named_like_a_document_is_not_in_its_place(desk: Path):
    (desk / "docs" / "energy.md").rename(desk / "docs" / "energy.markdown")
    (desk / "docs" / "energy.md").mkdir()
    (desk / "docs" / "energy.md" / "old.txt").write_text("A boiler burns gas to heat the water.")
    assert workbench("init", "docs").exit_code == 0
    assert (desk / "experiments" / "docs" / "documents" / "energy-md" / "old.txt").is_file()


def test_folders_and_names_that_do_not_fit_are_refused(desk: Path):
    (desk / "experiments" / "mine").mkdir(parents=True)
    (desk / "experiments" / "mine" / "questions.jsonl").write_text("{}")
    cases = {
        ("nowhere",): "nowhere does not exist; give the folder with your documents",
        ("docs/bikes.md",): "docs/bikes.md is a file, not a folder",
        ("docs", "--name", "mine"): "experiments/mine exists and was not made by workbench init; give another --name or --to",
        ("docs", "--name", "My Docs"): "--name My Docs is no name of an experiment; write for example my-docs",
        ("docs", "--to", "."): "the experiment docs would contain its source docs; give another --name or --to",
    }
    for words, message in cases.items():
        refused = workbench("init", *words)
        assert refused.exit_code == 2, refused.output
        assert message in refused.stderr
    assert workbench("init", "docs").exit_code == 0
    (desk / "other").mkdir()
    assert "was made from ../../docs, not from other" in workbench("init", "other", "--name", "docs").stderr


def test_a_folder_without_a_readable_file_exits_with_1(desk: Path):
    (desk / "empty").mkdir()
    (desk / "empty" / "a.md").write_text(" ")
    ended = workbench("init", "empty")
    assert ended.exit_code == 1
    assert "skipped: a.md is empty" in ended.stdout
    assert "no file could be read" in ended.stderr


def test_a_document_of_hostile_text_is_printed_and_stored_harmlessly(desk: Path):
    (desk / "docs" / "evil\x1b[2J.md").write_text("# <script>alert(1)</script>\n\nThe fee of the \x1b]0;x\x07club is 9 euros for guests.\n")
    made = workbench("init", "docs")
    assert made.exit_code == 0, made.output
    assert "\x1b" not in made.output
    assert "\x1b" not in (desk / "experiments" / "docs" / "documents" / "evil-2J.md").read_text()


def test_a_model_writes_the_questions_if_one_is_given(desk: Path, reading_model: ReadingModel):
    made = workbench("init", "docs", "--questions", "2", *reading_model.options)
    assert made.exit_code == 0, made.output
    assert "written by a model" in made.stdout
    questions = rows(desk / "experiments" / "docs" / "questions.jsonl")
    assert {row["provenance"]["model"] for row in questions} == {"qwen3-4b"}
    assert all(row["synthetic"] for row in questions)


@pytest.mark.soak
def test_a_text_of_20_megabytes_is_made_into_an_experiment_with_a_fast_embedder(desk: Path):
    mixed_folder(desk / "mixed", megabytes=20)
    made = workbench("init", "mixed")
    assert made.exit_code == 0, made.output
    assert "embedding: {kind: static}" in (desk / "experiments" / "mixed.yaml").read_text()
    assert os.stat(desk / "experiments" / "mixed" / "documents" / "log.txt").st_size > 20_000_000
    swept = workbench("sweep", "experiments/mixed.yaml", *FAST)
    assert swept.exit_code == 0, swept.output


@pytest.mark.parametrize("name", ["2024", "yes", "null"])
def test_a_name_that_yaml_would_read_as_another_value_can_be_run_again(desk: Path, name: str):
    (desk / "docs").rename(desk / name)
    assert workbench("init", name, "--questions", 0).exit_code == 0
    assert workbench("init", name).exit_code == 0


@pytest.mark.parametrize("to", ["taken", "loop/deeper"])
def test_a_place_that_cannot_be_written_is_one_line_with_the_option(desk: Path, to: str):
    (desk / "taken").write_text("a file")
    (desk / "loop").symlink_to("loop")
    refused = workbench("init", "docs", "--to", to)
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert f"{to}/docs cannot be written (" in refused.stderr
    assert "give another --to" in refused.stderr


def test_a_folder_in_the_place_of_the_experiment_file_is_refused(desk: Path):
    (desk / "experiments" / "docs.yaml").mkdir(parents=True)
    refused = workbench("init", "docs")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "experiments/docs.yaml exists and was not made by workbench init" in refused.stderr
    assert not (desk / "experiments" / "docs").exists()


def test_a_second_init_waits_for_the_first_and_adds_its_own_documents(desk: Path, start: Callable[..., subprocess.Popen[str]]):
    place, second = Place.of(desk / "docs", None, desk / "experiments"), list[subprocess.Popen[str]]()
    script = "import os, sys; os.chdir(sys.argv.pop(1)); from workbench.cli.main import main; main()"

    def write(new: Sequence[Document], _: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        (desk / "docs" / "late.md").write_text(markdown(BIKES, "Late"))
        second.append(start(script, desk, "init", "docs"))
        assert "waiting for another workbench init that writes to" in second[0].stderr.readline()
        return [{"query_id": "q", "query": "Who pays?", "relevant_doc_ids": [new[0].doc_id]}]

    start_experiment(place, 10, ConverterProcess(desk / "docs"), write)
    assert second[0].wait(120) == 0
    assert set(read_origins(place.folder).by_file) == {"bikes.md", "shed.md", "energy.md", "late.md"}
    about = [row["relevant_doc_ids"] for row in rows(place.folder / "questions.jsonl")]
    assert about[0] != ["late"]
    assert ["late"] in about
