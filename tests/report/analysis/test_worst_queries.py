import re

import numpy as np

from workbench.report.analysis.passages import passage_of, text_of
from workbench.report.analysis.values import detail, per_query
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.run.configurations import delivered_chunks, shown_need, worst_places
from workbench.runner.execution.local import Outcome


def test_the_worst_questions_come_first_and_those_at_their_maximum_are_left_out(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    for name in run.names:
        values, attainable = per_query(run, name, str(run.primary)), detail(run, name, "attainable")
        found = worst_places(run, name)
        assert len(found) == np.sum(attainable - values > 1e-9)
        assert values[found].tolist() == sorted(values[found])


def test_needs_and_slices_are_shown_with_the_documents_own_text(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    texts = {document.doc_id: document.text for document in few.run.dataset.documents}
    context = run.of("context", "fixed-64-0")
    for query_id, evidence in run.evidence.groupby("query_id"):
        delivered = context[(context["query_id"] == query_id) & (context["kept"] > context["start"])]
        for _, rows in evidence.groupby("need", sort=False):
            need = shown_need(run, rows, delivered)
            told = "".join(piece.text for piece in need.pieces if piece.role != "plain")
            assert "".join(told.split()) in "".join(texts[need.doc_id][need.start : need.end].split())
            assert (need.state == "missed") == all(piece.role != "delivered" for piece in need.pieces)
        chunks = delivered_chunks(run, str(query_id), delivered)
        assert chunks[0].name == "1"
        for chunk in (chunk for chunk in chunks if chunk.name):
            doc_id, start, end = re.match(r"(.+):(\d+)-(\d+) · ", chunk.text).groups()
            told = [piece.text.strip(" …") for piece in chunk.pieces if piece.role != "plain"]
            assert all(text in texts[doc_id][int(start) : int(end)] for text in told)


def test_passages_hold_all_evidence_with_its_surroundings_and_every_slice_of_the_context(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    texts = {document.doc_id: document.text for document in few.run.dataset.documents}
    for table in (run.evidence, run.context):
        for doc_id, start, end in zip(table["doc_id"], table["start"], table["end"], strict=True):
            assert text_of(run, doc_id, start, end) == texts[doc_id][start:end]
    for doc_id, start, end in zip(run.evidence["doc_id"], run.evidence["start"], run.evidence["end"], strict=True):
        passage = passage_of(run, doc_id, start, end)
        assert passage.start <= max(0, start - 160)
        assert passage.start + len(passage.text) >= min(len(texts[doc_id]), end + 160)
