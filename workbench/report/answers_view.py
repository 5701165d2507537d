"""The answers notebook: how the answers of a run depend on their contexts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.analysis.answers.answered import answering
from workbench.analysis.answers.condition_scores import answer_score, condition_scores
from workbench.analysis.answers.decomposition_table import decomposition_of
from workbench.analysis.answers.examples import question_in_conditions
from workbench.analysis.findings import Findings, findings
from workbench.context.conditions import RETRIEVED
from workbench.core.formatting import count, plural
from workbench.report.model import Block, Headline, Lines, Prose, Section
from workbench.report.records import Record
from workbench.report.render.notebook import Shown, show
from workbench.report.sections.answers.attacks import attacks
from workbench.report.sections.answers.conditions import condition_table, decomposition_table, losses_figure
from workbench.report.sections.answers.costs import answer_costs_section
from workbench.report.sections.answers.examples import example_blocks, question_fold
from workbench.report.sections.answers.refusals import refusals
from workbench.report.text.answers import detail_sentences, hold_answer
from workbench.results.run_tables import RunTables

_MOST = 200


@dataclass(frozen=True)
class AnswersView:
    """Display the answers of a run. `name` is the configuration whose answers are shown one by one."""

    run: RunTables
    name: str

    @cached_property
    def findings(self) -> Findings:
        """The findings on the run."""
        return findings(self.run)

    def overview(self) -> Shown:
        """The answer score with the evidence alone and with retrieved context, and what is lost."""
        answer, parts = hold_answer(self.run, self.name), decomposition_of(self.run, self.name)
        details = detail_sentences(self.run, parts) if parts else []
        return show(Headline(answer.sentence), Lines(details) if details else None)

    def conditions(self) -> Shown:
        """The answer score, refusals and unscored questions by condition."""
        return show(condition_table(self.run, self.name))

    def decomposition(self) -> Shown:
        """What is lost through retrieval, distractors and attacks, and what remains."""
        found = {name: parts for name in answering(self.run) if (parts := decomposition_of(self.run, name))}
        if not found:
            return show(Prose("Without the condition gold, losses cannot be separated."))
        own = found.get(self.name)
        return show(losses_figure(own) if own else None, decomposition_table(self.run, found))

    def attacks(self) -> Shown:
        """The outcomes and losses under attack."""
        return self._section(attacks(self.findings), "The run has no attacks.")

    def refusals(self) -> Shown:
        """Refusals and over-refusals, and risk against coverage."""
        return self._section(refusals(self.findings), "The run has no metric of refusals and no confidence.")

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

    def costs(self) -> Shown:
        """Time, tokens and money of answers, and the variance between repeats."""
        return self._section(answer_costs_section(self.findings), "The run has no answers.")

    def record(self, run_id: str) -> Record:
        """The conclusions, for the program that runs the notebook."""
        measure, parts = answer_score(self.run), decomposition_of(self.run, self.name)
        rows = condition_scores(self.run, self.name)
        scores = {row.condition: row.mean.value for row in rows if row.mean and row.mean.n}
        values: dict[str, Any] = {"configuration": self.name, "metric": str(measure or ""), "scores": scores}
        values["losses"] = {loss.name: loss.difference.value for loss in parts.losses} if parts else {}
        return Record(run_id, values, f"{self.name} answers under {plural(len(rows), 'condition')}")

    def _section(self, section: Section | None, missing: str) -> Shown:
        return show(section or Prose(missing))

    def _repr_html_(self) -> str:
        return self.overview()._repr_html_()
