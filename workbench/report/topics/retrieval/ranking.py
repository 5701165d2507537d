"""The ranking of configurations, and those that are not ranked."""

from collections.abc import Sequence

import numpy as np

from workbench.core.text.formatting import count, listed, number, plural
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.verdict import Reason
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import COVERAGE, Standing
from workbench.report.analysis.values import unscored_reasons
from workbench.report.cells import Scale, count_cell, gap_cell, mean_cell, p_cell, table_lines, value_cell, words
from workbench.report.model import Block, Cell, Column, Prose, Row, Section, Table, Term, Terms
from workbench.report.sentences import difference_text, screened_sentence, window_note
from workbench.report.topics.retrieval.costs import OVERLAP, time_cell
from workbench.report.topics.topic import COMPARED, Topic, same

_MOST_METRICS = 3
_TELLING = ("recall", "precision", "irrelevant", "ndcg", "complete", "success")


def render(findings: Findings) -> list[Block]:
    """Show the ranking, then the configurations with too few values, beyond the window, screened out and failed."""
    return [ranking_table(findings) or Prose("No configuration can be ranked."), *_unranked(findings)]


def markdown(findings: Findings) -> list[Block]:
    """Show the same with a narrow table."""
    ranked = findings.standings.ranked
    return [*([short_table(findings, ranked)] if ranked else []), *_unranked(findings)]


def lines(findings: Findings) -> list[str]:
    """Show the ranking in the terminal, then the configurations that are not ranked."""
    terminal = ["", *table_lines(short_table(findings, findings.standings.ranked))] if findings.standings.ranked else []
    for reason, group in (
        ("their chunks are longer than the embedder's window", findings.standings.windowed),
        ("too few of their questions have a value", findings.standings.uncovered),
    ):
        terminal += ["", f"not ranked: {reason}", *table_lines(short_table(findings, group))[1:]] if group else []
    return terminal + [f"{configuration}: FAILED, {error}" for configuration, error in findings.failures.items()]


def _unranked(findings: Findings) -> list[Section]:
    return [part for part in (uncovered(findings), windowed(findings), screened(findings), failed(findings)) if part]


def ranking_table(findings: Findings) -> Table | None:
    """Tabulate the ranked configurations. Returns None if there are none."""
    ranked, primary = findings.standings.ranked, str(findings.primary)
    if not ranked:
        return None
    named = [metric for metric in findings.measures.values() if str(metric) != primary and metric.k is not None]
    others = [metric for name in _TELLING for metric in named if metric.name == name][:_MOST_METRICS]
    scale = Scale.over(
        bound for standing in ranked for bound in (standing.means[primary].low, standing.means[primary].high, standing.means[primary].value)
    )
    columns = [
        words("configuration"),
        Column(primary, note="95 % interval"),
        scale.column(),
        Column(f"minus the {'leader' if findings.reference is findings.first else 'baseline'}", note="interval, corrected"),
        Column("p", note="corrected"),
        *(Column(str(metric)) for metric in others),
        Column("chunks" if _equal_tokens(findings) else "tokens", note="delivered"),
        Column("ms", note="per question"),
        # Targets do not tell the size of their chunks.
        *([Column("size", note="overlap")] if (sized := any(standing.facts["size"] is not None for standing in ranked)) else []),
    ]
    rows = [_row(findings, rank, standing, others, scale, sized=sized) for rank, standing in enumerate(ranked, 1)]
    means = any(np.isfinite(standing.means[primary].low) for standing in ranked)
    base = findings.reference.name if findings.reference else ""
    pairs = [findings.against(standing.name, base) for standing in ranked if standing.name != base]
    gaps = any(pair is not None and np.isfinite(pair.simultaneous.low) for pair in pairs)
    clustered = "intervals clustered by document" if means else "too few documents for intervals"
    budget = f"{plural(findings.primary.tokens, 'token')} of text each" if findings.primary.tokens else clustered
    end, marked = "highest" if findings.primary.higher_is_better else "lowest", sum(row.level for row in rows)
    tie_set = (
        f"● marks the tie set, {marked} of {len(rows)}: with 95 % confidence it contains every configuration with the {end} true mean. "
        if marked
        else ""
    )
    note = (
        f"{tie_set}{'Intervals of means are 95 % each, clustered by source document. ' if means else ''}Differences are on the same questions"
        f"{'; their intervals hold for all comparisons at once' if gaps else ''}. Times: {OVERLAP}"
    )
    return Table(f"By {primary}; {budget}", columns, rows, note, "ranked")


def short_table(findings: Findings, standings: Sequence[Standing]) -> Table:
    """Tabulate configurations by the primary metric with the tie set marked, narrow enough for a terminal."""
    columns = [words("configuration"), Column(str(findings.primary)), Column("95 % interval"), Column("n"), words("")]
    rows = []
    for standing in standings:
        mean = standing.means[str(findings.primary)]
        cells = [value_cell(mean.value), Cell(mean.bounds()), count_cell(mean.n), Cell(findings.mark(standing.name))]
        rows.append(Row([Cell(standing.name), *cells], findings.mark(standing.name) != ""))
    level = "in the tie set" if findings.verdict and findings.verdict.reason is Reason.MISSING else "statistically indistinguishable"
    note = f"= {level}" if "=" in {findings.mark(standing.name) for standing in standings} else ""
    return Table("", columns, rows, note)


def uncovered(findings: Findings) -> Section | None:
    """Tabulate the configurations with too few values to be compared, with the reasons of the unscored questions."""
    if not findings.standings.uncovered:
        return None
    introduction = (
        f"A mean of fewer than {round(100 * COVERAGE)} % of the questions is not compared: it is of other questions than the means above."
    )
    metric = str(findings.primary)
    entries = []
    for standing in findings.standings.uncovered:
        mean = standing.means[metric]
        reasons = listed(unscored_reasons(findings, standing.name, metric), _MOST_METRICS)
        entries.append(
            Term(
                standing.name, f"{metric} {number(mean.value)} on {count(mean.n)} of {count(mean.n + mean.unscored)} questions; {reasons}."
            )
        )
    return Section("Too few values", "uncovered", [Prose(introduction), Terms(entries)])


def windowed(findings: Findings) -> Section | None:
    """Tabulate the configurations with chunks beyond the embedder's window, each with the tokens cut off."""
    if not findings.standings.windowed:
        return None
    introduction = "The embedder truncates chunks beyond its window, so these scores reflect the window, not the chunking."
    entries = Terms([Term(standing.name, f"{window_note(standing)}.") for standing in findings.standings.windowed])
    return Section("Beyond the embedder's window", "window", [Prose(introduction), entries])


def screened(findings: Findings) -> Section | None:
    """Tabulate the configurations that were screened out by proxy. Returns None without a screening."""
    if findings.screened is None:
        return None
    columns = [words("configuration"), Column("by proxy"), Column("minus the leader"), words("leader"), words("proxy")]
    rows = [
        Row([Cell(row.configuration), value_cell(row.value), Cell(difference_text(row)), Cell(row.first), Cell(row.proxy)])
        for row in findings.screened.dropped
    ]
    table: list[Block] = [Table("Screened out, and not run in full", columns, rows)] if rows else []
    return Section("Screened out", "screened", [Prose(screened_sentence(findings.screened)), *table])


def failed(findings: Findings) -> Section | None:
    """Tabulate the errors of failed configurations."""
    entries = Terms([Term(name, error) for name, error in findings.failures.items()])
    return Section("Failed", "failed", [entries]) if findings.failures else None


def _row(findings: Findings, rank: int, standing: Standing, others: Sequence[Metric], scale: Scale, *, sized: bool) -> Row:
    mean, priced = standing.means[str(findings.primary)], findings.price(standing.name)
    pair = findings.against(standing.name, findings.reference.name) if findings.reference else None
    lost = f"over {count(mean.n)}, {count(mean.unscored)} unscored" if mean.unscored else ""
    cells = [Cell(standing.name, place=rank, note=lost), mean_cell(mean), scale.cell(mean)]
    cells += [gap_cell(pair.simultaneous if pair else None), p_cell(pair.p_adjusted if pair else np.nan)]
    for mean in (standing.means[str(metric)] for metric in others):
        notes = [f"of {number(mean.attainable)}"] if mean.attainable < 0.9995 else []
        notes += [f"over {count(mean.n)} of {count(mean.n + mean.unscored)}"] if mean.unscored else []
        cells.append(value_cell(mean.value, note=", ".join(notes)))
    delivered = (
        value_cell(standing.facts["delivered_chunks"], 1) if _equal_tokens(findings) else count_cell(standing.facts["delivered_tokens"])
    )
    cells += [delivered, time_cell(priced, "p50")]
    if sized:
        overlap, size = standing.facts["overlap"], count_cell(standing.facts["size"])
        cells.append(Cell(size.text, size.sort, note="" if overlap is None else count_cell(overlap).text))
    return Row(cells, findings.mark(standing.name) != "")


def _equal_tokens(findings: Findings) -> bool:
    """Check that all configurations deliver the same number of tokens, so that only their numbers of chunks differ."""
    budgets = {fact["token_budget"] for fact in findings.facts.values()}
    return len(budgets) == 1 and None not in budgets


ranking = Topic("ranking", "Ranking", "Ranking", same, render, lines=lines, markdown=markdown, views=COMPARED)
