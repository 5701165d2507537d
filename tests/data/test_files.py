from pathlib import Path

import pytest

from workbench.core.errors import InputError
from workbench.data.files import find_in, first_file, nearest_path, require

QUESTIONS = ("questions.jsonl", "questions.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with data/mine/notes.txt."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "mine").mkdir(parents=True)
    (tmp_path / "data" / "mine" / "notes.txt").touch()
    return tmp_path


def test_a_path_that_cannot_be_read_is_one_line_with_the_nearest_one(wording) -> None:
    wording(
        lambda path: require(Path(path), "the dataset"),
        [
            "data/mien",
            "Data/mine",
            "dat/mine/notes.txt",
            "zebra",
            "/zebra/x",
            "$NOWHERE/x",
            "https://example.org/x",
            "my.xlsx",
            "my.ODS",
            "my.zip",
        ],
    )


def test_what_exists_is_returned(folder: Path) -> None:
    assert require(Path("data/mine"), "the dataset") == Path("data/mine")
    assert nearest_path(Path("data/mine")) == Path("data/mine")
    assert first_file(folder / "data", ("mine", "x")) is None
    assert find_in(Path("data"), ("x", "mine/"), "documents") == Path("data/mine")


def test_a_file_under_another_name_is_named_with_the_expected_ones(folder: Path, wording) -> None:
    def find(name: str) -> None:
        (folder / name).touch()
        try:
            find_in(folder, QUESTIONS, "questions")
        finally:
            (folder / name).unlink()

    wording(
        find,
        [
            "questions.txt",
            "questions.ndjson",
            "Questions.jsonl",
            "queries.jsonl",
            "question.jsonl",
            "qa.jsonl",
            "questions.jsonl.txt",
            "questoins.json",
        ],
    )


def test_a_file_elsewhere_or_nowhere_is_named(folder: Path, wording) -> None:
    (folder / "empty").mkdir()
    cases = [
        (".", ("documents.jsonl", "documents/")),
        ("data", ("notes.txt",)),
        ("data/mine", ("data.txt", "mine/")),
        ("empty", ("a", "b", "c")),
        ("data/mine/notes.txt", ("a",)),
    ]
    wording(lambda case: find_in(Path(case[0]), case[1], "documents" if case[0] == "." else "notes"), cases)


def test_a_spreadsheet_in_the_place_of_questions_is_to_be_exported(folder: Path) -> None:
    (folder / "questions.xlsx").touch()
    with pytest.raises(
        InputError, match=r"found questions\.xlsx; it is a spreadsheet: export it as CSV \(UTF-8\); expected questions\.jsonl"
    ):
        find_in(folder, QUESTIONS, "questions")
