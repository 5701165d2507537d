"""The judge notebook: how far the judges of a run can be trusted, and why answers fail by them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.analysis.findings import Findings, findings
from workbench.analysis.judging.failures import by_frequency, failures_of
from workbench.analysis.judging.judge_trust import judge_trust
from workbench.core.formatting import plural
from workbench.report.model import Prose
from workbench.report.records import Record
from workbench.report.render.notebook import Shown, show
from workbench.report.sections.judging.calibration import calibration_blocks, disagreement_blocks
from workbench.report.sections.judging.causes import answer_failures
from workbench.report.sections.judging.claims import claim_blocks
from workbench.report.sections.judging.corrected import corrected_blocks
from workbench.report.sections.judging.judges import offer_blocks, role_blocks
from workbench.results.run_tables import RunTables


@dataclass(frozen=True)
class JudgeView:
    """Display the judges of a run. `name` is the configuration whose claims are shown."""

    run: RunTables
    name: str

    @cached_property
    def findings(self) -> Findings:
        """The findings on the run."""
        return findings(self.run)

    def overview(self) -> Shown:
        """Warnings, and what each judge may be called by its test on known answers."""
        return show(
            *(role_blocks(self.run) if judge_trust(self.run) else [Prose("The judges of the run were not tested on known answers.")])
        )

    def calibration(self) -> Shown:
        """How each judge agrees with labels: its curve, its measures, and disagreements by configuration. Without labels, how to get them."""
        return show(*(calibration_blocks(self.run) or [Prose("The run has no labels."), *offer_blocks(self.run)]))

    def disagreements(self, most: int = 20) -> Shown:
        """The labelled items that the judges decide differently from people, the ones that they are surest of first."""
        return show(*(disagreement_blocks(self.run, most) or [Prose("The run has no labels that its judges could disagree with.")]))

    def corrected(self) -> Shown:
        """Means and differences corrected by labels, beside those of the judges alone."""
        return show(*(corrected_blocks(self.run) or [Prose("No mean is corrected: that needs 50 labels of each configuration.")]))

    def causes(self) -> Shown:
        """Why answers fail, by configuration."""
        return show(answer_failures(self.findings) or Prose("The answers of the run have no causes of failures."))

    def claims(self, most: int = 20) -> Shown:
        """The claims of the configuration that no passage supports, or those with the lowest scores."""
        return show(*claim_blocks(self.findings, self.name, most))

    def record(self, run_id: str) -> Record:
        """The conclusions, for the program that runs the notebook."""
        trusted, failures = judge_trust(self.run), failures_of(self.run, self.name)
        values: dict[str, Any] = {
            "configuration": self.name,
            "judges": {each.task: [each.judge, each.role, each.badge] for each in trusted},
        }
        values["causes"] = {each.cause.name: each.answers for each in by_frequency(failures)} if failures else {}
        return Record(run_id, values, f"{plural(len(trusted), 'judge')} of {self.name}")

    def _repr_html_(self) -> str:
        return self.overview()._repr_html_()
