"""Render blocks as lines of text, and as Markdown for a comment on a pull request."""

import re

from workbench.report.analysis.passages import Piece
from workbench.report.cells import table_lines
from workbench.report.model import Block, Collapsible, Lines, Prose, Section, Table, Term, Terms

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&$])")


def markdown(block: Block) -> list[str]:
    """Render a block as paragraphs, without figures and drill-downs, which need a page."""
    match block:
        case Table():
            return [part for part in (markdown_table(block), escaped(block.caption), escaped(block.note)) if part]
        case Section():
            return [f"#### {escaped(block.title)}", *(part for inner in block.blocks for part in markdown(inner))]
        case Prose():
            return [escaped(block.text)]
        case Lines():
            return ["\n".join(f"- {escaped(item)}" for item in block.items)]
        case Terms():
            return ["\n".join(f"- **{escaped(term.name)}**: {escaped(term.text)}" for term in block.items)]
        case _:
            return []


def text_lines(block: Block) -> list[str]:
    """Render a block as lines of text, without figures. Marked stretches of documents are in brackets, after the word for the mark."""
    match block:
        case Table():
            return [block.caption, *table_lines(block)]
        case Collapsible():
            return [block.title, *([block.note] if block.note else []), *(line for inner in block.blocks for line in text_lines(inner))]
        case Prose():
            return [block.text]
        case Lines():
            return [f"- {item}" for item in block.items]
        case Terms():
            return [line for term in block.items for line in _term_lines(term, block.label)]
        case _:
            return []


def _term_lines(term: Term, label: str) -> list[str]:
    head = " ".join(filter(None, (f"{term.name}:" if term.name else "", term.text, f"({term.note})" if term.note else "")))
    return [head, *(f"    {line}" for line in "".join(_marked(piece, label) for piece in term.pieces).splitlines() if line.strip())]


def _marked(piece: Piece, label: str) -> str:
    word = piece.label or (label if piece.role == "delivered" else piece.role)
    return piece.text if piece.role == "plain" else f"[{word}: {piece.text}]"


def markdown_table(table: Table) -> str:
    """Render a table with pipes, numbers aligned right, notes in brackets."""
    rows = [[_cell(column.title, column.note) for column in table.columns]]
    rows.append(["--:" if column.kind == "number" else "---" for column in table.columns])
    rows += [[_cell(cell.text or ", ".join(cell.queries), cell.note) for cell in row.cells] for row in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(text: str, note: str) -> str:
    return escaped(f"{text} ({note})" if text and note else text or note)


def escaped(text: str) -> str:
    """Escape a text so that Markdown and HTML show it as it is, in one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
