"""The comparison notebook, which shows the sections of the report as cell outputs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.analysis.findings import Findings, findings
from workbench.report.model import Lines, Prose
from workbench.report.records import Record
from workbench.report.render.notebook import Shown, show
from workbench.report.sections.answerable import answerable
from workbench.report.sections.costs import costs, curves, sizes
from workbench.report.sections.differences import differences
from workbench.report.sections.exploratory import exploratory
from workbench.report.sections.pairs import pair_blocks, pairs, tally
from workbench.report.sections.parts import parts_section
from workbench.report.sections.ranking import failed, ranking
from workbench.report.sections.slices import slices
from workbench.report.text.sentences import about_primary
from workbench.report.text.summary import answered, answers, headline, opening
from workbench.results.run_tables import RunTables


@dataclass(frozen=True)
class ComparisonView:
    """Display the configurations of a run side by side."""

    run: RunTables

    @cached_property
    def findings(self) -> Findings:
        """The findings on the run."""
        return findings(self.run)

    def overview(self) -> Shown:
        """The winner or the tie set, the margin, its certainty, the cost, and failures."""
        introduction = Lines([*opening(self.findings), about_primary(self.run)])
        questions = answered(self.findings) if self.findings.verdict else None
        return show(headline(self.findings), introduction, questions, failed(self.findings))

    def ranking(self) -> Shown:
        """The ranking by the primary metric, and configurations that are not ranked."""
        return show(ranking(self.findings))

    def differences(self) -> Shown:
        """Differences on the same questions, and the results of the tests."""
        answer, verdict = answers(self.findings), self.findings.verdict
        lines = [answer.certainty.text, answer.margin.detail, answer.more.text]
        methods = Lines(verdict.methods) if self.findings.margin and verdict else None
        return show(Lines([line for line in lines if line]), differences(self.findings), methods)

    def parts(self) -> Shown:
        """The effect of each part over the configurations that differ only in it."""
        return show(parts_section(self.findings) or Prose("The run varies only one part, whose effects are the differences."))

    def sources(self) -> Shown:
        """Questions on which the leader and the second, or the baseline, differ."""
        pair = self.findings.contrast
        if pair is None:
            return show(Prose("The run has no second configuration to compare."))
        return show(Prose(tally(pair)), *pair_blocks(self.findings, pair))

    def pairs(self) -> Shown:
        """Questions on which pairs of configurations differ."""
        return show(pairs(self.findings))

    def slices(self) -> Shown:
        """The primary metric by slice."""
        return show(slices(self.findings) or Prose("No configuration can be sliced."))

    def answerable(self) -> Shown:
        """How well scores separate answerable from unanswerable questions."""
        return show(answerable(self.findings) or Prose("The run does not have both answerable and unanswerable questions."))

    def exploratory(self) -> Shown:
        """Metrics beside the primary one, and the ranking at a fixed number of chunks."""
        return show(exploratory(self.findings) or Prose("The run has no other metric."))

    def curves(self) -> Shown:
        """Recall of evidence as more text is delivered."""
        missing = (
            "No configuration can be plotted."
            if self.run.dataset["needs"]
            else "The data have no evidence, so recall of text is undefined."
        )
        return show(curves(self.findings) or Prose(missing))

    def sizes(self) -> Shown:
        """The primary metric by size and overlap, if the experiment varies both."""
        return show(sizes(self.findings) or Prose("The run does not vary both size and overlap."))

    def costs(self) -> Shown:
        """The costs of each configuration, and the primary metric against them."""
        return show(costs(self.findings) or Prose("No configuration was finished."))

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
        aside = findings.screening.dropped if findings.screening else ()
        values |= {"screened_out": [row.configuration for row in aside]} if aside else {}
        unranked = f", {len(windowed)} beyond the window, {len(uncovered)} with too few values, {len(findings.failures)} failed"
        return Record(run_id, values, f"{len(ranked)} ranked by {metric}{unranked}")

    def _repr_html_(self) -> str:
        return self.overview()._repr_html_()
