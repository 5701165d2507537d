from collections.abc import Callable
from typing import Any

import workbench as wb

DOCUMENT = wb.Document("a", "Some text of a document.")
DATASET = wb.Dataset("made", (DOCUMENT,), (wb.Query("q", "text"),), (wb.Qrel("q", "a", 1),))


def test_a_slip_in_an_argument_is_one_line(wording) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "a class of chunkers": lambda: wb.chunk_table(DATASET, wb.MarkdownChunker),
        "a dataset as a document": lambda: wb.show_chunks(DATASET, wb.FixedChunker(size=64)),
        "arguments exchanged": lambda: wb.evaluate(DATASET, lambda *_: [], "recall@5"),
        "a mapping as an experiment": lambda: wb.sweep({"name": "x"}),
        "a class of retrievers": lambda: wb.Pipeline(retrieval=wb.BM25Retriever),
        "a number as an annotator": lambda: wb.label(DATASET, annotator=5),
        "a number as a dataset": lambda: wb.Experiment("t", 3),
        "an unknown dataset": lambda: wb.Experiment("t", "nowhere"),
    }
    wording(lambda call: call(), calls)
