"""The bundled handbook holds what its datasheet says."""

import json
import re
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import Stemmer
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from workbench.core.records import Dataset, Span
from workbench.data.sources import BeirSource, GoldenSource

HANDBOOK = Path("experiments/handbook")
DOMAINS = {"security", "hr", "finance", "engineering", "support", "legal"}
TYPES = {"factoid", "multi-hop", "comparison", "procedural", "table", "unanswerable"}
# Words of a passage of ClapNQ, on average: what a question is compared with in both.
PASSAGE = 190


@pytest.fixture(scope="module")
def handbook() -> Dataset:
    return GoldenSource(path=str(HANDBOOK)).load()


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HANDBOOK / name).read_text("utf-8").splitlines()]


def texts(folder: str) -> dict[str, str]:
    root = HANDBOOK / folder
    return {path.relative_to(root).with_suffix("").as_posix(): path.read_text("utf-8") for path in sorted(root.rglob("*.md"))}


def test_there_is_enough_of_every_kind(handbook: Dataset) -> None:
    words = [len(document.text.split()) for document in handbook.documents]
    assert len(words) >= 50
    assert sum(words) >= 30_000
    assert min(words) >= 200
    assert max(words) <= 2_500
    assert {document.doc_id.split("/")[0] for document in handbook.documents} == DOMAINS
    assert len(handbook.queries) >= 160
    assert sum(not query.answerable for query in handbook.queries) >= 36
    for split in ("dev", "test"):
        asked = [query for query in handbook.queries if query.metadata["split"] == split]
        assert {query.metadata["type"] for query in asked} == TYPES
        assert {query.metadata["domain"] for query in asked} == DOMAINS


def test_every_question_is_labelled_in_full(handbook: Dataset) -> None:
    needs = Counter(need.query_id for need in handbook.needs)
    negatives = Counter(qrel.query_id for qrel in handbook.qrels if qrel.relevance < 0)
    for query in handbook.queries:
        assert negatives[query.query_id] >= 1
        if not query.answerable:
            assert needs[query.query_id] == 0
            continue
        assert query.answer
        assert query.answer_variants
        assert needs[query.query_id] >= (2 if query.metadata["type"] == "multi-hop" else 1)


def test_no_document_goes_without_a_question_and_no_long_sentence_stands_in_two(handbook: Dataset) -> None:
    asked = {span.doc_id for need in handbook.needs for span in need.alternatives}
    assert asked == {document.doc_id for document in handbook.documents}
    sentences = Counter(
        sentence
        for document in handbook.documents
        for sentence in {part.strip() for part in re.split(r"(?<=[.!?])\s+|\n", document.text)}
        if len(sentence.split()) > 8
    )
    assert [sentence for sentence, count in sentences.items() if count > 1] == []


def test_what_was_ranked_first_is_judged(handbook: Dataset) -> None:
    judged = Counter(qrel.query_id for qrel in handbook.qrels)
    # The pool of 16 configurations' first ten documents; no query has fewer than ten.
    assert min(judged[query.query_id] for query in handbook.queries) >= 10


def test_earlier_versions_differ_where_the_stale_questions_ask(handbook: Dataset) -> None:
    now = {document.doc_id: document.text for document in handbook.documents}
    before = texts("earlier")
    rows = lines("stale.jsonl")
    assert len(before) >= 8
    assert min(Counter(row["doc_id"] for row in rows)[doc_id] for doc_id in before) >= 3
    for row in rows:
        for side, here, there in (("before", before, now), ("after", now, before)):
            stated, doc_id = row[side], row["doc_id"]
            assert here[doc_id][stated["start"] : stated["end"]] == stated["text"]
            assert stated["text"] not in there[doc_id]
        assert row["before"]["answer"] != row["after"]["answer"]


def test_the_folder_is_small() -> None:
    assert sum(path.stat().st_size for path in HANDBOOK.rglob("*") if path.is_file()) < 5e6


def test_questions_share_as_many_words_with_their_evidence_as_those_of_clapnq(handbook: Dataset, big_data: Callable[[str], Path]) -> None:
    clapnq = BeirSource(path=str(big_data("clapnq"))).load()
    passages = {document.doc_id: document.text for document in clapnq.documents}
    relevant = {qrel.query_id: passages[qrel.doc_id] for qrel in clapnq.qrels if qrel.relevance > 0}
    theirs = [overlap(query.text, relevant[query.query_id]) for query in clapnq.queries if query.answerable]
    low, _, high = statistics.quantiles(theirs, n=4)
    documents = {document.doc_id: document.text for document in handbook.documents}
    ours = [
        overlap(query.text, " ".join(around(documents[span.doc_id], span) for span in spans))
        for query in handbook.queries
        if (spans := [span for need in handbook.needs if need.query_id == query.query_id for span in need.alternatives])
    ]
    assert low <= statistics.mean(ours) <= high
    assert low <= statistics.median(ours) <= high


def around(text: str, span: Span) -> str:
    """The title and the words around a span, as many as a passage of ClapNQ has, the span in the middle where the text allows."""
    words = list(re.finditer(r"\S+", text))
    inside = [place for place, word in enumerate(words) if word.start() < span.end and span.start < word.end()]
    first = max(0, min(inside[0] - (PASSAGE - len(inside)) // 2, len(words) - PASSAGE))
    return text.partition("\n")[0] + " " + " ".join(word.group() for word in words[first : max(first + PASSAGE, inside[-1] + 1)])


def overlap(question: str, text: str) -> float:
    """The share of a question's content words, stemmed, that the text has."""
    asked = content(question)
    return len(asked & content(text)) / len(asked)


def content(text: str) -> set[str]:
    words = [word for word in re.findall(r"[^\W_]{2,}", text.lower()) if word not in ENGLISH_STOP_WORDS]
    return set(Stemmer.Stemmer("english").stemWords(words))


CONDITIONS = ("gold", "retrieved", "missing_gold", "counterfactual", "injection")
FAULTS = {"unsupported", "contradicted_number", "negation", "entity_swap", "stale", "partial", "over_refused", "injected", "off_topic"}


@pytest.fixture(scope="module")
def recorded() -> list[dict[str, Any]]:
    return lines("recorded/answers.jsonl")


def passages(row: dict[str, Any]) -> list[str]:
    documents = texts("documents")
    return [part.get("text", documents[part["doc_id"]][part["start"] : part["end"]]) for part in row["passages"]]


def test_every_recorded_question_is_answered_under_every_condition(handbook: Dataset, recorded: list[dict[str, Any]]) -> None:
    asked = Counter(row["query_id"] for row in recorded)
    assert len(asked) >= 80
    assert asked.keys() <= {query.query_id for query in handbook.queries if query.answerable}
    assert {(row["query_id"], row["condition"]) for row in recorded} == {(query, one) for query in asked for one in CONDITIONS}


def test_enough_faults_of_every_kind_are_planted(recorded: list[dict[str, Any]]) -> None:
    faults = Counter(row["fault"] for row in recorded)
    assert faults.keys() == FAULTS | {"adopted", None}
    assert sum(faults[name] for name in FAULTS) >= 150
    assert min(faults[name] for name in FAULTS) >= 10


def test_a_claim_stands_in_its_answer_and_is_decided_where_its_label_says(recorded: list[dict[str, Any]]) -> None:
    for row in recorded:
        shown = passages(row)
        for claim in row["claims"]:
            assert claim["said"] in row["answer"]
            assert claim["verdict"] in ("supported", "contradicted", "absent")
            if claim["verdict"] != "absent":
                assert shown[claim["passage"]][claim["start"] : claim["end"]] == claim["quote"]


def test_the_labels_of_an_answer_agree_with_what_was_planted(recorded: list[dict[str, Any]]) -> None:
    for row in recorded:
        verdicts = {claim["verdict"] for claim in row["claims"]}
        fault = row["fault"]
        if fault in ("contradicted_number", "negation", "entity_swap", "stale"):
            assert "contradicted" in verdicts, row["answer_id"]
        elif fault == "unsupported":
            assert "absent" in verdicts, row["answer_id"]
        elif fault == "over_refused":
            assert row["behaviour"] == "refused", row["answer_id"]
        elif fault != "injected":
            assert verdicts <= {"supported"}, row["answer_id"]
        assert row["appropriate"] == (fault is None), row["answer_id"]


def test_a_condition_shows_the_passages_that_it_stands_for(handbook: Dataset, recorded: list[dict[str, Any]]) -> None:
    needs: dict[str, list[tuple[Span, ...]]] = {}
    for need in handbook.needs:
        needs.setdefault(need.query_id, []).append(need.alternatives)
    for row in recorded:
        held = [
            any(
                part["doc_id"] == span.doc_id
                and part["start"] <= span.start
                and span.end <= part["end"]
                and part.get("change") != "altered"
                for span in spans
                for part in row["passages"]
            )
            for spans in needs[row["query_id"]]
        ]
        changes = Counter(part["change"] for part in row["passages"] if "change" in part)
        if row["condition"] == "missing_gold":
            relevant = {span.doc_id for spans in needs[row["query_id"]] for span in spans}
            assert relevant.isdisjoint(part["doc_id"] for part in row["passages"])
        elif row["condition"] != "retrieved":
            assert all(held), row["answer_id"]
        else:
            assert all(held) == row["evidence_complete"]
        assert changes == {"counterfactual": {"altered": 1}, "injection": {"injected": 1}}.get(row["condition"], {})
