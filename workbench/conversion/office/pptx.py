"""Presentations, as Markdown: a heading for each slide."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from workbench.conversion.converted import ConvertedText, UnreadableFileError, unread_note
from workbench.conversion.office.archives import office_file
from workbench.conversion.office.charts import chart_blocks, diagram_blocks, table_of
from workbench.conversion.office.equations import linear
from workbench.conversion.office.markup import all_named, choose_alternatives, parser, remove, replace

# Shapes of a row of a slide differ a little in height: 0.1 inches in English Metric Units.
_ROW = 91_440
_DEEPEST = 20
_OFF = ("0", "false")


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
        raise UnreadableFileError(f"cannot be read as .pptx ({type(error).__name__}: {error})") from None
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
    _write_equations(slide.element)
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None and title.has_text_frame else ""
    blocks = list(_blocks((shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id), unread))
    blocks += _notes(slide, unread)
    # The first slide names the presentation. A slide without words is none.
    return [f"{'#' if number == 1 else '##'} {heading or f'Slide {number}'}", *blocks] if heading or blocks else []


def _notes(slide: Any, unread: Counter[str]) -> Iterator[str]:
    """Yield the speaker's notes, and what else stands on their page."""
    if slide.has_notes_slide:
        page = slide.notes_slide
        choose_alternatives(page.element)
        if page.notes_text_frame is not None:
            yield from filter(None, [page.notes_text_frame.text.strip()])
        yield from _blocks((shape for shape in page.shapes if not shape.is_placeholder), unread)


def _comments(part: Any) -> int:
    from lxml import etree

    comments = (each.target_part.blob for each in part.rels.values() if not each.is_external and each.reltype.endswith("/comments"))
    return sum(len(etree.fromstring(blob, parser())) for blob in comments)


def _write_equations(root: Any) -> None:
    for equation in list(all_named(root, "a14:m")):
        namespace = equation.getparent().tag.rpartition("}")[0]
        run, text = (equation.makeelement(f"{namespace}}}{name}") for name in ("r", "t"))
        text.text = "".join(map(linear, equation))
        run.append(text)
        replace(equation, [run])


def _blocks(shapes: Iterable[Any], unread: Counter[str], depth: int = 0) -> Iterator[str]:
    for shape in sorted(shapes, key=_place):
        if next(iter(shape.element.xpath(".//p:cNvPr/@hidden")), "0") not in _OFF:
            unread["hidden shape"] += 1
        elif hasattr(shape, "shapes"):
            yield from _blocks(shape.shapes, unread, depth + 1) if depth < _DEEPEST else ()
        elif getattr(shape, "has_table", False):
            yield from table_of([[" ".join(cell.text.split()) for cell in row.cells] for row in shape.table.rows])
        elif shape.element.tag.endswith("}graphicFrame"):
            yield from _graphic(shape, unread)
        elif shape.has_text_frame:
            yield from filter(None, [_text(shape)])
        elif shape.element.tag.endswith("}pic"):
            unread["media file" if shape.element.xpath(".//a:videoFile | .//a:audioFile") else "image"] += 1


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


def _place(shape: Any) -> tuple[int, int]:
    return int(shape.top or 0) // _ROW, int(shape.left or 0)


def _text(shape: Any) -> str:
    """Return the paragraphs of a shape: as a list in the body of a slide, where every paragraph has a bullet, or else as lines."""
    paragraphs = [(paragraph.level, " ".join(paragraph.text.split())) for paragraph in shape.text_frame.paragraphs]
    texts = [(level, text) for level, text in paragraphs if text]
    if shape.is_placeholder and len(texts) > 1:
        return "\n".join(f"{'  ' * level}- {text}" for level, text in texts)
    return "\n\n".join(text for _, text in texts)
