import json
import os
import socket
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

import workbench
from workbench.cli.main import main
from workbench.core.errors import DatasetError, InputError
from workbench.data.files import FileAccess, RefusedFileError
from workbench.data.formats.trec import read_qrels
from workbench.data.sources import SOURCES, recognise

QUESTION = json.dumps({"query": "Who?", "relevant_doc_ids": ["d"]})


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """A golden folder with documents/d.md, and beside it a file that is none of its business."""
    folder = tmp_path / "golden"
    (folder / "documents").mkdir(parents=True)
    (folder / "documents" / "d.md").write_text("Ada wrote it.")
    (folder / "questions.jsonl").write_text(QUESTION)
    (tmp_path / "secret.txt").write_text("secret")
    return folder


def faults(folder: Path, **given: str) -> list[str]:
    with pytest.raises(DatasetError) as caught:
        recognise(str(folder), None, **given).load()
    return [fault.replace(str(folder), "here") for fault in caught.value.faults]


def dataset(*words: object) -> Result:
    return CliRunner().invoke(main, ["dataset", *map(str, words)])


def test_a_link_out_of_a_folder_of_documents_is_a_fault_and_is_not_imported(golden: Path, tmp_path: Path) -> None:
    (golden / "documents" / "passwd.txt").symlink_to("/etc/passwd")
    (golden / "documents" / "page.html").symlink_to("../../secret.txt")
    assert faults(golden) == [
        f"here/documents/page.html is a link to {tmp_path}/secret.txt, outside of here; put a copy in its place",
        "here/documents/passwd.txt is a link to /etc/passwd, outside of here; put a copy in its place",
    ]
    done = dataset("import", golden, "--to", tmp_path / "new")
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("golden", ("questions.jsonl", "documents.jsonl", "questions.json")),
        ("golden", ("questions.jsonl", "documents")),
        ("beir", ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "evidence.jsonl")),
        ("trec", ("topics.tsv", "qrels.txt", "documents.jsonl")),
        ("table", ("questions.csv", "documents.csv")),
        ("table", ("questions.parquet", "documents.parquet")),
    ],
)
def test_a_link_out_of_a_dataset_is_a_fault_in_every_format(tmp_path: Path, kind: str, names: tuple[str, ...]) -> None:
    folder, outside = tmp_path / "inside", tmp_path / "secret"
    outside.write_bytes(b"secret")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(outside)
    split = {"split": "test"} if kind == "beir" else {}
    draft = SOURCES[kind].model_validate({"path": str(folder)} | split).read()
    refused = [fault for fault in draft.faults if f"is a link to {outside}, outside of {folder}; put a copy in its place" in fault]
    assert len(refused) == len([name for name in names if name != "questions.json"])
    assert not any("secret" in fault.replace(str(outside), "") for fault in draft.faults)


def test_files_beside_a_topics_file_are_not_followed_out_of_its_folder(golden: Path, tmp_path: Path) -> None:
    (golden / "topics.tsv").write_text("1\twho\n")
    (golden / "qrels.txt").symlink_to(tmp_path / "secret.txt")
    assert f"here/qrels.txt is a link to {tmp_path}/secret.txt, outside of here; put a copy in its place" in [
        fault.replace(str(golden), "here") for fault in recognise(str(golden / "topics.tsv"), None).read().faults
    ]


def test_a_named_path_may_be_a_link_and_so_may_a_file_inside_its_folder(golden: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(golden)
    (golden / "documents" / "again.md").symlink_to("d.md")
    (golden / "documents" / "shared.txt").symlink_to("../questions.jsonl")
    loaded = recognise(str(tmp_path / "link"), None).load()
    assert [document.doc_id for document in loaded.documents] == ["again", "d", "shared"]
    apart = tmp_path / "apart"
    (golden / "documents").rename(apart)
    (golden / "documents").symlink_to(apart)
    assert faults(golden) == [f"here/documents is a link to {apart}, outside of here; put a copy in its place"]
    (apart / "shared.txt").unlink()
    named = recognise(str(golden), None, documents=str(golden / "documents")).load()
    assert [document.doc_id for document in named.documents] == ["again", "d"]


def test_links_to_folders_are_noted_if_nothing_is_lost_and_faults_otherwise(golden: Path, tmp_path: Path) -> None:
    (golden / "documents" / "loop").symlink_to(".")
    (golden / "documents" / "elsewhere").symlink_to(tmp_path)
    (golden / "more").mkdir()
    (golden / "documents" / "more").symlink_to("../more")
    draft = recognise(str(golden), None).read()
    here = golden / "documents"
    assert draft.notes == [f"{here}/loop is a link to the folder {here}, whose documents are read once, under that path"]
    assert sorted(draft.faults) == [
        f"{here}/elsewhere is a link to {tmp_path}, outside of {golden}; put a copy in its place",
        f"{here}/more is a link to the folder {golden}/more; put a copy in its place",
    ]
    assert [document.doc_id for document, _ in draft.documents] == ["d"]


def test_links_that_lead_nowhere_are_faults(golden: Path) -> None:
    (golden / "documents" / "gone.md").symlink_to("nothing.md")
    (golden / "documents" / "round.md").symlink_to("round.md")
    assert faults(golden) == [
        "here/documents/gone.md cannot be read (No such file or directory); give a readable file",
        "here/documents/round.md cannot be read (Too many levels of symbolic links); give a readable file",
    ]


def test_a_pipe_a_socket_and_a_device_are_refused_without_waiting(golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(golden / "documents" / "pipe.md")
    monkeypatch.chdir(golden / "documents")  # the path of a socket is at most 108 bytes
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.txt")
        assert faults(golden) == [
            "here/documents/pipe.md is a pipe, not a file; put a file in its place",
            "here/documents/socket.txt is a socket, not a file; put a file in its place",
        ]
    for kind in ("golden", "trec", "table", "list"):
        done = dataset("check", "/dev/zero", "--kind", kind, "--documents", golden / "documents")
        assert (done.exit_code, done.stderr) == (2, "workbench: the dataset /dev/zero is a device, not a file; give a file or a folder\n")
    questions = tmp_path / "zero.jsonl"
    questions.symlink_to("/dev/zero")
    done = dataset("check", questions, "--documents", golden / "documents")
    assert (done.exit_code, done.stderr.count("is a device")) == (2, 1)
    with pytest.raises(InputError, match="is a device"):
        read_qrels(Path("/dev/zero"))


def test_a_file_above_the_limit_is_a_fault_that_names_the_setting(golden: Path) -> None:
    (golden / "documents" / "big.txt").write_bytes(b"x " * 600_000)
    done = dataset("check", golden, "--max-file-mb", 1)
    big = "documents/big.txt has 1 MB, more than max_file_mb allows (1); split it, or raise max_file_mb (--max-file-mb)"
    assert (done.exit_code, done.stdout.splitlines()[0]) == (1, f"{golden}/{big}")
    with pytest.raises(DatasetError, match="raise max_file_mb"):
        workbench.load_dataset(golden, max_file_mb=1)
    with pytest.raises(InputError, match="needs another --max-file-mb: smaller than 1"):
        workbench.load_dataset(golden, max_file_mb=0)
    assert len(workbench.load_dataset(golden, max_file_mb=2).documents) == 2
    assert SOURCES["golden"].model_validate({"path": "x", "max_file_mb": 7}).settings()["max_file_mb"] == 7


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="needs a file whose size is not that of its content")
def test_a_file_that_is_longer_than_its_size_said_is_refused() -> None:
    with pytest.raises(RefusedFileError, match="changed while it was read"):
        FileAccess().read(Path("/proc/self/status"))


def test_a_sparse_file_of_a_terabyte_is_refused_before_it_is_read(golden: Path) -> None:
    os.truncate(golden / "questions.jsonl", 10**12)
    assert faults(golden) == [
        "here/questions.jsonl has 1,000,000 MB, more than max_file_mb allows (1,024); split it, or raise max_file_mb (--max-file-mb)"
    ]


def test_parquet_that_unpacks_to_more_than_the_limit_is_a_fault(golden: Path) -> None:
    (golden / "questions.jsonl").unlink()
    pd.DataFrame({"query": ["x" * 10_000] * 3_000}).to_parquet(golden / "questions.parquet")
    assert (golden / "questions.parquet").stat().st_size < 100_000
    with pytest.raises(DatasetError, match=r"questions\.parquet unpacked has \d+ MB, more than max_file_mb allows \(8\)"):
        recognise(str(golden), None, max_file_mb=8).load()


REPEATED = pa.array([0] * 30_000, pa.int32())
TEXT = pa.array(["x" * 100_000])


@pytest.mark.parametrize(
    "column",
    [
        pa.DictionaryArray.from_arrays(REPEATED, TEXT),
        TEXT.take(pa.array([0] * 300)),
        pa.array([["x" * 100_000] * 300]),
        pa.array([[("x" * 100_000, "y")] * 300], pa.map_(pa.string(), pa.string())),
        pa.array([{"x": "x" * 100_000}] * 300),
        pa.array([b"x" * 100_000] * 300, pa.binary(100_000)),
        pa.nulls(5_000_000),
        pa.array([[None] * 1_000_000], pa.list_(pa.null())),
        pa.array([1] * 1_000_000),
    ],
    ids=["a dictionary", "text", "a list", "a map", "a struct", "fixed bytes", "nulls", "a list of nulls", "numbers"],
)
def test_a_small_parquet_file_of_values_that_repeat_is_refused_before_they_fill_memory(golden: Path, column: pa.Array) -> None:
    (golden / "questions.jsonl").unlink()
    parquet.write_table(pa.table({"query": column}), golden / "questions.parquet")
    assert (golden / "questions.parquet").stat().st_size < 30_000
    usual, measured = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(measured)
    try:
        with pytest.raises(DatasetError, match=r"questions\.parquet unpacked has \d+ MB, more than max_file_mb allows \(20\)"):
            recognise(str(golden), None, max_file_mb=20).load()
    finally:
        pa.set_memory_pool(usual)
    assert (measured.max_memory() or 0) < 5_000_000


def test_a_name_that_is_not_utf_8_is_a_fault_that_can_be_printed(golden: Path) -> None:
    (golden / "documents").joinpath(os.fsdecode(b"caf\xe9.md")).write_text("x")
    assert faults(golden) == ["here/documents/caf\ufffd.md has a name that is not UTF-8; rename it"]


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000])
def test_a_path_that_no_file_can_have_is_one_line(path: str) -> None:
    with pytest.raises(InputError, match=r"cannot be read|does not exist"):
        recognise(path, None)
    with pytest.raises(InputError, match=r"cannot be read|does not exist"):
        SOURCES["golden"].model_validate({"path": path}).load()
