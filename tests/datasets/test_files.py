from pathlib import Path

import pytest

from workbench.datasets.files import find_in, first_file, nearest_path, require
from workbench.errors import InputError

QUESTIONS = ("questions.jsonl", "questions.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with data/mine/notes.txt."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "mine").mkdir(parents=True)
    (tmp_path / "data" / "mine" / "notes.txt").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("data/mien", "the dataset data/mien does not exist in the working directory {here}; did you mean data/mine?"),
        ("Data/mine", "the dataset Data/mine does not exist in the working directory {here}; did you mean data/mine?"),
        (
            "dat/mine/notes.txt",
            "the dataset dat/mine/notes.txt does not exist in the working directory {here}; did you mean data/mine/notes.txt?",
        ),
        ("zebra", "the dataset zebra does not exist in the working directory {here}; give its path (dataset.path in an experiment)"),
        ("/zebra/x", "the dataset /zebra/x does not exist; give its path (dataset.path in an experiment)"),
        ("$NOWHERE/x", "the dataset $NOWHERE/x does not exist; set the environment variable NOWHERE"),
        ("https://example.org/x", "the dataset https:/example.org/x is an address, not a path; download it, and give its folder"),
        ("my.xlsx", "the dataset my.xlsx cannot be read; it is a spreadsheet: export it as CSV (UTF-8)"),
        ("my.ODS", "the dataset my.ODS cannot be read; it is a spreadsheet: export it as CSV (UTF-8)"),
        ("my.zip", "the dataset my.zip cannot be read; it is an archive: unpack it"),
    ],
)
def test_a_path_that_cannot_be_read_is_one_line_with_the_nearest_one(folder: Path, path: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        require(Path(path), "the dataset")
    assert caught.value.lines == [message.format(here=folder)]


def test_what_exists_is_returned(folder: Path) -> None:
    assert require(Path("data/mine"), "the dataset") == Path("data/mine")
    assert nearest_path(Path("data/mine")) == Path("data/mine")
    assert first_file(folder / "data", ("mine", "x")) is None
    assert find_in(Path("data"), ("x", "mine/"), "documents") == Path("data/mine")


@pytest.mark.parametrize(
    "name",
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
def test_a_file_under_another_name_is_named_with_the_expected_ones(folder: Path, name: str) -> None:
    (folder / name).touch()
    with pytest.raises(InputError) as caught:
        find_in(folder, QUESTIONS, "questions")
    assert caught.value.lines == [f"{folder} has no questions; found {name}; expected questions.jsonl or questions.json"]


@pytest.mark.parametrize(
    ("place", "names", "message"),
    [
        (".", ("documents.jsonl", "documents/"), ". has no documents; expected documents.jsonl or documents/; it contains data and empty"),
        ("data", ("notes.txt",), "data has no notes, but data/mine has; give that folder"),
        ("data/mine", ("data.txt", "mine/"), "data/mine has no notes, but {here}/data has; give that folder"),
        ("empty", ("a", "b", "c"), "empty has no notes; expected a, b or c; the folder is empty"),
        ("data/mine/notes.txt", ("a",), "data/mine/notes.txt is a file, not a folder with notes; give a folder, such as data/mine"),
    ],
)
def test_a_file_elsewhere_or_nowhere_is_named(folder: Path, place: str, names: tuple[str, ...], message: str) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(InputError) as caught:
        find_in(Path(place), names, "documents" if place == "." else "notes")
    assert caught.value.lines == [message.format(here=folder)]


def test_a_spreadsheet_in_the_place_of_questions_is_to_be_exported(folder: Path) -> None:
    (folder / "questions.xlsx").touch()
    with pytest.raises(
        InputError, match=r"found questions\.xlsx; it is a spreadsheet: export it as CSV \(UTF-8\); expected questions\.jsonl"
    ):
        find_in(folder, QUESTIONS, "questions")
