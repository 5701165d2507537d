"""The primary metric by slices of the questions: by type, by domain, by whatever else the questions carry."""

import pandas as pd

from workbench.analysis.findings import Findings
from workbench.analysis.pairwise import FEWEST_QUERIES, Contrast
from workbench.core.formatting import interval, signed
from workbench.pipeline.context import RunContext
from workbench.report.page.bars import Scale
from workbench.report.page.table import Cell, Column, Row, Table, shade_cell, shade_range, value_cell
from workbench.statistics.clusters import query_clusters
from workbench.statistics.summary import summarise


def slice_means(bench: RunContext, found: Findings) -> dict[str, pd.DataFrame]:
    """By ranked configuration the primary metric's means, a row for each slice under its name."""
    clusters, metadata = query_clusters(bench.labels), [query.metadata for query in bench.dataset.queries]
    tables = {}
    for one in found.standings.ranked:
        scores = one.result.scores.table("scores")
        tables[one.name] = summarise(scores[scores["metric"] == str(found.primary)], clusters, metadata).set_index("slice")
    return tables


def slices_sheet(found: Findings, means: dict[str, pd.DataFrame]) -> Table | None:
    """The first configuration by slice, and how it differs there from the one it is held against."""
    if found.first is None:
        return None
    table, parts = means[found.first.name], _parts(found.contrast)
    other = found.other.name if found.other else ""
    scale = Scale.over(table[["value", "low", "high"]].to_numpy().ravel().tolist())
    headings = [
        Column("slice", "word"),
        Column("questions"),
        Column("documents"),
        Column(str(found.primary), note="95 % interval"),
        Column("", "bar", sorts=False, note=scale.told()),
    ]
    headings += [Column(f"minus {other}", note="95 % interval")] if parts else []
    rows = []
    for name, row in table.iterrows():
        small = row["n"] < FEWEST_QUERIES
        label = Cell(_named(str(name)), note=f"fewer than {FEWEST_QUERIES}: tells little" if small else "")
        bar = Cell("", bar=scale.bar(row["value"], row["low"], row["high"]))
        cells = [
            label,
            value_cell(row["n"], 0),
            value_cell(row["clusters"], 0),
            value_cell(row["value"], note=interval(row["low"], row["high"])),
            bar,
        ]
        rows.append(Row([*cells, *([_difference(parts, str(name))] if parts else [])]))
    return Table(
        "slices-table",
        f"{found.first.name} by slice",
        headings,
        rows,
        "No correction is made for the number of slices: an interval here suggests, it does not prove.",
    )


def slices_map(found: Findings, means: dict[str, pd.DataFrame]) -> Table | None:
    """Every configuration by slice; None where there is but one of either."""
    names = [one.name for one in found.standings.ranked]
    labels = list(means[names[0]].index) if names else []
    if len(names) < 2 or len(labels) < 2:
        return None
    values = pd.DataFrame({name: means[name]["value"] for name in names}).loc[labels]
    low, high = shade_range(values.to_numpy().ravel().tolist())
    headings = [Column("slice", "word"), Column("questions"), *(Column(name, "shade", upright=True) for name in names)]
    counts = means[names[0]]["n"]
    rows = [
        Row([Cell(_named(str(label))), value_cell(counts[label], 0), *(shade_cell(values.loc[label, name], low, high) for name in names)])
        for label in labels
    ]
    return Table("slices-map", f"{found.primary} of every configuration by slice", headings, rows)


def _parts(contrast: Contrast | None) -> dict[str, Cell]:
    parts = contrast.parts if contrast else ()
    return {
        part.name: Cell(signed(part.difference.value), part.difference.value, note=interval(part.difference.low, part.difference.high))
        for part in parts
    }


def _difference(parts: dict[str, Cell], name: str) -> Cell:
    return parts.get(name, Cell("–", sort=float("nan")))


def _named(label: str) -> str:
    field, equals, value = label.partition("=")
    return f"{field}: {value}" if equals else "all questions"
