"""What a notebook's cell displays: escaped HTML, or a figure as a PNG that says in words what it shows."""

import base64
import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEMPLATES = Path(__file__).parents[1] / "templates"
# A figure is drawn 4.8 inches wide, so that its letters are still read when a telephone shows it 360 pixels wide.
WIDTH_INCHES = 4.8
WIDTH_PIXELS = 576
_DOTS_PER_INCH = 240
_COLOURS = 64


@dataclass(frozen=True)
class Fragment:
    """HTML that is safe to show: whatever came from a document or a question was escaped when it was put in."""

    html: Markup

    def __add__(self, other: "Fragment") -> "Fragment":
        return Fragment(self.html + other.html)

    def _repr_html_(self) -> str:
        return str(Markup('<div class="wb">{}</div>').format(self.html))


NOTHING = Fragment(Markup(""))


@dataclass(frozen=True)
class Picture:
    """A PNG with its alternative text."""

    png: bytes
    alt: str

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        encoded = base64.b64encode(self.png).decode("ascii")
        about = {"alt": self.alt, "width": WIDTH_PIXELS}
        return {"image/png": encoded, "text/plain": self.alt}, {"image/png": about}


def show(figure: "Figure", alt: str) -> Picture:
    """A figure as a sharp PNG of few colours; `alt` says what it shows."""
    from PIL import Image

    drawn, packed = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=_DOTS_PER_INCH)
    image = Image.open(drawn).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    image.save(packed, format="png", optimize=True)
    return Picture(packed.getvalue(), alt)


def lead(text: str) -> Fragment:
    """The paragraph that says what matters most."""
    return Fragment(Markup('<p class="wb-lead">{}</p>').format(text))


def prose(text: str) -> Fragment:
    """A paragraph."""
    return Fragment(Markup("<p>{}</p>").format(text))


def notes(texts: list[str]) -> Fragment:
    """A list of plain lines."""
    return Fragment(Markup("<ul>{}</ul>").format(Markup("").join(Markup("<li>{}</li>").format(text) for text in texts)))


def style() -> Fragment:
    """The rules of everything Workbench displays, for a notebook; a page that has them already leaves them out."""
    return Fragment(Markup("<style>{}</style>").format(Markup(stylesheet("fragments"))))


def stylesheet(name: str) -> str:
    """One of the package's own style sheets."""
    return (TEMPLATES / f"{name}.css").read_text("utf-8")


def render(template: str, **values: Any) -> Fragment:
    """One of the package's own templates, with everything escaped that is not marked safe."""
    return Fragment(Markup(environment().get_template(f"{template}.html.j2").render(**values)))


@cache
def environment() -> Environment:
    """The templates; they escape by themselves and refuse names that are not given."""
    return Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
