"""Assertions about the mean of a metric."""

from collections.abc import Iterator

import numpy as np

from workbench.core.display import excerpt
from workbench.core.formatting import number
from workbench.gate.check import gated_configuration
from workbench.gate.gated import GatedConfiguration
from workbench.gate.limits import floor_result
from workbench.gate.rules import Floor, GateSettings, Subject
from workbench.printable import printable_line
from workbench.records import Dataset
from workbench.report.text.sentences import unaccepted_drafts
from workbench.results.run_tables import RunTables
from workbench.statistics.gates import Decision
from workbench.testing.assertions.systems import Judges, require_accepted, run_of

_SHOWN = 5


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
