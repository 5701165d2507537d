"""Presentations, as Markdown: a heading for each slide."""

from collections.abc import Iterable, Iterator
from typing import Any

from workbench.conversion.archives import office_file
from workbench.conversion.converted import ConvertedText, UnreadableFileError

# Shapes of a row of a slide differ a little in height: 0.1 inches in English Metric Units.
_ROW = 91_440
_DEEPEST = 20


def convert_pptx(raw: bytes) -> ConvertedText:
    """Convert a presentation: titles as headings, texts and tables in reading order, and the speaker's notes. Images and charts are left out."""
    from lxml.etree import LxmlError
    from pptx import Presentation
    from pptx.exc import PythonPptxError

    file = office_file(raw, "ppt", ".pptx")
    try:
        slides = [_slide(slide, number) for number, slide in enumerate(Presentation(file).slides, 1)]
    except (PythonPptxError, LxmlError, KeyError, ValueError, AttributeError, IndexError) as error:
        raise UnreadableFileError(f"cannot be read as .pptx ({type(error).__name__}: {error})") from None
    return ConvertedText("\n\n".join(block for slide in slides for block in slide))


def _slide(slide: Any, number: int) -> list[str]:
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None and title.has_text_frame else ""
    blocks = list(_blocks(shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id))
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        blocks += filter(None, [slide.notes_slide.notes_text_frame.text.strip()])
    # The first slide names the presentation. A slide without words is none.
    return [f"{'#' if number == 1 else '##'} {heading or f'Slide {number}'}", *blocks] if heading or blocks else []


def _blocks(shapes: Iterable[Any], depth: int = 0) -> Iterator[str]:
    for shape in sorted(shapes, key=_place):
        if hasattr(shape, "shapes"):
            yield from _blocks(shape.shapes, depth + 1) if depth < _DEEPEST else ()
        elif getattr(shape, "has_table", False):
            yield from _table([[" ".join(cell.text.split()) for cell in row.cells] for row in shape.table.rows])
        elif shape.has_text_frame:
            yield from filter(None, [_text(shape)])


def _place(shape: Any) -> tuple[int, int]:
    return int(shape.top or 0) // _ROW, int(shape.left or 0)


def _text(shape: Any) -> str:
    """Return the paragraphs of a shape: as a list in the body of a slide, where every paragraph has a bullet, or else as lines."""
    paragraphs = [(paragraph.level, " ".join(paragraph.text.split())) for paragraph in shape.text_frame.paragraphs]
    texts = [(level, text) for level, text in paragraphs if text]
    if shape.is_placeholder and len(texts) > 1:
        return "\n".join(f"{'  ' * level}- {text}" for level, text in texts)
    return "\n\n".join(text for _, text in texts)


def _table(rows: list[list[str]]) -> Iterator[str]:
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    if any(cell for row in rows for cell in row):
        yield "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])
