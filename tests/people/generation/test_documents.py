import json
from pathlib import Path

import pytest

from workbench.core.errors import DatasetError, InputError
from workbench.data.sources import read_sources


def page(folder: Path, name: str, text: str = "Ada wrote it.") -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    return folder


def test_a_folder_of_documents_has_no_questions(tmp_path: Path) -> None:
    source = read_sources(str(page(page(tmp_path / "pages", "a.md"), "hr/b.html", "<p>Eve read it.")))
    assert (source.name, [document.doc_id for document in source.documents], source.queries) == ("pages", ["a", "hr/b"], ())


def test_documents_below_their_usual_names_are_found(tmp_path: Path) -> None:
    assert [document.doc_id for document in read_sources(str(page(tmp_path, "documents/a.md"))).documents] == ["a"]
    lines = page(tmp_path / "lines", "documents.jsonl", '{"doc_id": "d", "text": "Ada wrote it."}\n')
    assert [document.doc_id for document in read_sources(str(lines)).documents] == ["d"]
    assert read_sources(str(lines / "documents.jsonl")).documents == read_sources(str(lines)).documents


def test_a_dataset_keeps_its_questions(tmp_path: Path) -> None:
    page(tmp_path, "documents/a.md")
    page(tmp_path, "questions.jsonl", json.dumps({"query": "Who?", "relevant_doc_ids": ["a"]}))
    assert [query.text for query in read_sources(str(tmp_path)).queries] == ["Who?"]


def test_documents_with_faults_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"are not read|is not read"):
        read_sources(str(page(tmp_path, "a.pdf")))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match="has no documents"):
        read_sources(str(tmp_path / "empty"))
    with pytest.raises(DatasetError, match="more than max_file_mb"):
        read_sources(str(page(tmp_path / "big", "a.md", "a" * 1_000_001)), max_file_mb=1)


def test_a_path_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the documents .* does not exist"):
        read_sources(str(tmp_path / "none"))
