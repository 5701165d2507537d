"""Render blocks for a notebook: HTML with inline styles, which work in untrusted notebooks, and figures as PNG."""

import base64
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from workbench.core.fingerprint import fingerprint
from workbench.core.text.display import CELL, FRAME, LINE, NUMBER, PARAGRAPH, TABLE, displayed
from workbench.report.canvas import WIDTH_INCHES, own_style
from workbench.report.model import Block, Columns, Figure, Section
from workbench.report.render.html import environment, sparkline

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_WIDTH_PIXELS = round(120 * WIDTH_INCHES)
_DOTS_PER_INCH = 240
_COLOURS = 64
# Works on white and on black.
_BLUE = "#4a8fd0"
_STYLES = {
    "p": PARAGRAPH,
    "ul": "margin:.5em 0 1em;padding-left:1.2em;max-width:52em",
    "li": "margin:.2em 0",
    "dl": "margin:.5em 0 1em;max-width:60em",
    "dt": "display:block;float:none;width:auto;font-weight:600;margin-top:.4em;overflow-wrap:anywhere",
    "dd": "display:block;float:none;width:auto;margin:0 0 .3em;overflow-wrap:anywhere",
    "h": "margin:1.2em 0 .4em;font-size:1.05em",
    "details": "margin:.3em 0 .8em",
    "summary": "cursor:pointer",
    "figure": "margin:0 0 1.5em",
    "figcaption": "opacity:.8;max-width:52em",
    # A display around it that breaks words anywhere would break those of its narrow headings.
    "table": f"{TABLE};overflow-wrap:normal",
    "caption": "text-align:left;caption-side:top;padding:0 0 .5em;opacity:.8;white-space:normal;max-width:max(16em,calc(100vw - 17em))",
    "th": f"{CELL};font-weight:600",
    "td": CELL,
    "mark": "color:inherit;padding:.1em .15em",
    "small": "font-size:.75em;font-weight:600;opacity:.8",
    "bar": "width:9em;white-space:nowrap;line-height:1",
    ".lead": f"font-size:1.15em;border-left:3px solid {_BLUE};padding-left:.8em;margin:1em 0",
    ".aside": "opacity:.8",
    ".note": "opacity:.8;font-size:.9em;font-weight:400",
    ".below": "display:block",
    ".reading": "opacity:.8;font-size:.9em",
    ".frame": FRAME,
    ".head": "vertical-align:bottom;white-space:normal",
    ".number": NUMBER,
    ".word": "white-space:nowrap",
    ".long": "white-space:normal;min-width:17em;overflow-wrap:anywhere",
    ".text": "min-width:14em;max-width:30em;overflow-wrap:anywhere;white-space:normal",
    ".shade": "text-align:center;padding:.35em .5em;min-width:3.5em;max-width:9em;white-space:normal;overflow-wrap:anywhere",
    ".unseen": "display:none",
    ".asked": "font-weight:600",
    ".passage": f"white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;line-height:1.55;border-left:3px solid {LINE};padding:.1em 0 .1em .9em;max-width:52em",
    ".delivered": f"background-color:rgba(74,143,208,.25);border-bottom:2px solid {_BLUE}",
    ".missed": "background-color:transparent;border:1px dashed",
    ".cut": "background-color:transparent;opacity:.65;text-decoration:line-through",
    ".planted": "background-color:rgba(213,94,0,.2);border-bottom:2px solid #d55e00",
    ".supported": "background-color:rgba(0,140,100,.16);border-bottom:2px solid #008c64",
    ".contradicted": "background-color:rgba(213,94,0,.22);border-bottom:4px double #d55e00",
    ".absent": "background-color:rgba(213,94,0,.1);border-bottom:2px dashed #d55e00",
    ".scored": f"background-color:rgba(74,143,208,.14);border-bottom:2px dotted {_BLUE}",
    ".unjudged": "background-color:transparent;border-bottom:2px dotted",
    ".deciding": "background-color:rgba(150,110,190,.22);border-bottom:2px solid #966ebe",
    ".jump": "color:inherit",
    ".chip": "display:inline-block;border:1px solid;border-radius:99px;padding:.1em .7em;font-weight:600",
    ".indicator": f"display:inline-block;vertical-align:top;width:17em;margin:0 1em 1em 0;border-top:3px solid {LINE};padding:.3em 0",
    ".alert": "border-color:#d55e00",
    ".watch": "border-color:#e69f00",
    ".state": "float:right",
    ".big": "font-size:1.4em",
    ".chips": "margin:.5em 0",
    ".why": "opacity:.8;margin:.3em 0",
    ".next": "margin:.8em 0",
}
_STYLES |= {f".shade-{place}": f"background-color:rgba(74,143,208,{0.04 + 0.07 * place:.2f})" for place in range(9)}
MIME = "application/vnd.workbench.record+json"


@dataclass(frozen=True)
class Html:
    """HTML in which the text of documents and questions is escaped."""

    html: Markup

    def _repr_html_(self) -> str:
        return f"<div>{displayed(self.html)}</div>"


@dataclass(frozen=True)
class Picture:
    """A PNG with alternative text."""

    png: bytes
    alt: str

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        encoded = base64.b64encode(self.png).decode("ascii")
        metadata = {"alt": self.alt, "width": _WIDTH_PIXELS}
        return {"image/png": encoded, "text/plain": self.alt}, {"image/png": metadata}


@dataclass(frozen=True)
class Shown:
    """Blocks as outputs of a notebook cell: HTML and pictures."""

    blocks: Sequence[Block]

    @property
    def parts(self) -> list[Html | Picture]:
        """The outputs in order."""
        return list(_parts(self.blocks))

    @property
    def html(self) -> str:
        """The HTML of all parts, without the pictures."""
        return "".join(str(part.html) for part in self.parts if isinstance(part, Html))

    @property
    def alt(self) -> str:
        """The alternative texts of all pictures."""
        return "\n".join(part.alt for part in self.parts if isinstance(part, Picture))

    def _repr_html_(self) -> str:
        return f"<div>{displayed(self.html)}</div>"

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for part in self.parts:
            display(part)


def show(*blocks: Block | None) -> Shown:
    """Display blocks in a notebook, ignoring None. Sections lose their titles because the notebook has headings."""
    present = [block for block in blocks if block is not None]
    return Shown([part for block in present for part in (block.blocks if isinstance(block, Section) else (block,))])


def picture(drawing: "Drawing", alt: str) -> Picture:
    """Render a drawing as a sharp PNG with few colours and the alternative text `alt`."""
    from PIL import Image

    drawn, packed = io.BytesIO(), io.BytesIO()
    with own_style():
        drawing.savefig(drawn, format="png", dpi=_DOTS_PER_INCH)
    image = Image.open(drawn).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    image.save(packed, format="png", optimize=True)
    return Picture(packed.getvalue(), alt)


def _parts(blocks: Sequence[Block]) -> Iterator[Html | Picture]:
    context = {"page": False, "look": _look, "named": escape, "worded": escape, "within": _within(blocks), "course": sparkline}
    macros = environment().get_template("blocks.html.j2").make_module(context)
    html = Markup("")
    for block in _flat(blocks):
        if isinstance(block, Figure):
            yield from [Html(html)] if html else []
            yield picture(block.drawing, block.alt)
            html = Markup("")
        html += Markup(macros.block(block, 4))  # type: ignore[attr-defined]  # the template's macro
    if html:
        yield Html(html)


def _within(blocks: Sequence[Block]) -> str:
    """Begin the anchors of a display so that another display of the same notebook, with the same answers, has others."""
    return f"w{fingerprint([[type(block).__name__, getattr(block, 'title', ''), getattr(block, 'text', '')] for block in blocks])[:6]}-"


def _flat(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        yield from _flat(block.blocks) if isinstance(block, Columns) else (block,)


def _look(tag: str, *classes: str) -> Markup:
    styles = [_STYLES.get(tag, ""), *(_STYLES.get(f".{name}", "") for name in classes)]
    style = ";".join(rule for rule in styles if rule)
    return Markup(' style="{}"').format(style) if style else Markup("")


@dataclass(frozen=True, eq=False)
class Record:
    """Conclusions under the id of a notebook's run, with a readable `summary`. The id is empty if a person opened the notebook."""

    run_id: str
    values: Mapping[str, Any]
    summary: str

    def __repr__(self) -> str:
        return f"{'recorded' if self.run_id else 'not recorded (opened by hand)'}: {self.summary}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        # JSON has no NaN.
        values = json.loads(json.dumps(self.values), parse_constant=lambda _: None)
        return {"text/plain": repr(self), MIME: {"run_id": self.run_id, "values": values}}
