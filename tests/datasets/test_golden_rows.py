import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.datasets.formats.golden_rows import question_rows, write_golden
from workbench.datasets.sources import GoldenSource
from workbench.errors import DatasetError, InputError
from workbench.records import Dataset, Document, Need, Qrel, Query, Span

SMALL = Dataset(
    "small",
    (Document("d", "Ada wrote it.", "T"), Document("e", "Bob."), Document("f", "Cid.")),
    (Query("q", "Who?", True, "Ada", {"type": "factoid"}), Query("r", "Why?", False)),
    (Qrel("q", "d", 1), Qrel("q", "f", 0), Qrel("q", "e", -1)),
    (Need("q", (Span("d", 0, 3),)),),
)


def test_rows_are_those_a_person_would_write() -> None:
    assert list(question_rows(SMALL)) == [
        {
            "query_id": "q",
            "query": "Who?",
            "relevant_doc_ids": ["d"],
            "irrelevant_doc_ids": ["e"],
            "judged_doc_ids": ["f"],
            "evidence": [[{"doc_id": "d", "start": 0, "end": 3, "text": "Ada"}]],
            "answer": "Ada",
            "type": "factoid",
        },
        {"query_id": "r", "query": "Why?", "answerable": False},
    ]


@settings(max_examples=60)
@given(data=st.data())
def test_any_dataset_is_the_same_after_a_golden_folder(datasets: Callable[..., st.SearchStrategy[Dataset]], data: st.DataObject) -> None:
    dataset = data.draw(datasets())
    with TemporaryDirectory() as folder:
        write_golden(dataset, Path(folder) / "golden")
        assert GoldenSource(path=str(Path(folder) / "golden"), recurrences=False).load() == dataset


def test_the_same_dataset_gives_the_same_bytes_in_a_new_or_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "not/yet/there"):
        write_golden(SMALL, tmp_path / name)
    for name in ("documents.jsonl", "questions.jsonl"):
        assert (tmp_path / "empty" / name).read_bytes() == (tmp_path / "not/yet/there" / name).read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"empty", "not"}


def test_a_place_that_is_taken_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    for taken in (tmp_path / "full", tmp_path / "full" / "notes.txt"):
        with pytest.raises(InputError, match="exists and is not an empty folder; name a new one with --to"):
            write_golden(SMALL, taken)
    with pytest.raises(InputError, match=r"cannot be written \((Not a directory|File exists)\)"):
        write_golden(SMALL, tmp_path / "full" / "notes.txt" / "new")
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "notes.txt"]


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [
        ({"query": "x", "evidence": 1}, DatasetError, "query 'q' has metadata 'query', which is a field of the format"),
        (
            {"answers": ["x"]},
            DatasetError,
            "query 'q' has metadata 'answers', which looks like the field 'answer'; rename it in the source",
        ),
        ({"score": float("inf")}, InputError, "a number does not fit JSON"),
    ],
)
def test_what_the_format_cannot_hold_is_named_and_nothing_is_written(
    tmp_path: Path, metadata: dict[str, object], error: type[InputError], message: str
) -> None:
    dataset = Dataset("d", SMALL.documents, (Query("q", "Who?", metadata=metadata),), SMALL.qrels)
    with pytest.raises(error, match=message):
        write_golden(dataset, tmp_path / "golden")
    assert list(tmp_path.iterdir()) == []


def test_nothing_half_written_is_left_when_the_disk_is_full(tmp_path: Path, run_python: Callable[..., str]) -> None:
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (9, 9))\n"
        "from pathlib import Path\nfrom workbench.datasets.formats.golden_rows import write_golden\nfrom workbench.errors import InputError\n"
        "from workbench.records import Dataset, Document\n"
        "try: write_golden(Dataset('d', (Document('d', 'x'),), (), ()), Path(sys.argv[1]) / 'golden')\n"
        "except InputError as error: print(error)"
    )
    assert "cannot be written (File too large)" in run_python(script, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_lines_hold_what_would_end_a_line_elsewhere(tmp_path: Path) -> None:
    dataset = Dataset("d", (Document("d", "a\u2028b\nc\x85"),), (Query("q", "?\n"),), (Qrel("q", "d", 1),))
    write_golden(dataset, tmp_path / "d")
    assert json.loads((tmp_path / "d" / "documents.jsonl").read_text("utf-8"))["text"] == "a\u2028b\nc\x85"
    assert GoldenSource(path=str(tmp_path / "d")).load() == dataset
