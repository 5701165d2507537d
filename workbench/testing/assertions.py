"""Assertions about a system: the mean of a metric, the end-to-end test, refusals, documents that must not be found, stale data."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workbench.api.evaluation import check_freshness
from workbench.api.given_systems import ingesting, target_for
from workbench.api.pipeline import Pipeline
from workbench.api.results import Results
from workbench.api.systems import compare
from workbench.components.answering.refusals import is_refusal
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.judging.settings import EndToEndThresholds, Judging
from workbench.core.errors import InputError
from workbench.core.records import Dataset, Query
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import listed, number, plural
from workbench.core.text.printable import printable_line
from workbench.gate.check import gated_configuration
from workbench.gate.gated import GatedConfiguration
from workbench.gate.limits import floor_result
from workbench.gate.rules import Floor, GateSettings, Subject
from workbench.llm.session import CallResources
from workbench.measures.statistics.decisions import Decision
from workbench.report.analysis.answer_values import is_verbatim
from workbench.report.analysis.values import unaccepted
from workbench.report.results.run_tables import RETRIEVED, RunTables
from workbench.report.sentences import drafts_of, unaccepted_drafts
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.systems.asking import TargetReply, TargetRequest, replies_of
from workbench.systems.base import Target, TargetResources
from workbench.systems.freshness import FreshnessData
from workbench.systems.matching import HitMatcher

NAME = "system"
Judges = Judging | Mapping[str, Any] | str | None


def run_of(system: object, dataset: Dataset | None, metrics: Sequence[str], judging: Judges = None) -> RunTables:
    """Return the tables of results, or those of a system that is asked every question of a dataset. Raises InputError without a dataset."""
    if isinstance(system, RunTables):
        return system
    whole = required(dataset)
    return compare({NAME: system}, whole, metrics, judging=judging)


def require_accepted(drafts: str, claim: str) -> None:
    """Raise AssertionError if a claim rests on drafts that nobody has accepted, which decide nothing, as in a gate.

    `drafts` states how many of the questions are (`unaccepted_drafts`, empty without any).
    """
    __tracebackhide__ = True
    if drafts:
        fix = "accept or delete them, in the labeller or with workbench dataset accept"
        raise AssertionError(printable_line(f"undecided, {claim}: {drafts}; {fix}"))


def required(dataset: Dataset | None) -> Dataset:
    """Return the dataset. Raises InputError without one."""
    if dataset is None:
        raise InputError("a system is asked the questions of a dataset", "pass dataset=, or the results of a sweep")
    return dataset


def replies(target: Target, requests: Sequence[TargetRequest], dataset: Dataset | None) -> list[TargetReply]:
    """Ask a target, and return its replies in the order of the requests."""
    return replies_of(target, requests, TargetResources(CallResources(), dataset.documents if dataset else ()))


def pipeline_of(configuration: PipelineConfiguration) -> Pipeline:
    """Return the pipeline of a configuration."""
    return Pipeline(
        chunking=configuration.chunking,
        embedding=configuration.embedding or SentenceTransformerEmbedder(),
        retrieval=configuration.retrieval,
        rerank=configuration.rerank,
        rewrite=configuration.rewrite,
        context=configuration.context,
        answering=configuration.answering,
    )


_SHOWN, _END_TO_END = 5, "end_to_end"


def assert_recall(
    system: object, at_least: float, *, k: int = 5, dataset: Dataset | None = None, configuration: str | None = None, subset: str = "all"
) -> None:
    """Assert that mean recall@k is at least a limit, on these questions.

    Parameters
    ----------
    system: the results of a sweep, or a pipeline, an index, a target or a function `(query, k) -> hits`, which is asked.
    dataset: the questions that a system is asked.
    configuration: the configuration of the results; by default the baseline of the experiment, or its only one.
    subset: the questions that count, such as `type=factoid`.

    Raises
    ------
    AssertionError: recall is lower, or a question is a draft that nobody has accepted. The message has the mean, and the questions with the lowest values.
    InputError: the results lack the metric or the slice, or the limit cannot be attained.

    Examples
    --------
    >>> import workbench as wb
    >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
    >>> wb.testing.assert_recall(wb.Pipeline(retrieval=wb.BM25Retriever()), 0.7, dataset=dataset)
    """
    __tracebackhide__ = True
    metric = f"recall@{k}"
    _require(run_of(system, dataset, [metric]), configuration, Subject(metric, subset), at_least)


def assert_faithful(
    system: object,
    at_least: float = 0.85,
    *,
    metric: str = "faithfulness",
    dataset: Dataset | None = None,
    configuration: str | None = None,
    judging: Judges = None,
) -> None:
    """Assert that the mean faithfulness of answers is at least a limit, on these questions.

    Parameters
    ----------
    system: the results of a sweep, or a pipeline, an index, a target or a function `(query, context) -> answer`, which is asked.
    metric: `support_overlap` for the share of supported claims without a judge that may be called one.
    judging: the judges of a system's answers, as in an experiment.

    Raises
    ------
    AssertionError: the mean is lower, or a question is a draft that nobody has accepted. The message has the mean, and the questions with the lowest values.
    InputError: the results lack the metric.
    """
    __tracebackhide__ = True
    _require(run_of(system, dataset, [metric], judging), configuration, Subject.parse(metric), at_least)


def _require(run: RunTables, configuration: str | None, subject: Subject, at_least: float) -> None:
    __tracebackhide__ = True
    settings = GateSettings(configuration=configuration)
    own = GatedConfiguration(run, gated_configuration(run, settings))
    found = floor_result(own, Floor.of(subject, ">=", at_least, "specification"), settings)
    require_accepted(unaccepted_drafts(run), f"{found.rule} for {own.name}: {found.reason}")
    if found.outcome is not Decision.PASS:
        lines = [f"{found.rule} fails for {own.name}: {found.reason}", "the lowest:", *worst_questions(own, subject, at_least)]
        raise AssertionError("\n".join(map(printable_line, lines)))


def worst_questions(own: GatedConfiguration, subject: Subject, limit: float) -> Iterator[str]:
    """Yield the questions with the worst values of a metric among those that do not meet a limit, as lines."""
    values = own.values(subject).values
    sign = 1 if own.measure(subject).higher_is_better else -1
    places = [place for place in np.argsort(sign * values, kind="stable").tolist() if sign * (values[place] - limit) < 0]
    questions = own.run.questions
    for place in places[:_SHOWN]:
        text = excerpt(questions["text"].iloc[place], 90)
        yield f"  {number(float(values[place]))}  {questions['query_id'].iloc[place]}  {text}"


def assert_end_to_end(
    system: object,
    *,
    at_least: float = 1.0,
    dataset: Dataset | None = None,
    configuration: str | None = None,
    judging: Judges = None,
) -> None:
    """Assert that questions pass the end-to-end test.

    A question passes if at least one expected document is in its context, each passage is relevant enough (0.5), the answer is faithful (0.85), has
    more than 50 characters and is relevant and correct enough (0.5); one that no document answers if it is refused. The key `judging.thresholds`
    of the experiment sets other limits.

    Parameters
    ----------
    system: the results of a sweep with the metric `end_to_end`, or a pipeline, an index or a target that searches and answers, which is asked.
    at_least: the least share of questions that pass.
    judging: the judges of a system's answers, as in an experiment.

    Raises
    ------
    AssertionError: fewer pass, or a question is a draft that nobody has accepted. The message says for each question what is wrong.
    InputError: the results lack the metric, or no question has a value.
    """
    __tracebackhide__ = True
    run = run_of(system, dataset, [_END_TO_END], judging)
    name = gated_configuration(run, GateSettings(configuration=configuration))
    rows = run.of("queries", name)
    rows = rows[(rows["metric"] == _END_TO_END) & (rows["condition"] == RETRIEVED) & (rows["repeat"] == 0)]
    scored, unscored = rows[rows["state"] == "scored"], rows[rows["state"] == "unscored"]
    if scored.empty:
        reason = f": {unscored['reason'].iloc[0]}" if len(unscored) else ""
        raise InputError(
            f"no question of {run.name} has a value of {_END_TO_END}{reason}", f"add {_END_TO_END} to the metrics and sweep again"
        )
    passed, of = int((scored["value"] == 1).sum()), len(scored) + len(unscored)
    require_accepted(unaccepted_drafts(run), f"{passed} of {plural(of, 'question')} pass the end-to-end test")
    if passed < at_least * of:
        faults = _Faults(run, name)
        missing = f", {len(unscored)} could not be judged ({unscored['reason'].iloc[0]})" if len(unscored) else ""
        lines = [f"{passed} of {plural(of, 'question')} pass the end-to-end test, at least {at_least:.0%} must{missing}"]
        lines += [faults.line(str(query_id)) for query_id in scored["query_id"][scored["value"] < 1][:_SHOWN]]
        raise AssertionError("\n".join(map(printable_line, lines)))


@dataclass(frozen=True, eq=False)
class _Faults:
    """Why questions fail."""

    run: RunTables
    configuration: str

    def line(self, query_id: str) -> str:
        question = self.run.questions.set_index("query_id").loc[query_id]
        return f"  {query_id}  {excerpt(str(question['text']), 60)}: {'; '.join(self._of(query_id, bool(question['answerable'])))}"

    def _of(self, query_id: str, answerable: bool) -> Iterator[str]:
        (answer,) = self._rows("answers", query_id).to_dict("records")
        if not answerable or answer["refused"]:
            yield "refused, although a document answers it" if answerable else f"answered, although no document does: {_short(answer)}"
            return
        limits = EndToEndThresholds.model_validate((self.run.judging or {}).get("thresholds", {}))
        found = {passage["doc_id"] for passage in json.loads(answer["passages"])}
        judged = self.run.table("judgements")[
            (self.run.table("judgements")["query_id"] == query_id) & (self.run.table("judgements")["relevance"] > 0)
        ]
        if not found & set(judged["doc_id"]):
            yield f"no expected document in the context ({', '.join(sorted(set(judged['doc_id']))[:3])})"
        yield from self._judged(query_id, limits)
        if (length := len(str(answer["answer"]).strip())) <= limits.characters:
            yield f"{length} characters, more than {limits.characters} are expected: {_short(answer)}"

    def _judged(self, query_id: str, limits: EndToEndThresholds) -> Iterator[str]:
        scores = self._rows("answer_judgements", query_id)
        low = scores[(scores["task"] == "context_relevance") & (scores["score"] < limits.context_relevance)]
        if len(low):
            worst = number(float(low["score"].min()))
            yield f"{plural(len(low), 'passage')} below the relevance of {limits.context_relevance:g}, the lowest {worst}"
        for task, least in (("answer_relevance", limits.answer_relevance), ("correctness", limits.correctness)):
            for score in scores["score"][(scores["task"] == task) & (scores["score"] < least)]:
                yield f"{task.replace('_', ' ')} {number(float(score))}, at least {least:g} is expected"
        claims = self._rows("claims", query_id)
        # A copied answer needs no support, and a mere score decides nothing.
        counts = not is_verbatim(self.run, self.configuration) and "score" not in set(self.run.judges.query("task == 'support'")["role"])
        claims = claims[(claims["verdict"] != "") & counts]
        supported = float((claims["verdict"] == "supported").mean()) if len(claims) else 1.0
        if supported < limits.faithfulness:
            yield f"{supported:.0%} of {plural(len(claims), 'claim')} are supported, at least {limits.faithfulness:.0%} are expected"

    def _rows(self, table: str, query_id: str) -> pd.DataFrame:
        rows = self.run.of(table, self.configuration)
        return rows[(rows["query_id"] == query_id) & (rows["condition"] == RETRIEVED) & (rows["repeat"] == 0)]


def _short(answer: dict[Any, Any]) -> str:
    return excerpt(str(answer["answer"]), 80)


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
