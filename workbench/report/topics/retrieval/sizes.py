"""Evidence against tokens, and the grid of chunk sizes and overlaps."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.core.errors import WorkbenchError
from workbench.core.text.formatting import count, setting, shortened
from workbench.measures.metrics.names import Metric
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import CURVE, Standing, recall_curves
from workbench.report.canvas import FAINT, LINES, MOST_NAMES, MUTED, NAME_LENGTH, End, canvas, name_ends, named_height, own_style, spanned
from workbench.report.cells import Scale, described, key_of, value_cell, words
from workbench.report.model import Block, Cell, Column, Columns, Figure, Prose, Row, Table
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.topic import COMPARED, Topic

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


_MARKERS = ("o", "s", "^", "D")
_DASHES = ("-", "--", "-.", ":")
STRONG = len(LINES)


def compute_curves(findings: Findings) -> Mapping[str, Sequence[float]] | None:
    """Return the recall of each configuration at the budgets of `CURVE`. None if the data have no evidence."""
    recalls = recall_curves(findings.standings.ranked)
    return recalls if findings.dataset["needs"] and recalls else None


def render_curves(recalls: Mapping[str, Sequence[float]]) -> list[Block]:
    """Plot recall of evidence against tokens."""
    emphasis = f"The first {STRONG} of the ranking are drawn in colour. " if len(recalls) > STRONG else ""
    emphasis += "Only these are named; the table has the numbers of all. " if len(recalls) > MOST_NAMES else ""
    caption = f"{emphasis}The chunks of every configuration are read by rank up to this many tokens. Where lines cross, the budget decides."
    columns = [words("configuration"), *(Column(f"{count(tokens)} tokens") for tokens in CURVE)]
    rows = [Row([Cell(name), *(value_cell(value) for value in values)]) for name, values in recalls.items()]
    short = shortened(list(recalls)[: STRONG if len(recalls) > MOST_NAMES else None], NAME_LENGTH)
    drawing = recall_drawing(CURVE, [(short.get(name, ""), values) for name, values in recalls.items()])
    data = Table("Share of the evidence delivered", columns, rows)
    return [Figure("curves", described(data), caption, drawing, data, key_of(short))]


def _missing_curves(findings: Findings) -> str:
    evidence = findings.dataset["needs"]
    return "No configuration can be plotted." if evidence else "The data have no evidence, so recall of text is undefined."


curves = Topic(
    "curves", "Evidence against tokens", "Tokens", compute_curves, render_curves, anchor="budgets", views=COMPARED, missing=_missing_curves
)


@own_style()
def recall_drawing(budgets: Sequence[int], recalls: Sequence[tuple[str, Sequence[float]]]) -> "Drawing":
    """Plot recall of evidence against delivered tokens by label, and emphasise the first four lines. Empty labels are not drawn."""
    figure, (axes,) = canvas(named_height(label for label, _ in recalls))
    ends = []
    for index, (label, values) in reversed(list(enumerate(recalls))):
        strong = index < STRONG
        look: dict[str, Any] = {"color": FAINT, "linewidth": 1, "zorder": 1}
        if strong:
            look = {"color": LINES[index], "linestyle": _DASHES[index], "marker": _MARKERS[index], "markersize": 4.5, "linewidth": 1.6}
        axes.plot(budgets, values, **look)
        ends.append(End(label, budgets[-1], values[-1], LINES[index] if strong else MUTED))
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.minorticks_off()
    axes.set_ylim(*spanned(axes.get_ylim(), axes.dataLim.y1))
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_xlabel("tokens of delivered text")
    axes.set_ylabel("share of the evidence delivered")
    name_ends(axes, ends)
    return figure


_KINDS = ("fixed", "recursive")
_USUAL = "sentence-transformers"
_VARIED = ("chunking.size", "chunking.overlap", "chunking.model")
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """Values by (size, overlap). `title` names the settings that all configurations of the grid share."""

    title: str
    cells: Mapping[tuple[int, int], float]


def size_grids(run: RunTables, standings: Sequence[Standing], metric: Metric) -> list[Grid]:
    """The grids of fixed or recursive chunkings with at least two sizes and two overlaps, one per combination of the other settings."""
    cells: dict[str, dict[tuple[int, int], float]] = {}
    common: dict[str, dict[str, Any]] = {}
    for standing in standings:
        facts = standing.facts
        if facts["chunking"] not in _KINDS or facts["size"] is None or facts["overlap"] is None:
            continue
        flat = {
            f"{stage}.{field}": value
            for stage, fields in run.configurations_settings[standing.name].items()
            for field, value in (fields or {}).items()
        }
        # A chunker uses its embedder's model.
        settings = {name: value for name, value in flat.items() if name not in _VARIED}
        key, cell = json.dumps(settings, sort_keys=True), (facts["size"], facts["overlap"])
        if cell in cells.setdefault(key, {}):
            raise WorkbenchError(
                f"two configurations have size {cell[0]}, overlap {cell[1]} and all other settings in common: {standing.name}"
            )
        cells[key][cell] = standing.means[str(metric)].value
        common[key] = settings
    varied = [key for key, values in cells.items() if all(len({cell[axis] for cell in values}) > 1 for axis in (0, 1))]
    titles = _titles([common[key] for key in varied])
    return [Grid(title, cells[key]) for title, key in zip(titles, varied, strict=True)]


def _titles(grids: Sequence[dict[str, Any]]) -> list[str]:
    titles = [_title(settings) for settings in grids]
    if len(set(titles)) == len(titles):
        return titles
    names = sorted({name for settings in grids for name in settings})
    differ = [name for name in names if len({json.dumps(settings.get(name)) for settings in grids}) > 1]
    repeated = Counter(titles)
    return [
        title
        if repeated[title] == 1
        else ", ".join([title, *(_setting(name, settings[name]) for name in differ if settings.get(name) is not None)])
        for title, settings in zip(titles, grids, strict=True)
    ]


def _title(settings: Settings) -> str:
    counted = settings.get("chunking.tokens", "model")
    parts = [
        settings["chunking.kind"],
        "enriched" if settings.get("chunking.enrich") else "",
        "" if counted == "model" else f"in {counted}",
    ]
    # A static embedder is made from the model of another.
    kind, model = settings.get("embedding.kind", ""), settings.get("embedding.model", "")
    embedder = str(model) if kind == _USUAL and model else f"{kind} {model}".strip()
    parts.append(embedder or settings["retrieval.kind"])
    parts += [
        _setting(name, value)
        for name, value in settings.items()
        if name.startswith("retrieval.") and name != "retrieval.kind" and value is not None
    ]
    window = settings.get("embedding.max_tokens")
    return ", ".join(part for part in [*parts, f"window {window}" if window else ""] if part)


def _setting(name: str, value: object) -> str:
    return f"{name.partition('.')[2]} {setting(value)}"


def compute(findings: Findings) -> tuple[Metric, list[Grid]] | None:
    """Return the primary metric and its grids. None unless both size and overlap vary."""
    grids = size_grids(findings, findings.standings.ranked, findings.primary)
    return (findings.primary, grids) if grids else None


def render(compared: tuple[Metric, list[Grid]]) -> list[Block]:
    """Tabulate each grid in shades of one scale."""
    metric, grids = compared
    scale = Scale.over(value for grid in grids for value in grid.cells.values())
    introduction = (
        f"{metric}, for each size and overlap with all other settings equal; stronger colours are higher. "
        "The colours span at least 0.2, so that a small difference looks small."
    )
    tables = []
    for grid in grids:
        sizes, overlaps = (sorted({cell[axis] for cell in grid.cells}) for axis in (0, 1))
        columns = [Column("overlap", "word", sorts=False), *(Column(f"size {size:,}", "shade", sorts=False) for size in sizes)]
        values = {overlap: [grid.cells.get((size, overlap), math.nan) for size in sizes] for overlap in overlaps}
        rows = [Row([Cell(f"{overlap:,}"), *scale.shades(row, 3)]) for overlap, row in values.items()]
        tables.append(Table(grid.title, columns, rows, classes="grid"))
    return [Prose(introduction), Columns(tables)]


sizes = Topic("sizes", "Size and overlap", "Sizes", compute, render, views=COMPARED, missing="The run does not vary both size and overlap.")
