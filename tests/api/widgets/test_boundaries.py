"""The boundaries of a document are those of a sweep, with its faults and its windows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.api.widgets.boundaries import BoundaryModel
from workbench.core.records import Dataset, Document, Need, Query, Span
from workbench.measures.attribution.evidence_state import chunk_faults
from workbench.measures.metrics.inputs import Labels
from workbench.runner.execution.local import Outcome

CHUNKERS = [
    wb.FixedChunker(size=64, overlap=16),
    wb.FixedChunker(size=300, tokens="characters"),
    wb.RecursiveChunker(size=48, enrich=True),
    wb.SentenceChunker(size=40, overlap=10),
    wb.MarkdownChunker(size=64, enrich=True),
    wb.HierarchicalChunker(child=32, parent=128),
    wb.FixedChunker(size=60, tokens="cl100k"),
]


def test_the_offsets_are_those_of_the_chunks_of_a_sweep(few: Outcome) -> None:
    context, model = few.run, BoundaryModel(few.run.dataset)
    for result in few.results:
        table = result.chunks_table
        for place, document in enumerate(context.dataset.documents):
            rows = table[table["doc"] == place][["start", "end", "delivered_start", "delivered_end"]]
            shown = model.cut(document.doc_id, result.configuration.chunking)
            assert [(chunk.start, chunk.end, *chunk.delivered) for chunk in shown.chunks] == [
                tuple(row) for row in rows.to_numpy().tolist()
            ]


@pytest.mark.parametrize("chunker", CHUNKERS, ids=lambda chunker: f"{chunker.name}-{chunker.tokens}")
def test_cut_evidence_and_long_chunks_are_those_of_the_diagnosis(chunker: wb.Chunker, part: wb.Dataset) -> None:
    embedder = wb.SentenceTransformerEmbedder(max_tokens=48)
    model = BoundaryModel(part, embedder)
    for document in part.documents:
        shown = model.cut(document.doc_id, chunker)
        needs = tuple(
            Need(need.query_id, spans)
            for need in part.needs
            if (spans := tuple(span for span in need.alternatives if span.doc_id == document.doc_id))
        )
        alone = Dataset("alone", (document,), part.queries, (), needs)
        inputs = [chunk.embedded_text for chunk in shown.chunks]
        lengths = embedder.lengths(inputs, "document")
        table = wb.chunk_table([document], chunker).assign(doc=0)
        faults = {fault.name: fault.found for fault in chunk_faults(Labels.of(alone), alone, table, inputs, lengths, 48)}
        assert shown.cut_needs == faults.get("evidence cut by a boundary", 0)
        assert shown.needs == len(needs)
        assert list(shown.beyond) == np.flatnonzero(lengths > 48).tolist()
        assert len(shown.beyond) == faults["longer than the window"]


TEXTS = st.lists(
    st.sampled_from(["ferry", "tide-table", "Ä", "東京", "x" * 40, ".", "\n\n", " ", "# Head\n", "3.5", "é́"]), min_size=1, max_size=60
)


@given(TEXTS, st.sampled_from(CHUNKERS), st.text("aé #.\n", max_size=12))
def test_the_chunks_beyond_a_window_are_those_whose_input_is_longer(words: list[str], chunker: wb.Chunker, title: str) -> None:
    document = Document("d", "".join(words), title)
    embedder = wb.SentenceTransformerEmbedder(max_tokens=12)
    model = BoundaryModel(Dataset("wild", (document,), (), ()), embedder)
    if not document.text.strip():
        return
    shown = model.cut("d", chunker)
    lengths = embedder.lengths([chunk.embedded_text for chunk in shown.chunks], "document")
    assert list(shown.beyond) == np.flatnonzero(lengths > 12).tolist()


def test_evidence_is_cut_if_no_chunk_delivers_it_whole() -> None:
    text = "One two three four five six seven eight. " * 8
    needs = (Need("q", (Span("d", 4, 13),)), Need("q", (Span("d", 0, len(text)),)))
    dataset = Dataset("spans", (Document("d", text),), (Query("q", "which <b>numbers</b>?"),), (), needs)
    shown = BoundaryModel(dataset).cut("d", wb.FixedChunker(size=24))
    assert [(mark.start, mark.cut) for mark in shown.evidence] == [(4, False), (0, True)]
    assert (shown.needs, shown.cut_needs, shown.window) == (2, 1, None)
    assert "1 of 2 pieces of evidence cut" in shown.counts


def test_documents_are_found_by_words_of_their_id_and_title() -> None:
    documents = (Document("hr/leave", "a", "Annual leave"), Document("hr/pay", "b", "Salaries"), Document("blank", "  "))
    model = BoundaryModel(Dataset("few", documents, (), ()))
    assert model.found("", 9) == (["hr/leave", "hr/pay"], 2)
    assert model.found("HR annual", 9) == (["hr/leave"], 1)
    assert model.found("", 1) == (["hr/leave"], 2)
