"""Charts and diagrams of presentations, as tables and lists."""

from collections.abc import Iterator, Sequence
from typing import Any

from workbench.conversion.office.markup import all_named, attribute, parser, text_of


def chart_blocks(chart: Any) -> tuple[list[str], bool]:
    """Return the title of a chart and a table of its categories and values, and whether all of its values are in it."""
    blocks: list[str] = []
    if chart.has_title and chart.chart_title.has_text_frame:
        blocks += filter(None, [" ".join(chart.chart_title.text_frame.text.split())])
    try:
        tables = [_table_of_plot(plot) for plot in chart.plots]
    except (ValueError, NotImplementedError):  # a kind of chart that python-pptx does not know
        tables = []
    blocks += [line for table in tables for line in table_of(table)]
    return blocks, bool(tables) and all(tables)


def _table_of_plot(plot: Any) -> list[list[str]]:
    """Return a row for each category, below the names of the series. Empty for points without categories, as in a scatter chart."""
    categories, series = [str(category.label) for category in plot.categories], list(plot.series)
    if not categories or not series:
        return []
    columns = [[_value(value) for value in each.values] for each in series]
    rows = [
        [category, *(column[number] if number < len(column) else "" for column in columns)] for number, category in enumerate(categories)
    ]
    return [["", *(each.name for each in series)], *rows]


def _value(value: float | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if value == int(value) else str(value)


def diagram_blocks(data: Any, part: Any) -> list[str]:
    """Return the texts of a diagram (SmartArt) as a list. `data` names its data among the relations of the slide's `part`."""
    from lxml import etree

    for element in data:
        if (relation := attribute(element, "dm")) in part.rels:
            root = etree.fromstring(part.rels[relation].target_part.blob, parser())
            texts = (
                " ".join(_paragraphs(point))
                for point in root.iter("{*}pt")
                if attribute(point, "type") not in ("pres", "parTrans", "sibTrans")
            )
            return ["\n".join(f"- {text}" for text in found)] if (found := [text for text in texts if text]) else []
    return []


def _paragraphs(point: Any) -> Iterator[str]:
    return filter(None, (text_of(paragraph) for paragraph in all_named(point, "a:p")))


def table_of(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows as a table, unless all cells are blank."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    if any(cell for row in rows for cell in row):
        yield "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])
