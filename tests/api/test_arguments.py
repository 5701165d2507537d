from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb

DOCUMENT = wb.Document("a", "Some text of a document.")
DATASET = wb.Dataset("made", (DOCUMENT,), (wb.Query("q", "text"),), (wb.Qrel("q", "a", 1),))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: wb.chunk_table(DATASET, wb.MarkdownChunker), "chunker is the class MarkdownChunker; make one with its settings"),
        (lambda: wb.show_chunks(DATASET, wb.FixedChunker(size=64)), "document is of type Dataset; give a Document"),
        (lambda: wb.evaluate(DATASET, lambda *_: [], "recall@5"), "dataset is of type function; give a Dataset"),
        (lambda: wb.sweep({"name": "x"}), "experiment is of type dict; give an Experiment"),
        (lambda: wb.Pipeline(retrieval=wb.BM25Retriever), "retrieval is the class BM25Retriever; make one"),
        (lambda: wb.label(DATASET, annotator=5), "annotator is of type int; give a str"),
        (lambda: wb.Experiment("t", 3), "dataset is 3; give a component, or its settings"),
        (lambda: wb.Experiment("t", "nowhere"), "the dataset nowhere does not exist"),
    ],
)
def test_a_slip_in_an_argument_is_one_line(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(wb.InputError) as caught:
        call()
    assert str(caught.value).startswith(says)
