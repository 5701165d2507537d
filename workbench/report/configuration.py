"""The configuration notebook: one configuration of a run."""

from dataclasses import dataclass
from functools import cached_property

from workbench.analysis.standings import Standing, standing_of
from workbench.report.model import Headline, Lines, Terms
from workbench.report.records import Record
from workbench.report.render.notebook import Shown, show
from workbench.report.sections.cards import faults_table, lengths_figure, metrics_table, misses_table, settings
from workbench.report.sections.questions import questions_table, worst
from workbench.report.sections.separation import index_gap, latency, separation
from workbench.report.text.drafts import drafts_lines
from workbench.report.text.sentences import about_dataset, about_primary, predicate, window_note
from workbench.results.run_tables import RunTables
from workbench.statistics.intervals import counts_text


@dataclass(frozen=True)
class ConfigurationView:
    """Display the configuration `name` of a run."""

    run: RunTables
    name: str

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

    def _repr_html_(self) -> str:
        return self.overview()._repr_html_()
