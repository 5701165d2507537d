from workbench.components.chunking.plain import WholeChunker
from workbench.core.records import Chunk, Document


def test_the_whole_document_is_one_chunk_under_its_title() -> None:
    document = Document("d", " Some text.\n", "Title")
    assert WholeChunker().split(document) == [Chunk(document, 0, 12, "Title")]


def test_its_name_has_no_sizes() -> None:
    assert WholeChunker().name == "whole"
    assert WholeChunker().sizes == (None, None)
