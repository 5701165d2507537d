"""Score the judged variants by one metric of judgements for each question."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import pandas as pd

from workbench.judging.base import TASKS, Judgement, Task
from workbench.judging.settings import EndToEndThresholds
from workbench.metrics.answers.case import AnswerCase
from workbench.metrics.judged.case import AnswerJudgements, JudgedCase
from workbench.metrics.judged.evaluate import judged_values
from workbench.metrics.names import Metric
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Entries, Identity, Inputs, Node, Stage
from workbench.pipeline.stages.answering.answer_scores import SCORE_COLUMNS, cases_of
from workbench.pipeline.stages.judging.judge_tests import FAILED, trust_in
from workbench.pipeline.stages.judging.judged_stage import JudgedStage
from workbench.pipeline.stages.judging.verdicts import OVERLAP, SUPPORT
from workbench.records import Variant
from workbench.storage.result_store import ResultWriter, StoredResult

# Of all variants that a run may have.
_CASES = 64
# The thresholds that a metric reads.
_THRESHOLDS = {"end_to_end": set(EndToEndThresholds.model_fields), "context_precision_judged": {"context_relevance"}}


class JudgedScoresStage(Stage):
    """A result for each metric of judgements: table `scores`, as that of `answer_scores`, of all judged variants."""

    name = "judged_scores"
    inputs = ("labels", "expected", "contexts", "answers", "claims", "verdicts", "judgements", "judge_tests")
    uses_cache: ClassVar[bool] = True

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Return whether the configuration answers and the run has judges."""
        return configuration.answering is not None and run.judging is not None

    def includes(self, variant: Variant, run: RunContext) -> bool:
        """Return whether the answers of the variant's condition are judged."""
        return variant.condition in run.judged_conditions

    def parts(self, run: RunContext) -> Sequence[str]:
        """Return the names of the metrics of judgements."""
        return tuple(str(metric) for metric in run.judged_metrics)

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the metric's version, the thresholds that it reads, and the variants in their order."""
        metric = Metric.parse(node.part)
        judging, read = JudgedStage.judging(run), _THRESHOLDS.get(metric.name, set())
        thresholds = judging.thresholds.model_dump(include=read) if read else None
        variants = [str(variant) for variant in run.judged_variants]
        return Identity(run={"version": metric.judged_kind.version, "thresholds": thresholds, "variants": variants})

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Score each variant."""
        metric = Metric.parse(inputs.node.part)
        tables = []
        for variant, case in judged_cases(inputs.run, inputs.configuration, inputs.entries).items():
            scores = judged_values(case, metric.judged_kind, metric.cut)
            tables.append(scores.assign(condition=variant.condition, variant=variant.perturbation, repeat=variant.repeat))
        writer.table("scores", pd.concat(tables, ignore_index=True)[SCORE_COLUMNS])


def judged_cases(run: RunContext, configuration: Configuration, entries: Entries) -> dict[Variant, JudgedCase]:
    """Return the case of each judged variant, from the entries of the inputs of `JudgedScoresStage`."""
    answered = cases_of(run, configuration, entries, run.judged_variants)
    tested = entries["judge_tests"][Node("judge_tests", configuration, part="support").result_id]
    return {variant: _case(run, case, tested, *judged_entries(configuration, entries, variant)) for variant, case in answered.items()}


def judged_entries(
    configuration: Configuration, entries: Entries, variant: Variant
) -> tuple[StoredResult, tuple[StoredResult, ...], tuple[tuple[Task, StoredResult], ...]]:
    """Return the entries of a variant: its claims, its verdicts by the judges `support` and `overlap`, and its judgements by task."""

    def entry(stage: str, part: str = "") -> StoredResult | None:
        return entries.get(stage, {}).get(Node(stage, configuration, variant, part).result_id)

    claims, support = entries["claims"][Node("claims", configuration, variant).result_id], entry("verdicts", SUPPORT)
    verdicts = tuple(filter(None, (support, entry("verdicts", OVERLAP) or support)))
    judgements = tuple((task, found) for task in TASKS if (found := entry("judgements", task)))
    return claims, verdicts, judgements


@lru_cache(maxsize=_CASES)
def _case(
    run: RunContext,
    answered: AnswerCase,
    tested: StoredResult,
    claims: StoredResult,
    verdicts: tuple[StoredResult, ...],
    judgements: tuple[tuple[Task, StoredResult], ...],
) -> JudgedCase:
    """Return the case of a variant, cached so that all metrics share it."""
    rows = claims.table("claims")
    counts = rows[rows["number"] >= 0].groupby("query").size().to_dict()
    failed = rows[rows["number"] < 0]
    errors = dict(zip(failed["query"].tolist(), failed["error"].tolist(), strict=True))
    support, overlap = (_by_question(entry.table("verdicts"), "number") for entry in verdicts)
    tasks = {task: _by_question(entry.table("judgements"), "passage") for task, entry in judgements}
    found = [
        AnswerJudgements(
            claims=int(counts.get(query, 0)),
            claims_error=errors.get(query, ""),
            support=support.get(query, ()),
            overlap=overlap.get(query, ()),
            passages=tasks.get("context_relevance", {}).get(query, ()),
            tasks={task: by_query[query][0] for task, by_query in tasks.items() if task != "context_relevance" and query in by_query},
        )
        for query in range(len(answered))
    ]
    judge, role = JudgedStage.judging(run).support, trust_in(tested)
    measured = f": {role.reason}" if judge.gives_verdicts else ""
    untested = FAILED if judge.gives_verdicts and role.failed_calls else ""
    only_score = "" if role.role == "judge" or untested else f"`{judge.kind}` is a score, not a judge{measured}"
    blind = "" if judge.finds_contradictions else f"`{judge.kind}` does not tell contradicted claims from absent ones"
    return JudgedCase(answered, found, _relevant(run), only_score, blind, untested, JudgedStage.judging(run).thresholds)


def _by_question(rows: pd.DataFrame, number: str) -> dict[int, tuple[Judgement, ...]]:
    """Return the judgements of a table `verdicts` or `judgements` by question, in the order of `number`."""
    found: dict[int, list[Judgement]] = {}
    verdicts = rows["verdict"] if "verdict" in rows else pd.Series("", index=rows.index)
    ordered = rows.assign(verdict=verdicts).sort_values(["query", number], kind="stable")
    columns = ordered[["query", "score", "verdict", "error"]]
    for query, score, verdict, error in columns.itertuples(index=False, name=None):
        found.setdefault(query, []).append(Judgement(None if math.isnan(score) else score, verdict, error=error))
    return {query: tuple(judgements) for query, judgements in found.items()}


@lru_cache(maxsize=2)
def _relevant(run: RunContext) -> tuple[frozenset[str], ...]:
    documents: dict[str, set[str]] = {}
    for qrel in run.dataset.qrels:
        if qrel.relevance >= 1:
            documents.setdefault(qrel.query_id, set()).add(qrel.doc_id)
    return tuple(frozenset(documents.get(query.query_id, ())) for query in run.dataset.queries)
