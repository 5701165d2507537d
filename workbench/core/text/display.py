"""Notebook displays of titles, small tables and texts: HTML with inline styles, which also work in notebooks that are not trusted."""

import re
from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

# Works on white and on black, since the notebook's theme is unknown.
LINE = "rgba(128,128,128,.4)"
PARAGRAPH = "margin:.5em 0;max-width:52em;line-height:1.5"
TABLE = "border-collapse:collapse;width:auto;margin:0;font-size:.9em;line-height:1.4;border:0"
CELL = f"padding:.35em .9em .35em 0;border:0;border-bottom:1px solid {LINE};text-align:left;vertical-align:top"
FRAME = "overflow-x:auto;margin:.8em 0 1.2em;max-width:100%"
NUMBER = "text-align:right;font-variant:tabular-nums;white-space:nowrap"
_TEXT = "max-width:46em;white-space:normal;overflow-wrap:anywhere"
_PAGE = f"white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;line-height:1.6;max-width:52em;max-height:36em;overflow-y:auto;border-left:3px solid {LINE};padding-left:.9em"
_NUMBER = re.compile(r"[-−–]?[\d,.]*")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# A dollar or a backslash in the text, not in a tag.
_FORMULA = re.compile(r"[$\\](?![^<]*>)")


def visible_html(html: str) -> str:
    """Replace control characters, which HTML does not allow or a terminal would obey, and bidirectional ones, which reorder what follows them."""
    return _CONTROLS.sub("\ufffd", html)


def displayed(html: str) -> str:
    """Escape formulas and control characters in HTML for a notebook."""
    return without_formulas(visible_html(html))


def without_formulas(html: str) -> str:
    """Wrap dollars and backslashes in elements, since a notebook would set the text between them as a formula."""
    return _FORMULA.sub(lambda match: f"<span>{match[0]}</span>", html)


def table_html(title: str, rows: Sequence[Mapping[str, object]], note: str = "") -> str:
    """Return a title, a table with a row for each mapping, and a note as HTML. Text is escaped, and columns of numbers align right."""
    parts = [_paragraph(title)]
    if rows:
        styles = [NUMBER if all(_NUMBER.fullmatch(str(row[name])) for row in rows) else _TEXT for name in rows[0]]
        head = _cells("th", list(rows[0]), [f"{style};font-weight:600" for style in styles])
        body = Markup("").join(Markup("<tr>{}</tr>").format(_cells("td", list(row.values()), styles)) for row in rows)
        table = Markup('<table style="{}"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>').format(TABLE, head, body)
        parts.append(Markup('<div style="{}" role="group" aria-label="{}" tabindex="0">{}</div>').format(FRAME, title, table))
    return displayed(Markup("").join([*parts, _paragraph(note)] if note else parts))


def text_html(title: str, text: str | Markup) -> str:
    """Return a title and a text with its line breaks as HTML. Text that is not markup is escaped."""
    return displayed(
        _paragraph(title) + Markup('<div style="{}" role="group" aria-label="{}" tabindex="0">{}</div>').format(_PAGE, title, text)
    )


def excerpt(text: str, most: int = 60) -> str:
    """Return the beginning of a text on one line, at most `most` characters."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1]}…"


def _paragraph(text: str) -> Markup:
    return Markup('<p style="{}">{}</p>').format(PARAGRAPH, text)


def _cells(tag: str, values: Sequence[object], styles: Sequence[str]) -> Markup:
    cells = zip(values, styles, strict=True)
    return Markup("").join(
        Markup('<{0} style="{1}">{2}</{0}>').format(Markup(tag), f"{CELL};{style}", escape(str(value))) for value, style in cells
    )
