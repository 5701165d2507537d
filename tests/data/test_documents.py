import json
from pathlib import Path

from workbench.core.records import Document
from workbench.data.draft import DatasetDraft
from workbench.data.formats.documents import DEEPEST, read_documents


def read(path: Path) -> DatasetDraft:
    draft = DatasetDraft("d")
    read_documents(path, draft)
    return draft


def test_a_folder_holds_markdown_text_and_html(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "Page.HTM").write_text("\ufeff<title>T</title><h1>Head</h1><p>Caf\u00e9", "utf-8")
    (tmp_path / "a.md").write_text("# A")
    (tmp_path / "b.txt").write_text("B")
    (tmp_path / "c.docx").write_bytes(b"PK")
    (tmp_path / "latin.html").write_bytes("<p>Caf\u00e9".encode("latin-1"))
    (tmp_path / "broken.html").write_text("<p>x<![ y")
    draft = read(tmp_path)
    assert [document for document, _ in draft.documents][:2] == [Document("a", "# A"), Document("b", "B")]
    assert draft.documents[-1][0] == Document("web/Page", "# Head\n\nCaf\u00e9", "T")
    broken, latin, docx = draft.faults
    assert broken.startswith(f"{tmp_path}/broken.html cannot be read as HTML (")
    assert docx == f"{tmp_path}/c.docx is not read: documents are .md, .markdown, .txt, .html, .htm; convert it or move it away"
    assert latin == f"{tmp_path}/latin.html:1 is not UTF-8 (byte 0xe9); save the file as UTF-8"


def test_elements_of_pages_that_are_not_read_are_named_once_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>Text</p><img src=a.png><img src=b.png alt='A bike'><img src=c.png alt=''>")
    (tmp_path / "b.html").write_text("<p>More</p><iframe src=a.html></iframe><svg><text>9</text></svg><svg><path/></svg>")
    draft = read(tmp_path)
    assert draft.notes == [f"{tmp_path} has HTML files with 2 images, 1 embedded page and 1 drawing, whose content is not read"]
    assert [document.text for document, _ in draft.documents] == ["Text", "More"]


def test_lines_may_call_the_id_as_others_do_and_what_is_not_understood_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "documents.jsonl"
    rows = [
        {"_id": "a", "text": "A", "metadata": {"url": "x"}},
        {"id": 2, "text": "B", "metadata": {}},
        {"doc_id": "c", "text": "C", "x": 0},
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    draft = read(file)
    assert [document.doc_id for document, _ in draft.documents] == ["a", "2", "c"]
    assert dict(draft.unread) == {(str(file), "x"): 1}
    assert [dict(document.metadata) for document, _ in draft.documents] == [{"url": "x"}, {}, {}]


def test_a_table_of_documents_is_read_and_a_very_long_cell_too(tmp_path: Path) -> None:
    file = tmp_path / "documents.csv"
    file.write_text(f"doc_id,text,url\na,{'x' * 200_000},there\n")
    draft = read(file)
    assert len(draft.documents[0][0].text) == 200_000
    assert draft.documents[0][1] == f"{file}:2"
    assert dict(draft.unread) == {(str(file), "url"): 1}


def test_folders_that_are_deeper_than_python_recurses_are_a_fault(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["d"] * DEEPEST)
    for name in ("a.md", "d/b.md"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(name)
    draft = DatasetDraft("folder")
    read_documents(tmp_path, draft)
    assert [document.text for document, _ in draft.documents] == ["a.md"]
    assert [fault.rsplit("/", 1)[1] for fault in draft.faults] == ["d is below 200 folders; move it up"]
