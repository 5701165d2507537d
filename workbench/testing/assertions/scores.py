"""Assertions about the mean of a metric, and about the questions that pass the end-to-end test."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from workbench.components.judging.settings import EndToEndThresholds
from workbench.core.errors import InputError
from workbench.core.records import Dataset
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import number, plural
from workbench.core.text.printable import printable_line
from workbench.gate.check import gated_configuration
from workbench.gate.gated import GatedConfiguration
from workbench.gate.limits import floor_result
from workbench.gate.rules import Floor, GateSettings, Subject
from workbench.measures.statistics.gates import Decision
from workbench.report.analysis.answer_values import is_verbatim
from workbench.report.results.run_tables import RETRIEVED, RunTables
from workbench.report.text.sentences import unaccepted_drafts
from workbench.testing.assertions.systems import Judges, require_accepted, run_of

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
