import re
from html import unescape
from pathlib import Path

import pytest

import workbench as wb
from tests.tiny_dataset import write_dataset
from workbench.api.datasets import _MARK

TAG = re.compile(r"<[^>]*>")
NUMBER = re.compile(rf'<span style="{_MARK}">(.*?)</span>')


@pytest.fixture
def tiny(tmp_path: Path) -> wb.Dataset:
    return wb.load_dataset(write_dataset(tmp_path / "tiny", evidence=True))


@pytest.mark.parametrize("chunker", [wb.FixedChunker(size=16, overlap=6), wb.HierarchicalChunker(child=16, parent=48), wb.WholeChunker()])
def test_the_table_has_the_chunks_that_split_returns(tiny: wb.Dataset, chunker: wb.Chunker) -> None:
    table = wb.chunk_table(tiny, chunker)
    chunks = [chunk for document in tiny.documents for chunk in chunker.split(document)]
    assert table["chunk_id"].tolist() == [chunk.chunk_id for chunk in chunks]
    assert table["text"].tolist() == [chunk.text for chunk in chunks]
    assert list(zip(table["delivered_start"], table["delivered_end"], strict=True)) == [chunk.delivered for chunk in chunks]
    assert wb.chunk_table(tiny.documents[:1], chunker)["doc_id"].unique().tolist() == [tiny.documents[0].doc_id]


@pytest.mark.parametrize("chunker", [wb.FixedChunker(size=16, overlap=6), wb.SentenceChunker(size=32), wb.WholeChunker()])
def test_the_display_of_chunks_has_all_text_once_escaped_and_numbers_every_chunk(tiny: wb.Dataset, chunker: wb.Chunker) -> None:
    for document in tiny.documents:
        html = wb.show_chunks(document, chunker)._repr_html_()
        body = html.partition("</p>")[2]
        assert unescape(TAG.sub("", NUMBER.sub("", body))) == document.text
        assert "<script" not in html
        numbers = [int(number) for marks in NUMBER.findall(body) for number in marks.split(",")]
        assert sorted(numbers) == list(range(1, len(chunker.split(document)) + 1))


def test_overlaps_are_marked_as_such(tiny: wb.Dataset) -> None:
    boats = tiny.documents[[document.doc_id for document in tiny.documents].index("boats")]
    assert "dotted" in wb.show_chunks(boats, wb.FixedChunker(size=16, overlap=6))._repr_html_()
    assert "dotted" not in wb.show_chunks(boats, wb.FixedChunker(size=16))._repr_html_()


def test_a_dataset_knows_the_settings_that_read_it_again(tiny: wb.Dataset, tmp_path: Path) -> None:
    assert tiny.source == {"kind": "golden", "path": str(tmp_path / "tiny")}


def test_a_path_that_does_not_exist_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(wb.InputError, match="nowhere"):
        wb.load_dataset(tmp_path / "nowhere")
