"""The ranked table, and what stands apart from it."""

from collections.abc import Sequence

import numpy as np

from workbench.analysis.findings import Findings
from workbench.analysis.standings import Mean, Standing
from workbench.core.formatting import count, interval, number, signed
from workbench.metrics.names import Metric
from workbench.report.page.bars import Scale
from workbench.report.page.table import Cell, Column, Kind, Row, Table, p_cell, value_cell
from workbench.report.text.screening import HEADINGS, screened_rows, screened_sentence
from workbench.report.text.sentences import window_note

_MOST_METRICS = 3


def ranking_sheet(found: Findings, asked: Sequence[Metric]) -> Table | None:
    """The configurations that can be compared, in their order; None where there are none."""
    ranked, primary = found.standings.ranked, str(found.primary)
    if not ranked:
        return None
    others = _metrics(found.primary, asked)
    scale = Scale.over(bound for one in ranked for bound in (one.means[primary].low, one.means[primary].high, one.means[primary].value))
    headings = [
        Column("configuration", "word"),
        Column(primary, note="95 % interval"),
        Column("", "bar", sorts=False, note=scale.told()),
        Column(f"minus the {'first' if found.reference is found.first else 'baseline'}", note="95 % interval"),
        Column("p", note="corrected"),
        *(Column(str(metric)) for metric in others),
        Column("tokens", note="in k chunks"),
        Column("ms", note="median"),
        Column("size", note="overlap"),
    ]
    best = found.verdict.best if found.verdict and found.told else ()
    rows = [_row(found, place, one, others, scale, one.name in best) for place, one in enumerate(ranked, 1)]
    return Table("ranking-table", f"By {primary}; {_budget(found.primary)}", headings, rows, _note(found, best), "ranked")


def windowed_rows(found: Findings) -> list[tuple[str, str]]:
    """The configurations whose scores tell of the window, each with what was cut off."""
    return [(one.name, window_note(one)) for one in found.standings.windowed]


def screened_sheet(found: Findings) -> Table | None:
    """What was put aside by proxy before the rest was run; None where nothing was looked for."""
    screening = found.screening
    if screening is None:
        return None
    kinds: tuple[Kind, ...] = ("word", "number", "number", "word", "word")
    headings = [Column(title, kind) for title, kind in zip(HEADINGS, kinds, strict=True)]
    rows = [Row([Cell(text) for text in row]) for row in screened_rows(screening)]
    return Table("screened-table", "Screened out, and not run in full", headings, rows, screened_sentence(screening))


def _row(found: Findings, place: int, one: Standing, others: Sequence[Metric], scale: Scale, level: bool) -> Row:
    mean, (size, overlap) = one.means[str(found.primary)], one.result.configuration.chunking.sizes
    priced = found.price(one.name)
    cells = [Cell(one.name, place=place), value_cell(mean.value, note=interval(mean.low, mean.high))]
    cells.append(Cell("", bar=scale.bar(mean.value, mean.low, mean.high)))
    cells += _against(found, one)
    cells += [value_cell(one.means[str(metric)].value, note=_of(one.means[str(metric)])) for metric in others]
    cells.append(value_cell(float(one.result.summary["delivered_tokens"]), 0))
    milliseconds = priced.costs["p50"] if priced else np.nan
    cells.append(value_cell(milliseconds, 0 if milliseconds >= 10 else 1))
    cells.append(value_cell(np.nan if size is None else size, 0, note="" if overlap is None else count(overlap)))
    return Row(cells, level)


def _against(found: Findings, one: Standing) -> list[Cell]:
    pair = found.against(one.name, found.reference.name) if found.reference else None
    if pair is None:
        return [Cell("–", sort=float("nan")), Cell("–", sort=float("nan"))]
    apart = pair.difference
    told = Cell(signed(apart.value), sort=apart.value, note=interval(apart.low, apart.high))
    return [told, p_cell(pair.p_adjusted)]


def _of(mean: Mean) -> str:
    """What is attainable, where that is below 1."""
    return f"of {number(mean.attainable)}" if mean.attainable < 0.9995 else ""


def _metrics(primary: Metric, asked: Sequence[Metric]) -> list[Metric]:
    """Those that tell most beside the primary one: how many documents, how clean, how many hard negatives."""
    wanted = ("recall", "precision", "irrelevant", "ndcg", "complete", "success")
    found = [metric for name in wanted for metric in asked if metric.name == name and metric != primary and metric.k is not None]
    return found[:_MOST_METRICS]


def _budget(primary: Metric) -> str:
    return f"{count(primary.tokens)} tokens of text each" if primary.tokens else "intervals clustered by document"


def _note(found: Findings, best: Sequence[str]) -> str:
    of = f"Configurations with a filled mark, {len(best)} of {len(found.standings.ranked)}, cannot be told from the best. " if best else ""
    return f"{of}Intervals are 95 %, clustered by source document; differences are on the same questions."
