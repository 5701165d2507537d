"""The views of a run that its notebooks show: the comparison, one configuration, the answers and the judges."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from workbench.components.context.conditions import RETRIEVED
from workbench.core.text.formatting import count, plural
from workbench.measures.statistics.intervals import counts_text
from workbench.report.analysis.answer_values import answer_score, answering, condition_scores
from workbench.report.analysis.causes import failures_of
from workbench.report.analysis.decision import decide
from workbench.report.analysis.decomposition import decomposition_of
from workbench.report.analysis.findings import Findings, findings
from workbench.report.analysis.judges import judge_trust
from workbench.report.analysis.marked_answers import question_in_conditions
from workbench.report.analysis.standings import Standing, standing_of
from workbench.report.answer_sentences import detail_sentences, hold_answer
from workbench.report.model import Block, Headline, Lines, Prose, Terms
from workbench.report.render.notebook import Record, Shown, show
from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import about_dataset, about_primary, drafts_lines, predicate, window_note
from workbench.report.topics.answers.calibration import calibration_blocks, corrected_blocks, disagreement_blocks
from workbench.report.topics.answers.conditions import condition_table, decomposition_table, losses_table, reasons_table
from workbench.report.topics.answers.examples import claim_blocks, example_blocks, question_fold
from workbench.report.topics.answers.judges import offer_blocks, role_blocks, tests_of
from workbench.report.topics.decision.opening import render
from workbench.report.topics.registry import TOPICS
from workbench.report.topics.retrieval.differences import differences
from workbench.report.topics.retrieval.ranking import failed
from workbench.report.topics.run.configurations import (
    faults_table,
    index_gap,
    latency,
    lengths_figure,
    metrics_table,
    misses_table,
    question_details,
    questions_table,
    separation,
    settings,
    worst,
)
from workbench.report.topics.topic import View

_MOST = 200


@dataclass(frozen=True)
class _RunView(ABC):
    """Display a run, or the configuration `name` of it, by a method for each topic of its notebook."""

    run: RunTables
    name: str = ""
    view: ClassVar[View]

    @cached_property
    def findings(self) -> Findings:
        """The findings on the run."""
        return findings(self.run)

    @abstractmethod
    def overview(self) -> Shown:
        """The conclusions."""

    def __getattr__(self, name: str) -> Callable[[], Shown]:
        for topic in TOPICS:
            if topic.name == name and self.view in topic.views:
                return lambda: show(topic.in_notebook(self.findings))
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(topic.name for topic in TOPICS if self.view in topic.views)]

    def _repr_html_(self) -> str:
        return self.overview()._repr_html_()


class ComparisonView(_RunView):
    """Display the configurations of a run side by side: `overview`, and a method for each topic of the comparison notebook, such as `ranking`."""

    view: ClassVar[View] = "comparison"

    def overview(self) -> Shown:
        """The decision: what to use, by how much it is better, how sure that is, at what cost, what still fails, and what is next."""
        return show(*render(decide(self.findings)), Prose(about_dataset(self.run)), failed(self.findings))

    def differences(self) -> Shown:
        """Differences on the same questions, and the results of the tests."""
        section, verdict = differences(self.findings), self.findings.verdict
        methods = Lines(verdict.methods) if section and verdict else None
        return show(section or Prose("The run has no two configurations to compare."), methods)

    def record(self, run_id: str) -> Record:
        """The conclusions, for the program that runs the notebook."""
        findings, metric = self.findings, str(self.findings.primary)
        standings = findings.standings
        ranked = [{"configuration": standing.name, "value": standing.means[metric].value} for standing in standings.ranked]
        windowed, uncovered = ([standing.name for standing in group] for group in (standings.windowed, standings.uncovered))
        values: dict[str, Any] = {"primary": metric, "ranked": ranked, "windowed": windowed, "failed": findings.failures}
        values |= {"uncovered": uncovered} if uncovered else {}
        verdict = findings.verdict
        values |= {"winner": verdict.winner, "reason": verdict.reason, "best": list(verdict.best)} if verdict else {"winner": None}
        aside = findings.screened.dropped if findings.screened else ()
        values |= {"screened_out": [row.configuration for row in aside]} if aside else {}
        unranked = f", {len(windowed)} beyond the window, {len(uncovered)} with too few values, {len(findings.failures)} failed"
        return Record(run_id, values, f"{len(ranked)} ranked by {metric}{unranked}")


class ConfigurationView(_RunView):
    """Display the configuration `name` of a run."""

    view: ClassVar[View] = "configuration"

    @cached_property
    def standing(self) -> Standing:
        """The means and facts of the configuration."""
        return standing_of(self.run, self.name)

    def overview(self) -> Shown:
        """Score, data and settings."""
        mean = self.standing.means[str(self.run.primary)]
        sentence = f"{self.name} {predicate(mean, self.run.primary)}, over {counts_text(mean.n, mean.clusters)}."
        cut = f"Its scores reflect the window, not the chunking: {window_note(self.standing)}."
        lines = [*([cut] if self.standing.beyond_window else []), about_primary(self.run), about_dataset(self.run), *drafts_lines(self.run)]
        return show(Headline(sentence), Lines(lines), Terms(settings(self.run, self.standing)))

    def metrics(self) -> Shown:
        """Every metric with its interval, counts and attainable maximum."""
        return show(metrics_table(self.run, self.standing))

    def misses(self) -> Shown:
        """Causes of misses."""
        return show(misses_table(self.run, self.name))

    def worst(self) -> Shown:
        """The worst questions with their evidence and the chunks delivered for them."""
        return show(*worst(self.run, self.name))

    def question(self, query_id: str) -> Shown:
        """Show one question with its evidence and delivered chunks. Raises InputError if the run has no such question."""
        return show(question_details(self.run, self.name, query_id))

    def queries(self) -> Shown:
        """Question by question, the worst by the primary metric first."""
        return show(questions_table(self.run, self.name))

    def lengths(self) -> Shown:
        """The lengths of the chunks compared with the embedder's window."""
        return show(lengths_figure(self.run, self.standing))

    def faults(self) -> Shown:
        """Faults of the chunks, each with its definition."""
        return show(faults_table(self.run, self.name))

    def separation(self) -> Shown:
        """Correct rankings with a small margin, and rankings decided by the tie breaker alone."""
        return show(*separation(self.run, self.name))

    def latency(self) -> Shown:
        """Milliseconds per question, and the gap of Chroma's approximate index to exact search."""
        return show(latency(self.run, self.name), *index_gap(self.run, self.name))

    def record(self, run_id: str) -> Record:
        """The conclusions, for the program that runs the notebook."""
        mean = self.standing.means[str(self.run.primary)]
        means = {metric: estimate.value for metric, estimate in self.standing.means.items()}
        values = {
            "configuration": self.name,
            "primary": mean.metric,
            "means": means,
            "value": mean.value,
            "low": mean.low,
            "high": mean.high,
        }
        return Record(run_id, values, f"{self.name} {mean.metric} {mean.text()}")


class AnswersView(_RunView):
    """Display the answers of a run. `name` is the configuration whose answers are shown one by one."""

    view: ClassVar[View] = "answers"

    def overview(self) -> Shown:
        """The answer score with the evidence alone and with retrieved context, and what is lost."""
        answer, parts = hold_answer(self.run, self.name), decomposition_of(self.run, self.name)
        details = detail_sentences(self.run, parts) if parts else []
        return show(Headline(answer.sentence), Lines(details) if details else None)

    def conditions(self) -> Shown:
        """The answer score, refusals and unscored questions by condition."""
        return show(condition_table(self.run, self.name), reasons_table(self.run, self.name))

    def decomposition(self) -> Shown:
        """Losses through retrieval, distractors and attacks, and the remaining ones."""
        decompositions = {name: parts for name in answering(self.run) if (parts := decomposition_of(self.run, name))}
        if not decompositions:
            return show(Prose("Without the condition gold, losses cannot be separated."))
        own = decompositions.get(self.name)
        return show(losses_table(own) if own else None, decomposition_table(self.run, decompositions))

    def examples(self, most: int = 5) -> Shown:
        """The questions with the largest losses in every condition, with their contexts."""
        return show(*example_blocks(self.run, self.name, most))

    def question(self, query_id: str) -> Shown:
        """Show one question in every condition. Raises InputError if the run has no such question."""
        return show(question_fold(self.run, self.name, question_in_conditions(self.run, self.name, query_id), opened=True))

    def every_answer(self, conditions: Sequence[str] = (RETRIEVED,), most: int = _MOST) -> Shown:
        """Show the answer to every question in some conditions beside its context, up to `most` questions."""
        ids = self.run.questions["query_id"].tolist()
        chosen = [question_in_conditions(self.run, self.name, query_id, conditions) for query_id in ids[:most]]
        blocks: list[Block] = [question_fold(self.run, self.name, each) for each in chosen]
        rest = [Prose(f"The first {count(most)} of {plural(len(ids), 'question')}.")] if len(ids) > most else []
        return show(*rest, *blocks)

    def record(self, run_id: str) -> Record:
        """The conclusions, for the program that runs the notebook."""
        measure, parts = answer_score(self.run), decomposition_of(self.run, self.name)
        rows = condition_scores(self.run, self.name)
        scores = {row.condition: row.mean.value for row in rows if row.mean and row.mean.n}
        values: dict[str, Any] = {"configuration": self.name, "metric": str(measure or ""), "scores": scores}
        values["losses"] = {loss.name: loss.difference.value for loss in parts.losses} if parts else {}
        return Record(run_id, values, f"{self.name} answers under {plural(len(rows), 'condition')}")


class JudgeView(_RunView):
    """Display the judges of a run. `name` is the configuration whose claims are shown."""

    view: ClassVar[View] = "judges"

    def overview(self) -> Shown:
        """Warnings, and the qualification of each judge by its test on known answers."""
        known = judge_trust(self.run)
        tested = (
            [*role_blocks(self.run), *tests_of(self.run)] if known else [Prose("The judges of the run were not tested on known answers.")]
        )
        return show(*tested)

    def calibration(self) -> Shown:
        """Agreement of each judge with labels: its curve, its measures, and disagreements by configuration. Without labels, the commands that draw them."""
        return show(*(calibration_blocks(self.run) or [Prose("The run has no labels."), *offer_blocks(self.run)]))

    def disagreements(self, most: int = 20) -> Shown:
        """The labelled items that the judges decide differently from people, the ones that they are surest of first."""
        return show(*(disagreement_blocks(self.run, most) or [Prose("The run has no labels that its judges could disagree with.")]))

    def corrected(self) -> Shown:
        """Means and differences corrected by labels, beside those of the judges alone."""
        return show(*(corrected_blocks(self.run) or [Prose("No mean is corrected: that needs 50 labels of each configuration.")]))

    def claims(self, most: int = 20) -> Shown:
        """The claims of the configuration that no passage supports, or those with the lowest scores."""
        return show(*claim_blocks(self.run, self.name, most))

    def record(self, run_id: str) -> Record:
        """The conclusions, for the program that runs the notebook."""
        trusted, failures = judge_trust(self.run), failures_of(self.run, self.name)
        values: dict[str, Any] = {
            "configuration": self.name,
            "judges": {each.task: [each.judge, each.role, each.badge] for each in trusted},
        }
        values["causes"] = {each.cause.name: each.answers for each in failures.by_frequency} if failures else {}
        return Record(run_id, values, f"{plural(len(trusted), 'judge')} of {self.name}")
