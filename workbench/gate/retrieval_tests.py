"""Check retrieval unit tests: expected documents of single questions."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from workbench.core.formatting import listed, meant
from workbench.errors import InputError
from workbench.gate.lost import document_rank
from workbench.gate.report import RuleResult
from workbench.gate.rules import RetrievalTest, Subject
from workbench.gate.subjects import GatedConfiguration
from workbench.results.run_tables import RunTables
from workbench.statistics.gates.paired import Decision

_NAMED = 3


def retrieval_results(own: GatedConfiguration, test: RetrievalTest) -> Iterator[RuleResult]:
    """Check a retrieval unit test, for one question or for all of a slice.

    Raises InputError for an unknown question, for a question without a relevant document, and if `k` exceeds the hits of the configuration.
    """
    _require_depth(own, test)
    relevant = _relevant(own.run)
    hits = {str(name): rows for name, rows in own.run.of("hits", own.name).sort_values("rank").groupby("query_id", sort=False)}
    corpus = set(own.run.documents["doc_id"])
    for name in _questions(own, test, relevant):
        wanted = [test.doc_id] if test.doc_id else relevant[name]
        ranks = {doc: rank for doc in wanted if (rank := document_rank(hits.get(name), doc))}
        best = min(ranks, key=lambda doc: ranks[doc], default="")
        inside = bool(best) and ranks[best] <= test.k
        yield RuleResult(
            rule=str(replace(test, query_id=name)),
            kind="retrieval test",
            metric="",
            slice=test.slice,
            condition="retrieved",
            outcome=Decision.PASS if inside is not test.absent else Decision.FAIL,
            reason=f"{best} has rank {ranks[best]}" if best else _missing(wanted, corpus),
            limit=test.k,
            value=ranks[best] if best else math.nan,
            n=1,
            query_id=name,
        )


def _missing(wanted: Sequence[str], corpus: set[str]) -> str:
    absent = [name for name in wanted if corpus and name not in corpus]
    if absent:
        near = meant(absent[0], sorted(corpus)) if len(absent) == 1 else ""
        return f"{listed(absent, _NAMED)} {'are' if len(absent) > 1 else 'is'} not in the corpus{near}"
    return f"{listed(wanted, _NAMED)} {'are' if len(wanted) > 1 else 'is'} not among the hits"


def _relevant(run: RunTables) -> Mapping[str, list[str]]:
    judged = run.judgements[run.judgements["relevance"] > 0]
    return {str(name): sorted(set(map(str, rows))) for name, rows in judged.groupby("query_id", sort=False)["doc_id"]}


def _questions(own: GatedConfiguration, test: RetrievalTest, relevant: Mapping[str, list[str]]) -> list[str]:
    """Return the questions of a test. Without a document, those that have a relevant one."""
    known = list(map(str, own.run.questions["query_id"]))
    if test.query_id:
        if test.query_id not in known:
            raise InputError(
                f"retrieval test: the run has no question {test.query_id!r}{meant(test.query_id, known)}", "look at questions.parquet"
            )
        if not test.doc_id and test.query_id not in relevant:
            raise InputError(f"retrieval test: {test.query_id} has no relevant document", "name a document")
        return [test.query_id]
    members = own.members(Subject("recall@5", test.slice))
    names = [name for name, inside in zip(known, members, strict=True) if inside and (test.doc_id or name in relevant)]
    if not names:
        raise InputError(f"retrieval test {test}: no question has a relevant document", "choose another slice")
    return names


def _require_depth(own: GatedConfiguration, test: RetrievalTest) -> None:
    """Raise InputError without hits, and if a document could be absent only because the hits end before rank k."""
    ranks = own.run.of("hits", own.name)["rank"]
    if ranks.empty:
        raise InputError(f"retrieval test {test}: {own.name} returned no hits", "check its answers with rules instead")
    if test.absent and test.k > ranks.max():
        raise InputError(f"retrieval test {test}: the run has {ranks.max()} hits of a question", f"write k up to {ranks.max()}")
