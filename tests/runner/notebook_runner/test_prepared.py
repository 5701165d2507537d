"""A notebook prepared for a person: values in its parameters, and the rest as it is."""

from pathlib import Path

import nbformat
import pytest

from workbench.cli.lab import prepare_notebook
from workbench.core.errors import InputError

CODE = 'data = "a"  # type: str\nk = 10  # type: int\nmany = {\n    "a": 1,\n}  # type: dict'


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return written(tmp_path / "source.ipynb", CODE)


def written(path: Path, code: str, tags: tuple[str, ...] = ("parameters",)) -> Path:
    cell = nbformat.v4.new_code_cell(code, metadata={"tags": list(tags)})
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Why?"), cell]), path)
    return path


def code(path: Path) -> str:
    return str(nbformat.read(path, as_version=4).cells[1].source)


def test_values_take_the_lines_of_their_parameters_and_types_stay(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "copy.ipynb"
    assert prepare_notebook(source, target, {"many": {}}, {"data": 'it\'s "b"'})
    assert code(target) == "data = 'it\\'s \"b\"'  # type: str\nk = 10  # type: int\nmany = {}  # type: dict"
    assert code(source) == CODE


def test_an_existing_copy_gets_only_what_is_always_set(source: Path, tmp_path: Path) -> None:
    target = written(tmp_path / "copy.ipynb", "data = 'mine'\nk = 3  # chosen\nmore = 1")
    assert prepare_notebook(source, target, {"k": 5}, {"data": "b"})
    assert code(target) == 'data = "b"\nk = 3  # chosen\nmore = 1'
    before = target.read_bytes()
    assert not prepare_notebook(source, target, {"k": 5}, {"data": "b"})
    assert target.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "tags", "what"),
    [
        ("k = 1", ("parameters",), "has no parameter data; move or rename it"),
        ("data =", ("parameters",), "are no Python; correct them"),
        ("data = 1", (), "has no cell with the tag parameters"),
    ],
)
def test_a_copy_that_cannot_take_the_values_is_refused_and_stays(source: Path, tmp_path: Path, content: str, tags, what: str) -> None:
    target = written(tmp_path / "copy.ipynb", content, tags)
    before = target.read_bytes()
    with pytest.raises(InputError, match=what):
        prepare_notebook(source, target, {}, {"data": "b"})
    assert target.read_bytes() == before
