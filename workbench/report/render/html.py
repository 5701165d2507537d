"""report.html: one file that holds all it shows, runs one script of its own and asks nothing of anybody."""

from pathlib import Path

from markupsafe import Markup

from workbench.core.files import write_text
from workbench.execution.local import Outcome
from workbench.report.page.build import Page, page_of
from workbench.report.page.policy import policy
from workbench.report.render.display import TEMPLATES, environment, stylesheet


def write_report(outcome: Outcome, folder: Path) -> Path:
    """`report.html` in the folder, made from the results; the notebooks there are named and not read."""
    path = folder / "report.html"
    write_text(path, rendered(page_of(outcome)))
    return path


def rendered(page: Page) -> str:
    """The page as HTML, under a policy that lets only its own script and style sheet act."""
    script, style = (TEMPLATES / "report.js").read_text("utf-8"), stylesheet("report")
    template = environment().get_template("report.html.j2")
    text = template.render(page=page, policy=policy(script, style), script=Markup(script), style=Markup(style))
    # A browser reads NUL as U+FFFD, and half a surrogate pair is no UTF-8.
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
