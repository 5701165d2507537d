"""What the configuration notebook shows of one configuration of a run."""

from dataclasses import dataclass
from functools import cached_property

from workbench.analysis.standings import Standing, standing_of
from workbench.core.formatting import plural
from workbench.report.model import Lead, Lines, Terms
from workbench.report.records import Record
from workbench.report.render.notebook import Shown, show
from workbench.report.sections.cards import faults_table, lengths_figure, metrics_table, misses_table, settings
from workbench.report.sections.questions import questions_table, worst
from workbench.report.sections.separation import index_gap, latency, separation
from workbench.report.text.sentences import about_dataset, about_primary, said, window_note
from workbench.results.run_tables import RunTables


@dataclass(frozen=True)
class ConfigurationView:
    """The configuration `name` of a run."""

    run: RunTables
    name: str

    @cached_property
    def standing(self) -> Standing:
        """Its means and what is known of it."""
        return standing_of(self.run, self.name)

    def overview(self) -> Shown:
        """What it is and how it does."""
        mean = self.standing.means[str(self.run.primary)]
        told = f"{self.name} {said(mean, self.run.primary)}, over {plural(mean.n, 'question')} in {plural(mean.clusters, 'cluster')}."
        cut = f"Its scores tell of the window, not of the chunking: {window_note(self.standing)}."
        lines = [*([cut] if self.standing.beyond_window else []), about_primary(self.run), about_dataset(self.run)]
        return show(Lead(told), Lines(lines), Terms(settings(self.run, self.standing)))

    def metrics(self) -> Shown:
        """Every metric with its interval, what it is a mean of, and what is attainable."""
        return show(metrics_table(self.standing))

    def misses(self) -> Shown:
        """Why questions miss something."""
        return show(misses_table(self.run, self.name))

    def worst(self) -> Shown:
        """The worst questions with their evidence and the chunks delivered for them."""
        return show(*worst(self.run, self.name))

    def queries(self) -> Shown:
        """Question by question, the worst by the primary metric first."""
        return show(questions_table(self.run, self.name))

    def lengths(self) -> Shown:
        """The lengths of the chunks against the embedder's window."""
        return show(lengths_figure(self.run, self.standing))

    def faults(self) -> Shown:
        """Faults of the chunks, each with its definition."""
        return show(faults_table(self.run, self.name))

    def separation(self) -> Shown:
        """Right rankings that a small change could turn, and rankings that only the tie breaker decides."""
        return show(*separation(self.run, self.name))

    def latency(self) -> Shown:
        """Milliseconds a question, and what Chroma's approximate index changes against exact search."""
        return show(latency(self.run, self.name), *index_gap(self.run, self.name))

    def record(self, run_id: str) -> Record:
        """The conclusions, for the program that runs the notebook."""
        mean = self.standing.means[str(self.run.primary)]
        means = {metric: one.value for metric, one in self.standing.means.items()}
        values = {
            "configuration": self.name,
            "primary": mean.metric,
            "means": means,
            "value": mean.value,
            "low": mean.low,
            "high": mean.high,
        }
        return Record(run_id, values, f"{self.name} {mean.metric} {mean.text()}")

    def _repr_html_(self) -> str:
        return self.overview()._repr_html_()
