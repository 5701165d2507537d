"""What the comparison notebook shows of an experiment."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from workbench.analysis.findings import Findings, findings
from workbench.analysis.frontier import Cost, frontier_picture
from workbench.analysis.size_grid import size_grid
from workbench.analysis.standings import Standings
from workbench.core.formatting import count, listed, number
from workbench.execution.local import CURVE, Outcome
from workbench.execution.tables import timings_table
from workbench.metrics.names import Metric
from workbench.notebook_runner.notebooks import record
from workbench.report.figures import plots
from workbench.report.render.display import NOTHING, Fragment, Picture, lead, notes, prose, show, style
from workbench.report.tables.fragments import Column, table, text, words
from workbench.report.tables.pairwise import differences_table, exploratory_table, sources_table
from workbench.report.text import sentences
from workbench.report.text.screening import HEADINGS, screened_rows, screened_sentence
from workbench.report.text.summary import Answers, answers

# What a configuration need not have, such as one that embeds nothing, and the table leaves empty.
_OPTIONAL = ("seconds_vectors", "index_bytes", *(f"latency_{step}_{at}" for step in ("embed", "exact", "chroma") for at in ("p50", "p95")))
_OF_TEXT = ("spans", "hits", "chunks")


@dataclass(frozen=True)
class ComparisonView:
    """An experiment's configurations beside each other."""

    outcome: Outcome

    @cached_property
    def findings(self) -> Findings:
        """What was found."""
        return findings(self.outcome)

    @cached_property
    def answers(self) -> Answers:
        """What was found, as questions and answers."""
        return answers(self.findings)

    @property
    def found(self) -> Standings:
        """The configurations in their order."""
        return self.findings.standings

    @property
    def primary(self) -> Metric:
        """The metric that orders them."""
        return self.outcome.primary

    def overview(self) -> Fragment:
        """What won or that nothing did, by how much, how sure, at what cost, and what failed; with the style of all that follows."""
        said, dataset = self.answers, self.outcome.bench.dataset
        lines = [said.margin.sentence, said.certainty.sentence, said.more.sentence, said.cost.sentence, said.faults.sentence]
        lines += [said.weakest.sentence] if self.findings.first else []
        about = [sentences.about_primary(self.primary, dataset), f"{said.data.sentence} {said.data.detail}".strip()]
        told = lines if self.findings.verdict else []
        return style() + lead(f"{said.won.sentence} {said.won.detail}".strip()) + notes([*told, *about]) + self._failures()

    def ranking(self) -> Fragment:
        """The order by the primary metric, and apart from it what cannot be ordered."""
        columns, rows = self._columns(), []
        for place, standing in enumerate(self.found.ranked, 1):
            size, overlap = standing.result.configuration.chunking.sizes
            told = [self.findings.mark(standing.name), standing.means[str(self.primary)].text()]
            fixed = [standing.name, str(place), *told, _size(size), _size(overlap)]
            metrics = [standing.means[name].of_attainable for name in self._document_metrics]
            summary = standing.result.summary
            rows.append([*fixed, *metrics, count(summary["delivered_tokens"]), count(summary["truncated_tokens"])])
        caption = f"By {self.primary}, 95 % intervals of each mean by itself, clustered by document" + (
            f"; {count(self.primary.tokens)} tokens of text each" if self.primary.tokens else ""
        )
        if self.findings.told and not self.findings.winner:
            end = "highest" if self.primary.higher_is_better else "lowest"
            caption += f"; = marks the set that cannot be told apart: with 95 % confidence the {end} true mean is in it"
        return (table(caption, columns, rows) if rows else prose("No configuration can be ranked.")) + self._windowed() + self._screened()

    def forest(self) -> Picture | Fragment:
        """The primary metric of all ranked configurations with its intervals."""
        if not self.found.ranked:
            return NOTHING
        rows = [(standing.name, standing.means[str(self.primary)]) for standing in self.found.ranked]
        told = "; ".join(f"{name} {mean.text(2)}" for name, mean in rows)
        return show(plots.forest(rows, f"{self.primary} with 95 % interval"), f"{self.primary} by configuration: {told}")

    def differences(self) -> Fragment:
        """What the configurations differ by, on the same questions, and what the tests say."""
        said = self.answers
        told = [f"{said.certainty.sentence} {said.certainty.detail}", said.margin.detail, f"{said.more.sentence} {said.more.detail}"]
        methods = self.findings.verdict.methods if self.findings.margin and self.findings.verdict else ()
        return notes([line.strip() for line in told if line.strip()]) + differences_table(self.findings) + notes(list(methods))

    def sources(self) -> Fragment:
        """Where the first two, or the first and the baseline, differ."""
        return sources_table(self.findings)

    def exploratory(self) -> Fragment:
        """The metrics that decide nothing."""
        return exploratory_table(self.outcome.bench, self.findings)

    def frontier(self, cost: Cost) -> Picture | Fragment:
        """The primary metric against a cost; filled is what no other configuration has for less."""
        return frontier_picture(self.findings.priced, self.primary, cost)

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
        caption = f"Exploratory: by {metrics[0]}, with 95 % intervals; delivered tokens are those of all {k} chunks that retrieval delivers"
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
        verdict = self.findings.verdict
        values |= {"winner": verdict.winner, "reason": verdict.reason, "best": list(verdict.best)} if verdict else {"winner": None}
        aside = self.findings.screening.dropped if self.findings.screening else ()
        values |= {"screened_out": [row.configuration for row in aside]} if aside else {}
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

    def _columns(self) -> list[Column]:
        fixed = [
            words("configuration"),
            Column("#"),
            words("told apart"),
            Column(f"{self.primary} [95 %]"),
            Column("size"),
            Column("overlap"),
        ]
        metrics = [Column(f"{name} of attainable") for name in self._document_metrics]
        return [*fixed, *metrics, Column("delivered tokens"), Column("truncated tokens")]

    def _windowed(self) -> Fragment:
        if not self.found.windowed:
            return prose("No chunk is longer than its embedder's window.")
        rows = [[one.name, "window, not chunking", sentences.window_note(one)] for one in self.found.windowed]
        columns = [words("configuration"), words("what its scores tell of"), text("what was cut off")]
        return table("Not ranked: chunks longer than the embedder's window", columns, rows)

    def _screened(self) -> Fragment:
        screening = self.findings.screening
        if screening is None:
            return NOTHING
        columns, rows = [words(heading) for heading in HEADINGS], screened_rows(screening)
        return prose(screened_sentence(screening)) + (table("Screened out", columns, rows) if rows else NOTHING)

    def _failures(self) -> Fragment:
        rows = [[name, line] for name, line in self.outcome.failures.items()]
        return table("Failed", [words("configuration"), text("error")], rows) if rows else NOTHING


def _size(value: int | None) -> str:
    return "–" if value is None else count(value)


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value
