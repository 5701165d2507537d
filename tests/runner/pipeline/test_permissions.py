"""A question with a filter, such as the groups of a person, never gets text of a document that the filter excludes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume
from hypothesis import strategies as st

import workbench as wb
from tests.fuzzing import check_examples, few_or_many
from workbench.api.systems import LoadedSource
from workbench.core.records import Dataset, Document, Need, Qrel, Query, Span
from workbench.runner.execution.local import context_of
from workbench.runner.experiment.read import experiment_of
from workbench.runner.pipeline.graph import Graph
from workbench.runner.pipeline.stage_results import Entries

# The codename of a document is in each of its sentences and in its title, and in no other document.
CODENAMES = ("Albatross", "Barnacle", "Cormorant", "Dunlin", "Egret", "Fulmar")
TEXTS = {
    name: f"The budget of {name} is {place + 2} million euros. The harbour pays {name} in May. Ferries of {name} leave at {place + 5} o'clock."
    for place, name in enumerate(CODENAMES)
}
# Those whose contexts are neither empty nor a copy of another's.
CONDITIONS = ("gold", "gold_distractors", "retrieved", "missing_gold", "irrelevant_only")
QUESTIONS = ("What is the budget of the harbour?", "When do the ferries leave?", "Who pays in May?")
FIXED: Mapping[str, Any] = {"kind": "fixed", "size": 16, "overlap": 4}
DENSE: Mapping[str, Any] = {"kind": "dense", "k": 4}
# Every kind of retriever, rewriter and chunking, with what is delivered beside a hit: parents, neighbours, headers.
PIPELINES: Sequence[Mapping[str, Any]] = (
    {"chunking": FIXED, "retrieval": {"kind": "bm25", "k": 4, "neighbours": 2}},
    {"chunking": FIXED | {"enrich": True}, "retrieval": {"kind": "bm25", "k": 3}, "rewrite": {"kind": "rm3", "documents": 2}},
    {"chunking": {"kind": "hierarchical", "child": 16, "parent": 32}, "retrieval": {"kind": "bm25", "k": 3}},
    {"chunking": {"kind": "sentence", "size": 16}, "retrieval": DENSE | {"neighbours": 1}},
    {"chunking": FIXED, "retrieval": DENSE | {"search": "ann"}, "rewrite": {"kind": "rocchio", "documents": 2}},
    {"chunking": FIXED, "retrieval": {"kind": "hybrid", "k": 4, "pool": 5}, "rerank": {"kind": "mmr", "pool": 6}},
    {"chunking": FIXED, "retrieval": {"kind": "hybrid", "k": 4, "fusion": "weighted"}, "rewrite": {"kind": "recorded", "path": "REWRITES"}},
    {"chunking": {"kind": "semantic", "size": 32}, "retrieval": DENSE, "rewrite": {"kind": "recorded", "path": "REWRITES"}},
    {"chunking": {"kind": "whole"}, "embedding": {"kind": "sentence-transformers", "pooling": "late"}, "retrieval": DENSE},
)
GROUPS = ("hr", "HR", " hr", "finance", "$in", "$or", "caf\u00e9", "7", "", "people/legal")
# What a document can have in place of a list of groups. No person is in any of the groups of the second half.
ODD = ("hr", "finance", "hr,finance", None, [], [None], ["hrx"], [["hr"]], {"hr": True}, 7, True, [7])


@dataclass(frozen=True)
class Asked:
    """A dataset, and for each question the codenames of the documents that its person may read, None for all."""

    dataset: Dataset
    readable: Sequence[frozenset[str] | None]


def groups_of(value: Any) -> set[Any]:
    """The groups of a document, read without the code under test."""
    values = value if isinstance(value, list) else [value]
    return {each for each in values if isinstance(each, str)}


def wheres(person: Sequence[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Ways to write that a document is in one of a person's groups."""
    member = {"groups": {"$in": list(person)}}
    forms = [member, {"$or": [{"groups": group} for group in person]}, {"$and": [member, {"title": {"$ne": "none"}}]}]
    return st.sampled_from([*forms, *([{"groups": person[0]}] if len(person) == 1 else [])])


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    lists = st.lists(st.sampled_from(GROUPS), max_size=3)
    metadata = [
        draw(st.one_of(st.just({}), st.builds(lambda value: {"groups": value}, st.one_of(lists, st.sampled_from(ODD))))) for _ in TEXTS
    ]
    documents = tuple(Document(name.lower(), TEXTS[name], f"Notes on {name}", fields) for name, fields in zip(TEXTS, metadata, strict=True))
    queries, readable = [], list[frozenset[str] | None]()
    for place, text in enumerate(QUESTIONS):
        person = draw(st.lists(st.sampled_from(GROUPS), min_size=1, max_size=3, unique=True))
        mine = frozenset(name for name, fields in zip(TEXTS, metadata, strict=True) if groups_of(fields.get("groups")) & set(person))
        where = draw(wheres(person)) if mine and draw(st.integers(0, 4)) else {}
        queries.append(Query(f"q{place}", text, answer="2 million", where=where))
        readable.append(mine if where else None)
    assume(any(names is not None for names in readable))
    return Asked(Dataset("permissions", documents, tuple(queries), *labels(draw)), readable)


def labels(draw: st.DrawFn) -> tuple[tuple[Qrel, ...], tuple[Need, ...]]:
    """Relevant documents, hard negatives and evidence, whether or not their question's person may read them."""
    qrels, needs = [], []
    for place in range(len(QUESTIONS)):
        relevant, *others = draw(st.permutations(CODENAMES))[:4]
        graded = {relevant: 1, **{name: draw(st.integers(0, 1)) for name in others}}
        qrels += [Qrel(f"q{place}", name.lower(), grade) for name, grade in graded.items()]
        if evident := [name for name, grade in graded.items() if grade] if draw(st.booleans()) else []:
            spans = tuple(Span(name.lower(), 0, TEXTS[name].index(".") + 1) for name in evident)
            needs += [Need(f"q{place}", spans)]
    return tuple(qrels), tuple(needs)


def walked(asked: Asked, pipeline: Mapping[str, Any], outputs: Path) -> Entries:
    """The results of a sweep's stages up to answers, from a store that all examples share, so that a stale result would be found."""
    rewrites = outputs / "rewrites.jsonl"
    replies = [{"query": text, "rewrites": [text, "budget in May"], "keep_original": True} for text in QUESTIONS[:2]]
    replies += [{"query": QUESTIONS[2], "document": "The harbour pays two million euros in May."}]
    rewrites.write_text("\n".join(map(json.dumps, replies)))
    written = json.loads(
        json.dumps({**pipeline, "answering": {"kind": "extractive"}, "context": {"budget": 400}}).replace("REWRITES", str(rewrites))
    )
    settings = {"name": "permissions", "dataset": {"kind": "python", "name": "permissions"}, "pipeline": written, "metrics": ["recall@5"]}
    spec = experiment_of(settings | {"conditions": list(CONDITIONS)}, "test", made={"dataset": LoadedSource.of(asked.dataset)})
    run = context_of(spec, outputs)
    return (
        Graph(run)
        .walk(spec.configurations[0], ("hits", "reranked", "neighbours", "rewritten", "feedback", "contexts", "answers", "chunks"))
        .entries
    )


def shown(entries: Entries, asked: Asked) -> list[tuple[int, str, str]]:
    """Everything that a question gets: its place, the kind, and a text or the id of a document."""
    documents = [document.doc_id for document in asked.dataset.documents]
    chunks, found = entries["chunks"][""].table("chunks"), list[tuple[int, str, str]]()
    for entry in (entries["hits"][""], (entries.get("reranked") or entries["hits"])[""]):
        for search in entry.values("searches")["names"]:
            hits, ranking = entry.table(f"{search}_hits"), entry.table(f"{search}_ranking")
            found += [(query, "hit", documents[chunks["doc"][chunk]]) for query, chunk in zip(hits["query"], hits["chunk"], strict=True)]
            found += [(query, "ranking", documents[doc]) for query, doc in zip(ranking["query"], ranking["doc"], strict=True)]
    for stage in ("rewritten", "feedback"):
        rewrites = entries[stage][""].table("rewrites") if stage in entries else None
        found += [] if rewrites is None else [(row.query, stage, row.text) for row in rewrites.itertuples()]
    for slot, entry in entries["contexts"].items():
        for table in ("passages", "cuts"):
            rows = entry.table(table).to_dict("records")
            found += [(row["query"], f"{table} {slot}", f"{row['doc_id']} {row.get('title')} {row.get('text')}") for row in rows]
    for slot, entry in entries["answers"].items():
        found += [(row.query, f"answer {slot}", row.text) for row in entry.table("answers").itertuples()]
    return found


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("permissions")


def check_nothing_leaks(asked: Asked, pipeline: Mapping[str, Any], outputs: Path) -> None:
    found = shown(walked(asked, pipeline, outputs), asked)
    assert {kind.split()[0] for _, kind, _ in found} >= {"hit", "ranking"}
    for query, kind, text in found:
        readable = asked.readable[query]
        hidden = [] if readable is None else [name for name in CODENAMES if name not in readable and name.lower() in text.lower()]
        assert not hidden, f"question {query} with {asked.dataset.queries[query].where} gets {hidden} by {kind}: {text}"


@few_or_many(12, 500)
def test_nothing_of_a_hidden_document_reaches_a_question(outputs: Path, examples: int) -> None:
    worlds = st.tuples(asked(), st.sampled_from(PIPELINES))
    check_examples(examples, worlds, lambda world: check_nothing_leaks(*world, outputs))


def test_evidence_and_hard_negatives_that_the_filter_excludes_are_in_no_context(outputs: Path) -> None:
    groups = {"Albatross": ["hr"], "Barnacle": ["finance"], "Cormorant": ["finance"]}
    documents = tuple(Document(name.lower(), TEXTS[name], "", {"groups": mine}) for name, mine in groups.items())
    question = Query("q0", QUESTIONS[0], where={"groups": "hr"})
    qrels = (Qrel("q0", "albatross", 1), Qrel("q0", "barnacle", 1), Qrel("q0", "cormorant", 0))
    needs = tuple(Need("q0", (Span(name.lower(), 0, TEXTS[name].index(".") + 1),)) for name in ("Albatross", "Barnacle"))
    known = Asked(Dataset("permissions", documents, (question,), qrels, needs), [frozenset({"Albatross"})])
    check_nothing_leaks(known, PIPELINES[0], outputs)
    gold = walked(known, PIPELINES[0], outputs)["contexts"]["gold"]
    assert set(gold.table("passages")["doc_id"]) == {"albatross"}
    # A part of the evidence is hidden, so that the context is not that of perfect retrieval.
    assert gold.table("contexts")["gold"].tolist() == [False]


def test_an_index_that_answers_the_questions_of_a_dataset_keeps_to_their_filters(tmp_path: Path) -> None:
    documents = tuple(
        Document(name.lower(), TEXTS[name], "", {"groups": group}) for name, group in (("Egret", "hr"), ("Fulmar", "finance"))
    )
    questions = tuple(Query(f"q{place}", text, answer="hr", where={"groups": "hr"}) for place, text in enumerate(QUESTIONS))
    dataset = Dataset("permissions", documents, questions, tuple(Qrel(query.query_id, "egret", 1) for query in questions))
    index = wb.Pipeline(retrieval=wb.BM25Retriever(k=4), answering=wb.ExtractiveGenerator()).index(dataset, tmp_path)
    results = wb.evaluate(index, dataset, ["answer_recall", "recall@5"]).results
    assert results is not None
    assert set(results.hits["doc_id"]) == {"egret"}
    assert not any("Fulmar" in text for text in [*results.answers["answer"], *results.answers["passages"]])
