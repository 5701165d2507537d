from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from workbench.components.chunking.base import Chunker
from workbench.components.chunking.plain import SentenceChunker
from workbench.components.chunking.recursive import HierarchicalChunker
from workbench.core import batching
from workbench.core.records import Chunk, Document
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, tokenise
from workbench.runner.pipeline.chunk_table import Chunks, chunk_tables

TEXT = "Cats purr when they are content. Dogs bark at strangers.\n\n# Whales\n\nThey sing in the deep. Nobody knows why. "
DOCUMENTS = [Document(f"d{n}", TEXT[n % 7 :] * (n % 5), "Animals" * (n % 3 == 0)) for n in range(40)]
CHUNKERS = [SentenceChunker(size=16), SentenceChunker(size=24, overlap=8, enrich=True), HierarchicalChunker(child=16, parent=48)]


@pytest.mark.parametrize("chunker", CHUNKERS, ids=lambda chunker: chunker.name)
@pytest.mark.parametrize("size", [1, 30_000, 32_000_000])
def test_a_table_holds_the_chunks_of_all_documents_however_many_are_cut_at_once(
    chunker: Chunker, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "BYTES", size)
    parts = list(chunk_tables(DOCUMENTS, chunker))
    assert (len(parts) == 1) == (size == 32_000_000)
    table = pd.concat(parts, ignore_index=True)
    found = [chunk for document in DOCUMENTS for chunk in chunker.split(document)]
    # A parent that is the chunk itself is none.
    expected = [replace(chunk, parent=None) if chunk.parent == (chunk.start, chunk.end) else chunk for chunk in found]
    chunks = Chunks(DOCUMENTS, table)
    assert list(chunks) == chunks[:] == expected
    assert list(chunks.ids) == [chunk.chunk_id for chunk in expected]
    texts = {document.doc_id: document for document in DOCUMENTS}
    slices = [texts[chunk.doc_id].text[chunk.start : chunk.end] for chunk in expected]
    headers = [f"{chunk.header} " if chunk.header else "" for chunk in expected]
    assert list(chunks.inputs) == [header + text for header, text in zip(headers, slices, strict=True)]
    starts = {document.doc_id: tokenise([document.text], BUDGET_VOCABULARY)[0].starts for document in DOCUMENTS}
    counted = [np.searchsorted(starts[chunk.doc_id], chunk.delivered) for chunk in expected]
    assert table["tokens"].tolist() == [last - first for first, last in counted]


def test_a_corpus_without_text_has_a_table_without_rows() -> None:
    (table,) = chunk_tables([Document("a", ""), Document("b", " \n")], SentenceChunker(size=16))
    assert len(table) == 0
    assert list(table.columns) == ["doc", "start", "end", "delivered_start", "delivered_end", "header", "tokens"]
    assert list(Chunks([], table).inputs) == []


def test_one_item_is_found_from_either_end() -> None:
    table = pd.concat(chunk_tables(DOCUMENTS, SentenceChunker(size=16)), ignore_index=True)
    chunks = Chunks(DOCUMENTS, table)
    whole = list(chunks)
    assert len(chunks) == len(whole) > 100
    assert (chunks[0], chunks[57], chunks[-1]) == (whole[0], whole[57], whole[-1])
    assert chunks[10:13] == whole[10:13]
    assert chunks[-1:1_000_000] == whole[-1:]
    with pytest.raises(IndexError):
        chunks[len(whole)]


def test_records_are_the_tables_rows() -> None:
    rows = {"doc": [0, 1], "start": [0, 5], "end": [4, 9], "delivered_start": [0, 0], "delivered_end": [4, 20], "header": ["Animals", ""]}
    assert list(Chunks(DOCUMENTS, pd.DataFrame(rows))) == [Chunk(DOCUMENTS[0], 0, 4, "Animals"), Chunk(DOCUMENTS[1], 5, 9, "", (0, 20))]
