"""Assertions about what a system does with single questions: refusals, documents that must not be found, stale data."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from workbench.api.evaluation import check_freshness
from workbench.api.given_systems import ingesting, target_for
from workbench.api.results import Results
from workbench.components.answering.refusals import is_refusal
from workbench.core.errors import InputError
from workbench.core.records import Dataset, Query
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import listed, plural
from workbench.core.text.printable import printable_line
from workbench.gate.check import gated_configuration
from workbench.gate.rules import GateSettings
from workbench.report.analysis.synthetic import unaccepted
from workbench.report.results.run_tables import RETRIEVED, RunTables
from workbench.report.text.sentences import drafts_of
from workbench.systems.asking import TargetRequest
from workbench.systems.freshness.cases import FreshnessData
from workbench.systems.matching import HitMatcher
from workbench.testing.assertions.systems import NAME, replies, require_accepted

_SHOWN = 5


class _Reply(NamedTuple):
    question: str
    text: str
    refused: bool
    error: str
    draft: bool


def assert_refuses(
    system: object,
    questions: Sequence[str] | None = None,
    *,
    at_least: float = 1.0,
    dataset: Dataset | None = None,
    configuration: str | None = None,
) -> None:
    """Assert that questions outside the documents are refused.

    Parameters
    ----------
    system: the results of a sweep, or a pipeline, an index, a target or a function `(query, context) -> answer`, which is asked.
    questions: the questions; by default those of the dataset that no document answers.
    at_least: the least share that is refused.

    Raises
    ------
    AssertionError: fewer are refused, or a question of the dataset is a draft that nobody has accepted. The message has the answers that were given.
    InputError: there is no such question, or nothing answers.
    """
    __tracebackhide__ = True
    found = _recorded(system, questions, configuration) if isinstance(system, Results) else list(_asked(system, questions, dataset))
    if not found:
        raise InputError("there is no question to refuse", "pass questions=, or mark questions of the dataset as unanswerable")
    refused, waiting = sum(reply.refused for reply in found), sum(reply.draft for reply in found)
    require_accepted(drafts_of(waiting, len(found)) if waiting else "", f"{refused} of {plural(len(found), 'question')} are refused")
    if refused < at_least * len(found):
        lines = [f"{refused} of {plural(len(found), 'question')} are refused, at least {at_least:.0%} must be"]
        wrong = [reply for reply in found if not reply.refused]
        lines += [f"  {excerpt(reply.question, 90)}: {excerpt(reply.text, 160) or f'no answer, {reply.error}'}" for reply in wrong[:_SHOWN]]
        raise AssertionError("\n".join(map(printable_line, lines)))


def _recorded(run: RunTables, questions: Sequence[str] | None, configuration: str | None) -> list[_Reply]:
    answers = run.of("answers", gated_configuration(run, GateSettings(configuration=configuration)))
    if answers.empty:
        raise InputError(f"the run {run.name} has no answers", "add answering to the pipeline of the experiment and sweep again")
    texts = dict(zip(run.questions["query_id"], run.questions["text"], strict=True))
    chosen, drafts = set(run.questions["query_id"][~run.questions["answerable"]]), unaccepted(run)
    if questions is not None:
        known = {text: query_id for query_id, text in texts.items()} | {query_id: query_id for query_id in texts}
        if missing := [question for question in questions if question not in known]:
            raise InputError(f"the run {run.name} has no question {missing[0]!r}", "give its text or its id")
        # A caller who names questions vouches for them.
        chosen, drafts = {known[question] for question in questions}, frozenset()
    rows = answers[(answers["condition"] == RETRIEVED) & answers["query_id"].isin(chosen)]
    columns = rows[["query_id", "answer", "refused", "error"]].itertuples(index=False)
    return [
        _Reply(texts[query_id], answer, bool(refused) and not error, error, query_id in drafts)
        for query_id, answer, refused, error in columns
    ]


def _asked(system: object, questions: Sequence[str] | None, dataset: Dataset | None) -> Iterator[_Reply]:
    if questions is not None:
        queries = [Query(f"question {number}", text) for number, text in enumerate(questions, 1)]
    else:
        queries = [query for query in (dataset.queries if dataset else ()) if not query.answerable]
    target = target_for(NAME, system, dataset, answered=True)
    if not target.answers:
        raise InputError(f"the target {target.name} does not answer", "give one that answers")
    requests = [TargetRequest("answer", query) for query in queries]
    for query, reply in zip(queries, replies(target, requests, dataset) if requests else [], strict=True):
        answer = reply.answer
        if answer is None:
            yield _Reply(query.text, "", False, reply.error, query.is_draft)
        else:
            refused = is_refusal(answer.text, question=query.text) if answer.refused is None else answer.refused
            yield _Reply(query.text, answer.text, refused, "", query.is_draft)


def assert_absent(
    system: object,
    question: str,
    documents: str | Sequence[str],
    *,
    k: int = 5,
    dataset: Dataset | None = None,
    configuration: str | None = None,
) -> None:
    """Assert that documents are not among the first k documents of a question.

    Parameters
    ----------
    system: the results of a sweep, or a pipeline, an index, a target or a function `(query, k) -> hits`, which is asked.
    question: a question; with results the text or the id of one of the dataset.
    documents: the ids of the documents.
    dataset: the documents, by which hits without an id are recognised.

    Raises
    ------
    AssertionError: one of the documents is found. The message has its rank and the first documents.
    InputError: the results lack the question.
    """
    __tracebackhide__ = True
    wanted = [documents] if isinstance(documents, str) else list(documents)
    if isinstance(system, Results):
        ranking = _recorded_ranking(system, question, configuration)
    else:
        ranking = _asked_ranking(system, question, k, dataset)
    first = list(dict.fromkeys(ranking))[:k]
    if found := [name for name in wanted if name in first]:
        places = listed([f"{name} at rank {first.index(name) + 1}" for name in found])
        lines = [f"{excerpt(question, 90)}: {places}, none of the first {k} must be", f"  {listed(first, k)}"]
        raise AssertionError("\n".join(map(printable_line, lines)))


def _recorded_ranking(run: RunTables, question: str, configuration: str | None) -> list[str]:
    rows = run.questions[(run.questions["query_id"] == question) | (run.questions["text"] == question)]
    if rows.empty:
        raise InputError(f"the run {run.name} has no question {question!r}", "give its text or its id")
    hits = run.of("hits", gated_configuration(run, GateSettings(configuration=configuration)))
    hits = hits[hits["query_id"] == rows["query_id"].iloc[0]]
    return [str(name) for name in hits.sort_values("rank")["doc_id"]]


def _asked_ranking(system: object, question: str, k: int, dataset: Dataset | None) -> list[str]:
    target = target_for(NAME, system, dataset)
    # Several hits can be of one document.
    (reply,) = replies(target, [TargetRequest("search", Query("question", question), max(k, target.k))], dataset)
    if reply.error:
        raise AssertionError(printable_line(f"{excerpt(question, 90)}: no hits, {reply.error}"))
    if dataset is None:
        return [hit.doc_id or "" for hit in reply.hits]
    matcher = HitMatcher(dataset.documents, target.match)
    places = [matcher.place(hit).doc for hit in reply.hits]
    return [dataset.documents[place].doc_id if place >= 0 else "" for place in places]


def assert_fresh(system: object, data: FreshnessData | str | Path, *, outputs: str | Path = "outputs") -> None:
    """Assert that a system serves no stale data: it takes, updates and deletes documents, and is asked each time.

    Parameters
    ----------
    system: a target that takes documents, or a pipeline, which is indexed again after each change.
    data: a folder with `documents`, `earlier` versions and the questions of `stale.jsonl`, or what `read_freshness` made of one.
    outputs: the folder whose store a pipeline uses.

    Raises
    ------
    AssertionError: an old value is served, or no update was seen. The message has the counts of each check and the first failures.
    InputError: the system takes no documents.

    Examples
    --------
    >>> import workbench as wb
    >>> data = wb.read_freshness("experiments/handbook").only(["finance/company-cards"])
    >>> wb.testing.assert_fresh(wb.Pipeline(retrieval=wb.BM25Retriever()), data)
    """
    __tracebackhide__ = True
    target = ingesting(system, Path(outputs))
    report = check_freshness(target, data)
    if report.verdict != "passed":
        failed = [each for each in report.outcomes if each.state == "failed"]
        lines = [*report.lines(), *(f"  {each.case_id}, {each.check} of {each.part}: {each.seen}" for each in failed[:_SHOWN])]
        raise AssertionError("\n".join(map(printable_line, lines)))
