"""The packed questions: values, evidence by rank, chunks, answers, and what a page leaves out so that it stays small."""

import base64
import json
import zlib

import numpy as np
import pandas as pd
import pytest

from workbench.measures.attribution.causes import CAUSE_NAMES, CAUSE_WORDS
from workbench.report.analysis.findings import findings
from workbench.report.analysis.pairwise import contrast
from workbench.report.analysis.values import per_query
from workbench.report.model import Prose, Terms
from workbench.report.render.html import write_report
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.retrieval.evidence_ranks import EvidenceRank, evidence_ranks, needed_evidence
from workbench.report.topics.retrieval.questions import EvidencePhrases, Passages, compute, drill, drill_section, packed, static_list
from workbench.runner.execution.collect import collect


def unpacked(details):
    return json.loads(zlib.decompress(base64.b64decode(details.packed)))


def packed_of(run, **changes):
    found = findings(run)
    return drill(found, found.names, **changes)


def chunks(flat):
    """The numbers of passages, the ranks and the numbers of delivered characters, by chunk."""
    return list(zip(*(flat[len(flat) // 3 * part : len(flat) // 3 * (part + 1)] for part in range(3)), strict=True))


def of_texts(*texts):
    """The passages of a run whose documents d0, d1, ... are kept whole."""
    rows = [{"doc_id": f"d{number}", "start": 0, "end": len(text), "text": text} for number, text in enumerate(texts)]
    return Passages(RunTables({}, {"passages": lambda _: pd.DataFrame(rows)}))


def test_every_question_has_its_values_and_the_causes_of_its_misses(made):
    run = collect(made.ran(3))
    details = packed_of(run)
    data = unpacked(details)
    assert (details.detailed, details.shown, details.queries) == (120, 120, 120)
    for place, name in enumerate(run.names):
        values = per_query(run, name, str(run.primary))
        assert np.allclose([query["v"][place] for query in data["queries"]], values, atol=1e-9)
        missed = run.of("causes", name).drop_duplicates("query_id").set_index("query_id")["cause"].map(CAUSE_NAMES.index)
        assert {query["i"]: query["c"][place] for query in data["queries"] if query["c"][place] >= 0} == missed.to_dict()
        assert sum(query["k"] - query["d"][place] for query in data["queries"]) == len(run.of("causes", name))
    assert [data["causes"][CAUSE_NAMES.index(name)] for name in CAUSE_NAMES] == list(CAUSE_WORDS.values())


def test_delivered_text_reads_as_in_the_documents(made):
    outcome = made.ran(2)
    run = collect(outcome)
    data = unpacked(packed_of(run))
    texts = {document.doc_id: document.text for document in outcome.run.dataset.documents}
    for query in data["queries"][:20]:
        spent = [0, 0]
        for place, hits in enumerate(query["h"]):
            ranks = [rank for _, rank, _ in chunks(hits)]
            assert ranks == sorted(set(ranks))
            for passage, _, units in chunks(hits):
                doc, start, end = data["passages"][3 * passage : 3 * passage + 3]
                doc_id, stretches = data["documents"][str(doc)]
                (low, text), *_ = [one for one in stretches if one[0] <= start and end <= one[0] + len(one[1])]
                assert text[start - low : end - low] == texts[doc_id][start:end]
                spent[place] += end - start if units < 0 else units
        assert all(spent)


def test_the_ranks_of_evidence_are_those_of_the_chunks_that_hold_it(made):
    run = collect(made.ran(3))
    needed, seen = needed_evidence(run), set()
    for query_id, context, ranks in [
        (one, run.of("context", name), ranks) for name in run.names for one, ranks in evidence_ranks(run, name).items()
    ]:
        hits = context[context["query_id"] == query_id].set_index("rank")
        for piece, found in zip(needed[query_id], ranks, strict=True):
            (doc_id, start, end), *_ = piece.alternatives
            shares = [
                max(0, min(end, hits["kept"][rank]) - max(start, hits["start"][rank]))
                for rank in found.ranks
                if hits["doc_id"][rank] == doc_id
            ]
            seen.add((found.delivered, found.in_part, len(found.ranks) > 1))
            if found.delivered or found.in_part:
                assert len(shares) == len(found.ranks)
                assert all(shares)
            if found.delivered and len(found.ranks) == 1:
                assert shares == [end - start]
            if found.in_part:
                assert sum(shares) < end - start
    for name in run.names:
        missed = {query_id for query_id, ranks in evidence_ranks(run, name).items() if not all(each.delivered for each in ranks)}
        assert missed == set(run.of("causes", name)["query_id"])
    # Whole in one chunk, split over several, in part, and missed.
    assert {(True, False, False), (True, False, True), (False, True, False)} <= seen


def test_relevant_documents_have_their_ranks_among_documents(run):
    tables = collect(run(evidence=False, name="ranks-of-documents", metrics=["recall@3"], sweep={}))
    name = tables.names[0]
    hits = tables.of("hits", name).sort_values("rank").drop_duplicates(["query_id", "doc_id"])
    order = {query_id: rows["doc_id"].tolist() for query_id, rows in hits.groupby("query_id")}
    pairs = [
        (order[query_id].index(piece.doc_id) + 1 if piece.doc_id in order[query_id] else 0, found)
        for query_id, ranks in evidence_ranks(tables, name).items()
        for piece, found in zip(needed_evidence(tables)[query_id], ranks, strict=True)
    ]
    assert pairs
    # A miss has its rank also where the list of hits ends before it.
    assert all(found.ranks == (rank,) if rank else not found.delivered for rank, found in pairs)
    assert {found.delivered for _, found in pairs} == {True, False}
    assert all(found.delivered == (found.ranks[0] <= 3) for _, found in pairs)


@pytest.mark.parametrize(
    ("found", "phrase"),
    [
        (EvidenceRank("", (3,)), "rank 3"),
        (EvidenceRank("", (3, 5)), "split over ranks 3 + 5"),
        (EvidenceRank("", ()), "not known"),
        (EvidenceRank("rank", (28,)), "rank 28, cut off"),
        (EvidenceRank("rank", ()), "not among the 9 chunks retrieved"),
        (EvidenceRank("rank", (7,), True), "a part at rank 7, the rest ranked too low"),
        (EvidenceRank("boundary", (7, 9), True), "a part at ranks 7 + 9, split over chunks"),
        (EvidenceRank("window", (4,)), "rank 4, beyond the embedder's window"),
        (EvidenceRank("not_indexed", ()), "not indexed"),
    ],
)
def test_ranks_are_worded_as_people_say_them(made, found, phrase):
    run = collect(made.ran(2))
    phrases = EvidencePhrases(run, run.names[0])
    phrases._ranks, phrases._listed = {"q": [found]}, {"q": 9}
    assert phrases.joined("q") == phrase


def test_passages_of_questions_that_differ_least_are_left_out_first_and_then_these_questions(made):
    run = collect(made.ran(3))
    whole = packed_of(run)
    apart = {query["i"]: max(query["v"]) - min(query["v"]) for query in unpacked(whole)["queries"]}
    some = packed_of(run, most=len(whole.packed) * 3 // 4)
    assert len(some.packed) <= len(whole.packed) * 3 // 4
    assert 0 < some.detailed < some.shown == some.queries
    kept = {query["i"] for query in unpacked(some)["queries"] if "h" in query}
    assert len(kept) == some.detailed
    assert min(apart[one] for one in kept) >= max(apart[one] for one in apart.keys() - kept)
    few = packed_of(run, most=len(whole.packed) // 8)
    assert few.detailed == 0
    assert 0 < few.shown < few.queries
    assert len(few.packed) <= len(whole.packed) // 8
    listed = {query["i"] for query in unpacked(few)["queries"]}
    assert min(apart[one] for one in listed) >= max(apart[one] for one in apart.keys() - listed)


def test_what_is_left_out_is_counted(made, monkeypatch):
    run, module = findings(collect(made.ran(3))), "workbench.report.topics.retrieval.questions"
    monkeypatch.setattr(f"{module}._MOST_CONFIGURATIONS", 2)
    whole = len(drill_section(run).blocks[-1].packed)
    for most in (whole // 2, whole // 8):
        monkeypatch.setattr(f"{module}.MOST", most)
        notes, details = drill_section(run).blocks
        assert notes.text.startswith("The first 2 of 3 configurations can be chosen here.")
        assert (f"{details.queries - details.shown} questions of 120, those" in notes.text) == (details.shown < 120)
        chunks_of = f"{details.detailed} questions in which they differ most" if details.detailed else "no question"
        assert (f"The page has the chunks of {'the ' if details.detailed else ''}{chunks_of}; all are in" in notes.text) == (
            details.detailed < details.shown
        )


def test_the_pair_shown_first_is_the_leader_with_what_it_is_compared_with(made):
    run = findings(made.valued([[0.0, 1.0] * 60, [1.0] * 120, [0.5] * 120], name="pair-first", baseline="fixed-32-0"))
    values = compute(run)
    assert values.pair == ("fixed-24-0", "fixed-32-0")
    data = unpacked(drill(run, values.names, values.pair))
    assert [data["configurations"][place] for place in data["pair"]] == ["fixed-24-0", "fixed-32-0"]
    assert data["titles"][0] == "1  fixed 24"


def test_a_read_list_has_the_questions_that_differ_with_values_ranks_and_the_reason(made):
    run = findings(collect(made.ran(2)))
    a, b = run.names
    pair = contrast(run, a, b)
    caption, terms = static_list(run, run.names, (a, b))
    assert isinstance(caption, Prose)
    assert isinstance(terms, Terms)
    differ = pair.a.queries + pair.b.queries
    assert (
        f"of {differ} questions in which fixed 16 and fixed 24 differ" in caption.text
        if differ > 20
        else f"{differ} question" in caption.text
    )
    values = {name: dict(zip(run.questions["query_id"], per_query(run, name, str(run.primary)), strict=True)) for name in (a, b)}
    causes = {side.winner: {one: cause for cause, ids in side.causes.items() for one in ids} for side in (pair.a, pair.b)}
    for term in terms.items:
        query_id, _, reason = term.note.partition(" · ")
        assert f"fixed 16 {values[a][query_id]:.3f}".rstrip("0") in term.text
        assert f"fixed 24 {values[b][query_id]:.3f}".rstrip("0") in term.text
        ahead, behind = (a, "fixed 24") if values[a][query_id] > values[b][query_id] else (b, "fixed 16")
        assert reason == f"{behind} is behind: {CAUSE_WORDS.get(causes[ahead][query_id], 'nothing missed')}"
    assert len(terms.items) == min(20, differ)


def test_one_configuration_lists_what_it_misses(made):
    run = findings(collect(made.ran(1)))
    caption, terms = static_list(run, run.names, None)
    assert "misses something" in caption.text
    assert len(terms.items) == min(20, run.of("causes", run.names[0])["query_id"].nunique())
    assert compute(run).pair is None


def test_answers_come_with_the_refusal_and_the_cause_of_their_failure(caused_run):
    run = findings(caused_run)
    data = unpacked(drill(run, run.names))
    name = data["configurations"][0]
    rows = run.of("answers", name)
    rows = rows[(rows["condition"] == "retrieved") & (rows["repeat"] == 0)].set_index("query_id")
    failed = run.of("causes", name)
    failed = failed[(failed["subject"] == "answer") & (failed["condition"] == "retrieved") & (failed["repeat"] == 0)].set_index("query_id")
    for query in data["queries"]:
        answer, refused, cause = query["y"][0]
        assert refused == rows["refused"][query["i"]]
        assert (CAUSE_NAMES[cause] if cause >= 0 else None) == failed["cause"].get(query["i"])
        assert answer.startswith((rows["answer"][query["i"]][:50], "no answer:")) or rows["reason"][query["i"]]


def test_the_end_of_the_context_is_worded_in_the_singular_too(made):
    run = collect(made.ran(2, primary="chunk_precision@1", metrics=["chunk_precision@1"], name="single"))
    assert unpacked(packed_of(run))["limits"] == ["1 chunk", "1 chunk"]


def test_packed_data_can_be_unpacked_and_cannot_end_an_element():
    value = {"text": "</script><!-- é 😀 \x00", "numbers": [1, None, 0.5]}
    text = packed(value)
    assert "<" not in text
    assert json.loads(zlib.decompress(base64.b64decode(text))) == value


def test_half_a_surrogate_pair_is_replaced_by_one_character():
    assert json.loads(zlib.decompress(base64.b64decode(packed("a\ud800b")))) == "a?b"


def test_a_slice_has_one_number():
    passages = of_texts("x" * 100)
    hits = passages.hits([(rank, "d0", start, end, end) for rank, (start, end) in enumerate([(0, 5), (5, 9), (0, 5)], 1)])
    assert chunks(hits) == [(0, 1, -1), (1, 2, -1), (0, 3, -1)]
    assert passages.slices == [0, 0, 5, 0, 5, 9]


def test_texts_of_hits_and_evidence_are_stored_once():
    passages = of_texts("x" * 2000)
    passages.hits([(1, "d0", start, end, end) for start, end in ((0, 100), (50, 150), (150, 200))])
    passages.place("d0", 1000, 1010)
    (doc_id, stretches) = passages.texts()[0]
    assert doc_id == "d0"
    assert [(start, len(text)) for start, text in stretches] == [(0, 200), (1000, 10)]


@pytest.mark.soak
def test_24_configurations_and_300_questions_fit_with_all_passages(made, tmp_path):
    run = findings(collect(made.ran(24, documents=30)))
    values = compute(run)
    details = drill(run, values.names, values.pair)
    assert details.detailed == details.queries == 300
    assert write_report(run, tmp_path / "report.html").stat().st_size < 2_000_000
