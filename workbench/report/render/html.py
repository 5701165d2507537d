"""Render report.html, a self-contained file with one script and no network requests."""

import base64
import functools
import hashlib
import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from workbench.core.files import write_text
from workbench.core.text.display import visible_html
from workbench.report.analysis.findings import findings
from workbench.report.model import Report
from workbench.report.render.svg import inline_svg, sparkline
from workbench.report.results.run_tables import RunTables
from workbench.report.summary import answered, headline, opening
from workbench.report.text.sentences import folder_of
from workbench.report.topics.registry import TOPICS

_TEMPLATES = Path(__file__).parents[1] / "templates"
# Longest name, in letters, that is kept on one line.
_UNBROKEN = 32


def write_report(run: RunTables, path: Path) -> Path:
    """Write the report of a run to `path`. It names the notebooks beside it without reading them."""
    return write_page(document_of(run), path)


def write_page(document: Report, path: Path) -> Path:
    """Write a document to `path` as a page."""
    write_text(path, rendered(document))
    return path


def document_of(run: RunTables) -> Report:
    """Build the report of a finished run, without empty sections."""
    conclusions = findings(run)
    names, sections = (
        [*run.names, *run.failures],
        [section for topic in TOPICS if "page" in topic.views and (section := topic(conclusions))],
    )
    return Report(run.name, folder_of(run), names, headline(conclusions), opening(conclusions), answered(conclusions), sections)


@functools.cache
def environment() -> Environment:
    """The package's templates. Values are escaped by default, and undefined names raise an error."""
    return Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def rendered(document: Report) -> str:
    """Render the document as a page whose policy allows only its own script and style sheet."""
    script, style = (_TEMPLATES / "report.js").read_text("utf-8"), style_sheet()
    context = {"page": True, "look": _look, "named": _naming(document.names), "picture": inline_svg, "number": itertools.count(1).__next__}
    context |= {"within": "", "course": sparkline}
    shown = {"document": document, "policy": policy(script, style), "script": Markup(script), "style": Markup(style)}
    return visible_html(environment().get_template("report.html.j2").render(context | shown))


def style_sheet() -> str:
    """The style sheet of all pages."""
    return (_TEMPLATES / "report.css").read_text("utf-8")


def policy(script: str, style: str) -> str:
    """The Content-Security-Policy that allows only this script and this style sheet."""
    directives = ("default-src 'none'", f"script-src '{_digest(script)}'", f"style-src '{_digest(style)}'", "img-src data:")
    return "; ".join([*directives, "base-uri 'none'", "form-action 'none'"])


def _look(_: str, *classes: str) -> Markup:
    names = " ".join(name for name in classes if name)
    return Markup(' class="{}"').format(names) if names else Markup("")


def _naming(names: Sequence[str]) -> Callable[[str], Markup]:
    """Mark up the names of configurations in a sentence to prevent breaks at hyphens. A long name has to break somewhere."""
    longest_first = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    unbroken = Markup('<span class="name">{}</span>')

    def named(text: str) -> Markup:
        text = re.sub(r"\bp ([=<]) ", "p\u00a0\\1\u00a0", text)
        parts = re.split(rf"(?<![\w.-])({longest_first})(?![\w-])", text) if names else [text]
        return Markup("").join(
            unbroken.format(part) if at % 2 and len(part) <= _UNBROKEN else escape(part) for at, part in enumerate(parts)
        )

    return named


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
