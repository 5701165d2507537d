"""The commands of `workbench dataset` on every kind of data."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import workbench
from tests.dataset_tables import write_table
from workbench.cli.main import main
from workbench.core.records import Dataset
from workbench.data.formats.trec import write_qrels
from workbench.data.sources import GoldenSource, NfcorpusSource, recognise

HANDBOOK = Path(__file__).parents[2] / "experiments" / "handbook"


def dataset(*words: object) -> Result:
    return CliRunner().invoke(main, ["dataset", *map(str, words)])


def imported(loaded: Dataset, to: Path, *words: object) -> Result:
    """Import; what then loads from the folder must be what was loaded, but for its name."""
    done = dataset("import", *words, "--to", to)
    assert done.exit_code == 0, done.output
    assert GoldenSource(path=str(to)).load() == dataclasses.replace(loaded, name=to.stem)
    return done


def in_lines(folder: Path) -> None:
    (folder / "documents.jsonl").write_text('{"doc_id": "d", "text": "Ada wrote it. Ada read it.", "url": "x"}\n')
    row = {"query": "Who?", "relevant_chunks": ["Ada"], "note": "kept"}
    (folder / "questions.jsonl").write_text(json.dumps(row))


def test_the_handbook_is_the_same_after_an_import(tmp_path: Path) -> None:
    done = imported(GoldenSource(path=str(HANDBOOK)).load(), tmp_path / "new", HANDBOOK)
    assert done.stdout.startswith(f"{tmp_path}/new: ")


@pytest.mark.parametrize("name", ["covid-qa", "chroma-chunking", "clapnq", "nfcorpus"])
def test_a_beir_folder_is_the_same_after_an_import(big_data: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    folder = big_data(name)
    done = imported(recognise(str(folder), "test").load(), tmp_path / "new", folder, "--split", "test")
    assert ("note: " in done.stdout) == (name == "covid-qa")


def test_nfcorpus_is_the_same_after_an_import(big_data: Callable[[str], Path], tmp_path: Path) -> None:
    folder = big_data("nfcorpus")
    whole = NfcorpusSource(path=str(folder), split="test").load()
    imported(whole, tmp_path / "new", folder, "--kind", "nfcorpus", "--split", "test")


def test_trec_files_are_the_same_after_an_import(big_data: Callable[[str], Path], tmp_path: Path) -> None:
    folder = big_data("nfcorpus")
    whole = recognise(str(folder), "test").load()
    write_qrels(tmp_path / "judged", whole.qrels)
    (tmp_path / "my.tsv").write_text("".join(f"{query.query_id}\t{query.text}\n" for query in whole.queries), "utf-8")
    given = {"qrels": str(tmp_path / "judged"), "documents": str(folder / "corpus.jsonl")}
    loaded = recognise(str(tmp_path / "my.tsv"), None, **given).load()
    assert loaded.qrels == whole.qrels
    options = [word for name, value in given.items() for word in (f"--{name}", value)]
    imported(loaded, tmp_path / "new", tmp_path / "my.tsv", *options)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_are_the_same_after_an_import(big_data: Callable[[str], Path], tmp_path: Path, suffix: str) -> None:
    whole = recognise(str(big_data("covid-qa")), "test").load()
    write_table(whole, tmp_path / "tables", suffix)
    imported(dataclasses.replace(whole, name="tables"), tmp_path / "new", tmp_path / "tables")


def test_a_list_with_pages_is_the_same_after_an_import(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.html").write_text("<title>T</title><h1>Ada</h1><p>She wrote it.")
    (tmp_path / "list.json").write_text(json.dumps([{"query": "Who?", "relevant_doc_ids": ["a"]}]))
    source = recognise(str(tmp_path / "list.json"), None, documents=str(tmp_path / "pages"), kind="list")
    imported(source.load(), tmp_path / "new", tmp_path / "list.json", "--kind", "list", "--documents", tmp_path / "pages")
    assert GoldenSource(path=str(tmp_path / "new")).load().documents[0].text == "# Ada\n\nShe wrote it."


def test_relevant_chunks_are_written_as_spans_and_what_is_not_understood_is_named(tmp_path: Path) -> None:
    in_lines(tmp_path)
    done = imported(GoldenSource(path=str(tmp_path)).load(), tmp_path / "new", tmp_path)
    note = f"note: {tmp_path}/documents.jsonl has 'url' in 1 row(s), which is unknown and ignored"
    assert done.stdout.splitlines()[0] == note
    row = json.loads((tmp_path / "new" / "questions.jsonl").read_text())
    assert [(span["start"], span["text"]) for span in row["evidence"][0]] == [(0, "Ada"), (14, "Ada")]
    assert row["note"] == "kept"
    assert dataset("check", tmp_path).stdout.splitlines()[0] == note


def test_recurrences_are_added_where_they_are_asked_for_by_an_import_as_by_a_direct_load(tmp_path: Path) -> None:
    in_lines(tmp_path)
    evidence = [[{"doc_id": "d", "start": 0, "end": 3}]]
    (tmp_path / "questions.jsonl").write_text(json.dumps({"query": "Who?", "evidence": evidence}))
    plain, recurring = (GoldenSource(path=str(tmp_path), recurrences=wanted).load().needs for wanted in (False, True))
    assert len(plain[0].alternatives) == 1
    assert len(recurring[0].alternatives) == 2
    assert workbench.load_dataset(tmp_path, recurrences=True).needs == recurring
    for options, needs in (((), plain), (("--no-recurrences",), plain), (("--recurrences",), recurring)):
        to = tmp_path / f"new{''.join(options)}"
        assert dataset("import", tmp_path, "--to", to, *options).exit_code == 0
        assert GoldenSource(path=str(to)).load().needs == needs


def test_a_kind_without_evidence_refuses_recurrences(tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_text("q\twho\n")
    done = dataset("import", tmp_path / "topics.tsv", "--recurrences", "--to", tmp_path / "new")
    assert (done.exit_code, done.stderr.count("has no use for --recurrences")) == (2, 1)


def test_a_dataset_with_faults_is_not_imported(tmp_path: Path) -> None:
    in_lines(tmp_path)
    (tmp_path / "questions.jsonl").write_text('{"query": "Who?", "relevant_chunks": ["Eve"]}\n{"query": "Why?"}')
    done = dataset("import", tmp_path, "--to", tmp_path / "new")
    assert done.exit_code == 2
    assert [line.partition(":")[2].strip()[:80] != "" for line in done.stderr.splitlines()] == [True, True]
    assert "questions.jsonl:1 relevant chunk 'Eve'" in done.stderr
    assert "questions.jsonl:2" in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_folder_with_something_in_it_is_refused_in_one_line(tmp_path: Path) -> None:
    in_lines(tmp_path)
    done = dataset("import", tmp_path, "--to", tmp_path)
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert "exists and is not an empty folder; name a new one" in done.stderr


@pytest.mark.parametrize("command", [("check",), ("import", "--to", "new")])
def test_options_that_a_kind_does_not_take_are_one_line(command: tuple[str, ...], tmp_path: Path) -> None:
    in_lines(tmp_path)
    done = dataset(*command, tmp_path, "--qrels", "x")
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert "a dataset of the kind 'golden' has no use for --qrels" in done.stderr
    assert dataset(*command, tmp_path, "--kind", "goldn").exit_code == 2


def test_the_check_reads_every_kind(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "d.txt").write_text("Ada wrote it.")
    (tmp_path / "topics.tsv").write_text("q\twho\n")
    (tmp_path / "qrels.txt").write_text("q 0 d 1\nq 0 e\n")
    done = dataset("check", tmp_path)
    assert (done.exit_code, done.stdout.splitlines()[0]) == (
        1,
        f"{tmp_path}/qrels.txt:2 has 3 fields, not the 4 of query_id 0 doc_id relevance",
    )
    (tmp_path / "asked.csv").write_text("query,relevant_doc_ids\nwho,d\n")
    done = dataset("check", tmp_path / "asked.csv", "--documents", tmp_path / "documents")
    assert (done.exit_code, done.stdout) == (
        0,
        f"{tmp_path}/asked.csv: 1 document, 1 question, 1 judgement, 0 pieces of evidence; 0 faults\n",
    )
