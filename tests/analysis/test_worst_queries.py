import numpy as np

from workbench.analysis.passages import passage_of, text_of
from workbench.analysis.values import detail, per_query
from workbench.execution.local import Outcome
from workbench.report.topics.run.worst import worst_queries
from workbench.results.run_tables import RunTables


def test_the_worst_questions_come_first_and_those_at_their_maximum_are_left_out(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    for name in run.names:
        found = worst_queries(run, name, 99)
        values, attainable = per_query(run, name, str(run.primary)), detail(run, name, "attainable")
        assert len(found) == np.sum(attainable - values > 1e-9)
        assert [one.value for one in found] == sorted(one.value for one in found)
        assert [one.query_id for one in worst_queries(run, name, 2)] == [one.query_id for one in found[:2]]


def test_needs_and_slices_are_shown_with_the_documents_own_text(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    texts = {document.doc_id: document.text for document in few.context.dataset.documents}
    for query in worst_queries(run, "fixed-64-0", 99):
        assert query.needs
        assert query.chunks[0].rank == 1
        for need in query.needs:
            told = "".join(piece.text for piece in need.pieces if piece.role != "plain")
            assert "".join(told.split()) in "".join(texts[need.doc_id][need.start : need.end].split())
            assert (need.state == "missed") == all(piece.role != "delivered" for piece in need.pieces)
        for chunk in query.chunks:
            assert all(
                piece.text.strip(" …") in texts[chunk.doc_id][chunk.start : chunk.end] for piece in chunk.pieces if piece.role != "plain"
            )


def test_passages_hold_all_evidence_with_its_surroundings_and_every_slice_of_the_context(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    texts = {document.doc_id: document.text for document in few.context.dataset.documents}
    for table in (run.evidence, run.context):
        for doc_id, start, end in zip(table["doc_id"], table["start"], table["end"], strict=True):
            assert text_of(run, doc_id, start, end) == texts[doc_id][start:end]
    for doc_id, start, end in zip(run.evidence["doc_id"], run.evidence["start"], run.evidence["end"], strict=True):
        passage = passage_of(run, doc_id, start, end)
        assert passage.start <= max(0, start - 160)
        assert passage.start + len(passage.text) >= min(len(texts[doc_id]), end + 160)
