"""What the configuration notebook shows of one configuration."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from workbench.analysis.standings import Mean, Standing, means_of
from workbench.analysis.worst_queries import worst_queries
from workbench.attribution.chunk_faults import diagnose
from workbench.core.formatting import count, listed, number, plural, share, signed
from workbench.errors import InputError
from workbench.execution.local import Outcome, Result
from workbench.execution.tables import timings_table
from workbench.metrics.evaluate import evaluate
from workbench.metrics.names import Metric
from workbench.notebook_runner.notebooks import record
from workbench.pipeline.stages import retrieved_of
from workbench.report.figures import plots
from workbench.report.render.display import Fragment, Picture, lead, notes, prose, render, show, style
from workbench.report.tables.fragments import Column, table, text, words
from workbench.report.text import sentences

# A right ranking whose margin is below this many standard deviations of the query's scores is called weak.
WEAK = 0.25
_MOST_ROWS = 100
_MOST_METRICS = 4
_WORST = 5


@dataclass(frozen=True)
class ConfigurationView:
    """One configuration of an experiment; `outcome` holds it alone."""

    outcome: Outcome

    @property
    def result(self) -> Result:
        """The configuration's stages."""
        if not self.outcome.results:
            name, line = next(iter(self.outcome.failures.items()))
            raise InputError(f"the configuration {name} failed: {line}")
        return self.outcome.results[0]

    @cached_property
    def means(self) -> dict[str, Mean]:
        """The means of its metrics by name."""
        return means_of(self.outcome.bench, self.result)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Every metric of every question."""
        return self.result.scores.table("scores")

    @property
    def primary(self) -> Metric:
        """The metric that its experiment decides by."""
        return self.outcome.primary

    def overview(self) -> Fragment:
        """What it is and how it does; with the style of all that follows."""
        standing = Standing(self.result, self.means)
        name, mean = standing.name, self.means[str(self.primary)]
        lines = [f"{name} {sentences.said(mean)}, over {plural(mean.n, 'question')} in {plural(mean.clusters, 'cluster')}."]
        if standing.beyond_window:
            lines.append(f"Its scores tell of the window, not of the chunking: {sentences.window_note(standing)}.")
        lines += [sentences.about_primary(self.primary, self.outcome.bench.dataset), sentences.about_dataset(self.outcome.bench.dataset)]
        return style() + lead(lines[0]) + notes(lines[1:]) + self._settings()

    def metrics(self) -> Fragment:
        """Every metric with its interval, what it is a mean of, and what is attainable."""
        columns = [words("metric"), Column("mean"), Column("95 % interval"), Column("attainable"), Column("questions")]
        rows = []
        for mean in self.means.values():
            value, bounds = mean.text().split(" ", 1)
            counts = [count(mean.n), count(mean.clusters), count(mean.unscored)]
            rows.append([mean.metric, value, bounds, number(mean.attainable), *counts])
        caption = "Means over scored questions; intervals clustered by document"
        return table(caption, [*columns, Column("clusters"), Column("unscored")], rows)

    def queries(self) -> Fragment:
        """Question by question, the worst by the primary metric first."""
        metrics = self._shown_metrics
        wide = self.scores.pivot(index="query", columns="metric", values="value")
        ordered = wide.sort_values(str(self.primary), ascending=self.primary.higher_is_better, kind="stable", na_position="last")
        about = self.scores[self.scores["metric"] == str(self.primary)].set_index("query")
        rows = []
        for position in ordered.index[:_MOST_ROWS]:
            query, scored = self.outcome.bench.dataset.queries[position], about.loc[position]
            values = [number(wide.loc[position, metric]) for metric in metrics]
            note = "" if scored["state"] == "scored" else f" ({str(scored['state']).replace('_', ' ')}: {scored['reason']})"
            rows.append([query.query_id, *values, query.text + note])
        columns = [words("question"), *map(Column, metrics), text("text")]
        shown = f"the {count(_MOST_ROWS)} worst of {count(len(ordered))}" if len(ordered) > _MOST_ROWS else "worst first"
        return table(f"Questions by {self.primary}, {shown}", columns, rows)

    def worst(self) -> Fragment:
        """The worst questions with their evidence and the chunks delivered for them."""
        found = worst_queries(self.outcome.bench, self.result, self.primary, _WORST)
        if not found:
            return prose(f"Every question reaches the attainable maximum of {self.primary}.")
        return render("worst", queries=found)

    def lengths(self) -> Picture:
        """The lengths of the chunks against the embedder's window."""
        window, embedded = self.result.window, len(self.result.lengths) > 0
        # What nothing embeds is counted as it is delivered.
        tokens = self.result.lengths if embedded else self.result.chunks.table("chunks")["tokens"].to_numpy(np.int64)
        middle, most = count(float(np.median(tokens))), count(int(tokens.max(initial=0)))
        told = f"Lengths of {count(len(tokens))} chunks: median {middle}, longest {most} tokens; "
        if window is None:
            return show(plots.lengths(tokens.tolist(), None), f"{told}there is no window")
        beyond = int((tokens > window).sum())
        return show(plots.lengths(tokens.tolist(), window), f"{told}the window is {count(window)}; {plural(beyond, 'chunk')} beyond it")

    def diagnosis(self) -> Fragment:
        """Faults of the chunking, each with its definition."""
        rows = []
        for fault in diagnose(self.outcome.bench, self.result):
            found = [f"{count(fault.found)} of {count(fault.of)}", share(fault.found, fault.of), fault.unit]
            rows.append([fault.name, *found, fault.definition, ", ".join(fault.examples)])
        columns = [words("fault"), Column("found"), Column("share"), words("of"), text("which means"), text("such as")]
        return table("Faults of the chunks", columns, rows)

    def separation(self) -> Fragment:
        """Right rankings that a small change could turn, and rankings that only the tie breaker decides."""
        margins, spreads = self._margins()
        right = spreads[spreads > 0]
        weak = right[right < WEAK].sort_values()
        tied = self.result.hits.table(f"{self.result.search}_about")["tied"]
        lines = [
            f"A relevant document is ranked first for {plural(len(right), 'question')} of {count(len(spreads))}; for {count(len(weak))} "
            f"of them its score stands less than {WEAK} standard deviations above that of the next document: weak separation.",
            f"{plural(int(tied.sum()), 'question')} of {count(len(tied))} ({share(float(tied.sum()), len(tied))}) "
            "have delivered chunks with equal scores, which only the tie breaker orders.",
        ]
        queries = self.outcome.bench.dataset.queries
        rows = [
            [queries[place].query_id, number(float(margins[place])), number(float(weak[place])), queries[place].text]
            for place in weak.index[:_MOST_ROWS].to_numpy().tolist()
        ]
        columns = [words("question"), Column("margin"), Column("in standard deviations"), text("text")]
        return notes(lines) + (table("Weak separation, the smallest margin first", columns, rows) if rows else prose("No weak separation."))

    def latency(self) -> Fragment:
        """Milliseconds a question, step by step."""
        timings = self._timings
        steps = {"embed the question": "embed", "search exactly": "exact", "search in Chroma's index": "chroma"}
        taken = {step: name for step, name in steps.items() if f"latency_{name}_p50" in timings}
        rows = [[step, *(number(timings[f"latency_{name}_{at}"], 2) for at in ("p50", "p95"))] for step, name in taken.items()]
        return table("Milliseconds a question, one at a time", [words("step"), Column("median"), Column("p95")], rows)

    def index_gap(self) -> Fragment:
        """What Chroma's approximate index changes against exact search."""
        if not self.result.embedded:
            return prose("Nothing is embedded here, so there is no index of vectors.")
        overlap, gap = self.result.scores.values("overlap"), self.result.scores.table("gap")
        changed = gap[gap["change"].abs() >= 5e-4]
        told = f"Chroma's index returns {share(overlap['overlap'], 1)} of the exact top {overlap['k']} chunks (overlap@{overlap['k']})."
        if changed.empty:
            return prose(f"{told} No metric changes by 0.001 or more: {listed(list(gap['metric']), 99)}.")
        rows = [[metric, signed(change)] for metric, change in zip(gap["metric"], gap["change"], strict=True)]
        return prose(told) + table("Change of each metric's mean under the index", [words("metric"), Column("change")], rows)

    def record(self, run_id: str) -> None:
        """Keep the conclusions in the store under the run's id, and say them in a line."""
        name, mean = self.result.configuration.name, self.means[str(self.primary)]
        bounds = {key: None if np.isnan(value) else value for key, value in (("value", mean.value), ("low", mean.low), ("high", mean.high))}
        means = {metric: None if np.isnan(one.value) else one.value for metric, one in self.means.items()}
        record(self.outcome.bench.workplace.store, run_id, {"configuration": name, "primary": mean.metric, "means": means} | bounds)
        print(f"{'recorded' if run_id else 'not recorded (opened by hand)'}: {name} {mean.metric} {mean.text()}")

    @cached_property
    def _timings(self) -> dict[str, float]:
        found = timings_table(self.outcome)
        return dict(zip(found["name"], found["value"], strict=True))

    @property
    def _shown_metrics(self) -> Sequence[str]:
        asked = [str(metric) for metric in (self.primary, *self.outcome.bench.metrics)]
        return list(dict.fromkeys(asked))[:_MOST_METRICS]

    def _settings(self) -> Fragment:
        chosen, summary = self.result.configuration, self.result.summary
        rows = []
        # The chunking's model is that of the embedding; it only counts.
        fields = {"chunking": chosen.chunking.model_dump(exclude={"model"})}
        fields |= {"embedding": chosen.embedding.model_dump()} if chosen.embedding else {}
        fields |= {"retrieval": chosen.retrieval.model_dump()}
        for stage, values in fields.items():
            kept = [f"{field} {value}" for field, value in values.items() if value is not None and value is not False and field != "kind"]
            rows.append([stage, ", ".join([str(values["kind"]), *kept])])
        for field in ("window", "chunks", "tokens", "truncated_tokens", "truncated_chunks", "delivered_tokens"):
            rows.append([field.replace("_", " "), "none" if summary[field] is None else count(summary[field])])
        return table("Settings, and what they make", [words("setting"), text("value")], rows)

    def _margins(self) -> "tuple[pd.Series[float], pd.Series[float]]":
        """Margin and margin in standard deviations of every question that has them."""
        retrieved = retrieved_of(self.result.chunks, self.result.hits, self.result.search)
        asked = [Metric.parse("margin"), Metric.parse("margin_spread")]
        scores = evaluate(self.outcome.bench.labels, retrieved, asked)
        scored = scores[scores["state"] == "scored"].set_index("query")
        margins, spreads = (scored.loc[scored["metric"] == str(metric), "value"] for metric in asked)
        return margins, spreads
