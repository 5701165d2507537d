"""Presentations, as Markdown: a heading for each slide."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from workbench.data.conversion.equations import linear, lowered, raised, struck
from workbench.data.conversion.office.markup import (
    all_named,
    attribute,
    child_of,
    choose_alternatives,
    office_file,
    parser,
    remove,
    replace,
    text_of,
)
from workbench.data.conversion.text import ConvertedText, UnreadableFileError, unread_note
from workbench.data.formats.markup import list_number, pipe_table

# Shapes of a row of a slide differ a little in height: 0.1 inches in English Metric Units.
_ROW = 91_440
_DEEPEST = 20
_OFF = ("0", "false")
_STRIKES = ("sngStrike", "dblStrike")
_NUMBER_FORMS = {"alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I"}


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
    columns = [[_value(value) for value in one_series.values] for one_series in series]
    rows = [
        [category, *(column[number] if number < len(column) else "" for column in columns)] for number, category in enumerate(categories)
    ]
    return [["", *(one_series.name for one_series in series)], *rows]


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
                " ".join(filter(None, map(text_of, all_named(point, "a:p"))))
                for point in root.iter("{*}pt")
                if attribute(point, "type") not in ("pres", "parTrans", "sibTrans")
            )
            return ["\n".join(f"- {text}" for text in found)] if (found := [text for text in texts if text]) else []
    return []


def table_of(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows as a table, unless all cells are blank."""
    if any(cell for row in rows for cell in row):
        yield pipe_table(rows)


def convert_pptx(raw: bytes) -> ConvertedText:
    """Convert a presentation: titles as headings, texts, tables, charts and diagrams in reading order, and the speaker's notes.

    Hidden slides are left out. Notes name them, and images, comments and what else is not read.
    """
    from lxml.etree import LxmlError
    from pptx import Presentation
    from pptx.exc import PythonPptxError

    file = office_file(raw, "ppt", ".pptx")
    unread = Counter[str]()
    try:
        slides = [_slide(slide, number, unread) for number, slide in enumerate(Presentation(file).slides, 1)]
    except (PythonPptxError, LxmlError, KeyError, ValueError, AttributeError, IndexError) as error:
        raise UnreadableFileError("cannot be read as .pptx; open it in PowerPoint or LibreOffice and save it again as .pptx") from error
    return ConvertedText("\n\n".join(block for slide in slides for block in slide), tuple(unread_note(unread)))


def _slide(slide: Any, number: int, unread: Counter[str]) -> list[str]:
    if slide.element.get("show") in _OFF:
        unread["hidden slide"] += 1
        return []
    unread["comment"] += _comments(slide.part)
    choose_alternatives(slide.element)
    for drawing in list(slide.element.iter("{*}contentPart")):
        unread["drawing in ink"] += 1
        remove(drawing)
    _write_looks(slide.element)
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None and title.has_text_frame else ""
    blocks = list(_blocks((shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id), unread))
    blocks += _notes(slide, unread)
    # The first slide names the presentation. A slide without words is left out.
    return [f"{'#' if number == 1 else '##'} {heading or f'Slide {number}'}", *blocks] if heading or blocks else []


def _notes(slide: Any, unread: Counter[str]) -> Iterator[str]:
    """Yield the speaker's notes and the other texts on their page."""
    if slide.has_notes_slide:
        page = slide.notes_slide
        choose_alternatives(page.element)
        _write_looks(page.element)
        if page.notes_text_frame is not None:
            yield from filter(None, [_text(page.notes_text_frame)])
        yield from _blocks((shape for shape in page.shapes if not shape.is_placeholder), unread)


def _comments(part: Any) -> int:
    from lxml import etree

    comments = (
        relation.target_part.blob for relation in part.rels.values() if not relation.is_external and relation.reltype.endswith("/comments")
    )
    return sum(len(etree.fromstring(blob, parser())) for blob in comments)


def _write_looks(root: Any) -> None:
    """Write equations, raised and struck text as text."""
    for equation in list(all_named(root, "a14:m")):
        namespace = equation.getparent().tag.rpartition("}")[0]
        run, text = (equation.makeelement(f"{namespace}}}{name}") for name in ("r", "t"))
        text.text = "".join(map(linear, equation))
        run.append(text)
        replace(equation, [run])
    for paragraph in all_named(root, "a:p"):
        texts = [(run, text) for run in paragraph if (text := child_of(run, "a:t")) is not None and text.text]
        _write_scripts(texts)
        for is_struck, group in groupby(
            texts, lambda pair: _property(pair[0], "strike") in _STRIKES and bool((pair[1].text or "").strip())
        ):
            if is_struck:
                struck_texts = [text for _, text in group]
                for text, marked in zip(struck_texts, struck([element.text for element in struck_texts]), strict=True):
                    text.text = marked


def _write_scripts(texts: list[tuple[Any, Any]]) -> None:
    before = ""
    for height, group in groupby(texts, lambda pair: _height(pair[0])):
        several = [text for _, text in group]
        whole = "".join(element.text for element in several)
        if height:
            several[0].text = (raised if height > 0 else lowered)(whole, before)
            for element in several[1:]:
                element.text = ""
        before = whole


def _height(run: Any) -> int:
    """Return 1 for raised text, -1 for lowered text, else 0."""
    baseline = _property(run, "baseline")
    return 0 if not baseline.strip("-0%") else -1 if baseline.startswith("-") else 1


def _property(run: Any, name: str) -> str:
    properties = child_of(run, "a:rPr")
    return "" if properties is None else attribute(properties, name)


def _blocks(shapes: Iterable[Any], unread: Counter[str], depth: int = 0) -> Iterator[str]:
    for shape in sorted(shapes, key=lambda shape: (int(shape.top or 0) // _ROW, int(shape.left or 0))):
        if next(iter(shape.element.xpath(".//p:cNvPr/@hidden")), "0") not in _OFF:
            unread["hidden shape"] += 1
        elif hasattr(shape, "shapes"):
            yield from _blocks(shape.shapes, unread, depth + 1) if depth < _DEEPEST else ()
        elif getattr(shape, "has_table", False):
            yield from table_of([[_cell(cell) for cell in row.cells] for row in shape.table.rows])
        elif shape.element.tag.endswith("}graphicFrame"):
            yield from _graphic(shape, unread)
        elif shape.has_text_frame:
            yield from filter(None, [_text(shape.text_frame, shape.is_placeholder, list(_inherited_levels(shape)))])
        elif shape.element.tag.endswith("}pic"):
            unread["media file" if shape.element.xpath(".//a:videoFile | .//a:audioFile") else "image"] += 1


def _cell(cell: Any) -> str:
    return " ".join(" ".join(filter(None, (label, text))) for _, label, text in _labelled(cell.text_frame))


def _graphic(frame: Any, unread: Counter[str]) -> Iterator[str]:
    """Yield the text of a chart or diagram. A chart without values in the file, and any other graphic, is not read."""
    data = frame.element.graphic.graphicData
    if frame.has_chart:
        blocks, whole = chart_blocks(frame.chart)
        yield from blocks
        unread["chart"] += not whole
    elif "diagram" in data.uri:
        blocks = diagram_blocks(data, frame.part)
        yield from blocks
        unread["diagram"] += not blocks
    elif "chart" in data.uri:
        unread["chart"] += 1
    else:
        unread["embedded object"] += 1


def _text(frame: Any, listed: bool = False, levels: Sequence[Any] = ()) -> str:
    """Return the paragraphs of a text frame as lines: as items of a list if they are numbered, or if `listed`, as those in the body of a slide.

    `levels` are styles of levels that the frame inherits.
    """
    paragraphs = list(_labelled(frame, levels))
    listed = listed and len(paragraphs) > 1
    made, item_before = "", False
    for level, label, text in paragraphs:
        item = listed or bool(label)
        between = "\n" if item and item_before else "\n\n"
        mark = "  " * level + f"{label or '-'} " if item else ""
        made += f"{between if made else ''}{mark}{text}"
        item_before = item
    return made


def _labelled(frame: Any, levels: Sequence[Any] = ()) -> Iterator[tuple[int, str, str]]:
    """Yield the level, the number and the text of each paragraph. PowerPoint counts the paragraphs of a level with the same scheme in a row."""
    counting = dict[int, tuple[str, int]]()
    styles = [child_of(frame._txBody, "a:lstStyle"), *levels]
    for paragraph in frame.paragraphs:
        level, text = paragraph.level, " ".join(paragraph.text.split())
        if not text:
            continue
        scheme = _numbering_scheme([child_of(paragraph._p, "a:pPr"), *(child_of(style, f"a:lvl{level + 1}pPr") for style in styles)])
        counting = {at: count for at, count in counting.items() if at < level or (at == level and scheme is not None)}
        label = ""
        if scheme is not None:
            name, start = attribute(scheme, "type"), attribute(scheme, "startAt")
            kind = f"{name} {start}"
            before, number = counting.get(level, ("", 0))
            number = number + 1 if before == kind else int(start) if start.isdecimal() else 1
            counting[level] = (kind, number)
            label = _label(name, number)
        yield level, label, text


def _numbering_scheme(properties: Iterable[Any]) -> Any:
    """Return the scheme of the first properties that say whether a paragraph has a number or a bullet, or None if it has no number."""
    for own in properties:
        for name in ("a:buAutoNum", "a:buNone", "a:buChar", "a:buBlip"):
            if (found := child_of(own, name)) is not None:
                return found if name == "a:buAutoNum" else None
    return None


def _label(scheme: str, number: int) -> str:
    form = next((form for start, form in _NUMBER_FORMS.items() if scheme.startswith(start)), "1")
    text = list_number(number, form, repeated=True)
    if scheme.endswith("ParenBoth"):
        return f"({text})"
    return f"{text})" if scheme.endswith("ParenR") else text if scheme.endswith("Plain") else f"{text}."


def _inherited_levels(shape: Any) -> Iterator[Any]:
    """Yield the styles of levels that a placeholder inherits from its layout and from the master."""
    while shape.is_placeholder and (shape := getattr(shape, "_base_placeholder", None)) is not None:
        yield child_of(getattr(shape.element, "txBody", None), "a:lstStyle")
