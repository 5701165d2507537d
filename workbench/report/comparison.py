"""What the comparison notebook shows of an experiment."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from workbench.experiment.notebooks import record
from workbench.experiment.run import CURVE, Outcome
from workbench.experiment.tables import timings_table
from workbench.metrics.names import Metric
from workbench.report import plots, sentences
from workbench.report.display import NOTHING, Fragment, Picture, lead, notes, prose, show, style
from workbench.report.grid import size_grid
from workbench.report.numerals import count, interval, listed, number, plural, signed
from workbench.report.standings import Standings, difference, standings
from workbench.report.tables import Column, table, text, words
from workbench.statistics.intervals import Interval

# What a configuration need not have, such as one that embeds nothing, and the table leaves empty.
_OPTIONAL = ("seconds_vectors", "index_bytes", *(f"latency_{step}_{at}" for step in ("embed", "exact", "chroma") for at in ("p50", "p95")))
_OF_TEXT = ("spans", "hits", "chunks")


@dataclass(frozen=True)
class ComparisonView:
    """An experiment's configurations beside each other."""

    outcome: Outcome

    @cached_property
    def found(self) -> Standings:
        """The configurations in their order."""
        return standings(self.outcome)

    @property
    def primary(self) -> Metric:
        """The metric that orders them."""
        return self.outcome.primary

    def overview(self) -> Fragment:
        """What was compared on what, what comes first, and what failed; with the style of all that follows."""
        dataset, number_of = self.outcome.bench.dataset, len(self.outcome.experiment.configurations)
        lines = [sentences.headline(self.found), sentences.NO_TEST, sentences.about_primary(self.primary, dataset)]
        lines.append(f"{sentences.about_dataset(dataset)} {plural(number_of, 'configuration')}.")
        return style() + lead(lines[0]) + notes(lines[1:]) + self._failures()

    def ranking(self) -> Fragment:
        """The order by the primary metric, and apart from it what cannot be ordered."""
        columns, rows = self._columns(), []
        for place, standing in enumerate(self.found.ranked, 1):
            size, overlap = standing.result.configuration.chunking.sizes
            fixed = [standing.name, str(place), standing.means[str(self.primary)].text(), _size(size), _size(overlap)]
            metrics = [standing.means[name].of_attainable for name in self._document_metrics]
            summary = standing.result.summary
            rows.append([*fixed, *metrics, count(summary["delivered_tokens"]), count(summary["truncated_tokens"])])
        caption = f"By {self.primary}, 95 % intervals clustered by document" + (
            f"; {count(self.primary.tokens)} tokens of text each" if self.primary.tokens else ""
        )
        return (table(caption, columns, rows) if rows else prose("No configuration can be ranked.")) + self._windowed()

    def forest(self) -> Picture | Fragment:
        """The primary metric of all ranked configurations with its intervals."""
        if not self.found.ranked:
            return NOTHING
        rows = [(standing.name, standing.means[str(self.primary)]) for standing in self.found.ranked]
        told = "; ".join(f"{name} {mean.text(2)}" for name, mean in rows)
        return show(plots.forest(rows, f"{self.primary} with 95 % interval"), f"{self.primary} by configuration: {told}")

    def differences(self) -> Fragment:
        """What each configuration differs by from the baseline, on the same questions."""
        baseline = self.found.baseline
        pairs = self._differences()
        if baseline is None or not pairs:
            return prose(sentences.differences_told("", []))
        instead = f" The baseline {self.outcome.experiment.baseline} is not ranked." if self._baseline_missing else ""
        rows = [
            [name, signed(one.value), interval(one.low, one.high), count(one.n), count(one.clusters), sentences.reading(one)]
            for name, one in pairs
        ]
        columns = [words("configuration"), Column("difference"), Column("95 % interval"), Column("questions"), Column("clusters")]
        caption = f"{self.primary} minus that of {baseline.name}, question by question"
        told = sentences.differences_told(baseline.name, pairs) + instead
        return prose(told) + table(caption, [*columns, words("reading")], rows)

    def fixed_k(self) -> Fragment:
        """The order at a fixed number of chunks, which is not an equal amount of text."""
        metrics = [metric for metric in self._asked if metric.family in _OF_TEXT and metric.k is not None]
        if not metrics or not self.found.ranked:
            return prose("No configuration can be ranked." if metrics else "No metric over the first k chunks was asked for.")
        columns = [words("configuration"), *(Column(str(metric)) for metric in metrics), Column("delivered tokens")]
        rows = []
        for standing in self.found.by(metrics[0]):
            first, *others = (standing.means[str(metric)] for metric in metrics)
            cells = [first.text(), *(mean.of_attainable for mean in others), count(standing.result.summary["delivered_tokens"])]
            rows.append([standing.name, *cells])
        k = self.found.ranked[0].result.configuration.retrieval.k
        caption = f"By {metrics[0]}, with 95 % intervals; delivered tokens are those of all {k} chunks that retrieval delivers"
        return prose(sentences.context_told(self.found.ranked)) + table(caption, columns, rows)

    def curves(self) -> Picture | Fragment:
        """Recall of evidence as more text is delivered."""
        if not self.outcome.bench.dataset.needs:
            return prose("Without evidence spans there is no recall of text to draw.")
        recalls = {one.name: [one.means[f"span_recall@{tokens}t"].value for tokens in CURVE] for one in self.found.ranked}
        if not recalls:
            return prose("No configuration can be drawn.")
        told = "; ".join(f"{name} {', '.join(number(value, 2) for value in values)}" for name, values in recalls.items())
        budgets = listed([count(tokens) for tokens in CURVE])
        return show(plots.curves(CURVE, recalls), f"Share of the evidence delivered within {budgets} tokens: {told}")

    def heatmap(self) -> Picture | Fragment:
        """The primary metric by size and overlap, where both were varied."""
        grid = size_grid(self.found.ranked, self.primary)
        if grid is None:
            return prose("Size and overlap were not both varied, so there is no map of them.")
        told = "; ".join(f"size {size} overlap {overlap} {number(value, 2)}" for (size, overlap), value in sorted(grid.cells.items()))
        return show(plots.heatmap(grid, str(self.primary)), f"{self.primary} by size and overlap, {grid.title}: {told}")

    def cost(self) -> Fragment:
        """What each configuration costs to build and to ask."""
        if not self.outcome.results:
            return prose("No configuration was finished.")
        timings = timings_table(self.outcome).pivot(index="configuration", columns="name", values="value")
        timings = timings.reindex(columns=sorted({*timings.columns, *_OPTIONAL}))
        names = {"embed p50": "latency_embed_p50", "embed p95": "latency_embed_p95"}
        names |= {"search p50": "latency_exact_p50", "search p95": "latency_exact_p95", "Chroma p95": "latency_chroma_p95"}
        rows = []
        for result in self.outcome.results:
            row, summary = timings.loc[result.configuration.name].to_dict(), result.summary
            sizes = [count(summary["chunks"]), count(summary["tokens"])]
            spent = [number(row["seconds_vectors"], 1), number(row["index_bytes"] / 1e6, 1)]
            rows.append([result.configuration.name, *sizes, *spent, *(number(row[name], 2) for name in names.values())])
        columns = [words("configuration"), Column("chunks"), Column("tokens"), Column("encoding, s"), Column("index, MB")]
        return table("Cost; latencies in milliseconds a question", [*columns, *map(Column, names)], rows)

    def record(self, run_id: str) -> None:
        """Keep the conclusions in the store under the run's id, and say them in a line."""
        metric = str(self.primary)
        ranked = [{"configuration": one.name, "value": _plain(one.means[metric].value)} for one in self.found.ranked]
        windowed = [one.name for one in self.found.windowed]
        values: dict[str, Any] = {"primary": metric, "ranked": ranked, "windowed": windowed, "failed": dict(self.outcome.failures)}
        record(self.outcome.bench.workplace.store, run_id, values)
        unranked = f", {len(windowed)} beyond the window, {len(self.outcome.failures)} failed"
        print(f"{'recorded' if run_id else 'not recorded (opened by hand)'}: {len(ranked)} ranked by {metric}{unranked}")

    @property
    def _asked(self) -> Sequence[Metric]:
        return self.outcome.bench.metrics

    @property
    def _document_metrics(self) -> list[str]:
        """precision and recall over documents, at 5 where that was asked for."""
        found = []
        for name in ("precision", "recall"):
            at = sorted((metric for metric in self._asked if metric.name == name), key=lambda metric: abs((metric.k or 0) - 5))
            found += [str(metric) for metric in at[:1]]
        return found

    @property
    def _baseline_missing(self) -> bool:
        named, used = self.outcome.experiment.baseline, self.found.baseline
        return named is not None and used is not None and used.name != named

    def _columns(self) -> list[Column]:
        fixed = [words("configuration"), Column("#"), Column(f"{self.primary} [95 %]"), Column("size"), Column("overlap")]
        metrics = [Column(f"{name} of attainable") for name in self._document_metrics]
        return [*fixed, *metrics, Column("delivered tokens"), Column("truncated tokens")]

    def _differences(self) -> list[tuple[str, Interval]]:
        baseline = self.found.baseline
        others = [one for one in self.found.ranked if baseline is not None and one.name != baseline.name]
        pairs = [(one.name, difference(self.outcome.bench, self.primary, one, baseline)) for one in others if baseline is not None]
        return [(name, found) for name, found in pairs if found is not None]

    def _windowed(self) -> Fragment:
        if not self.found.windowed:
            return prose("No chunk is longer than its embedder's window.")
        rows = [[one.name, "window, not chunking", sentences.window_note(one)] for one in self.found.windowed]
        columns = [words("configuration"), words("what its scores tell of"), text("what was cut off")]
        return table("Not ranked: chunks longer than the embedder's window", columns, rows)

    def _failures(self) -> Fragment:
        rows = [[name, line] for name, line in self.outcome.failures.items()]
        return table("Failed", [words("configuration"), text("error")], rows) if rows else NOTHING


def _size(value: int | None) -> str:
    return "–" if value is None else count(value)


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value
