"""The controls of the explorer as ipywidgets: each has a label and works by keyboard."""

from collections.abc import Sequence
from dataclasses import dataclass

import ipywidgets

from workbench.printable import printable_line

_WIDE = "calc(100% - 4px)"


@dataclass(frozen=True, eq=False)
class Panel:
    """The controls, and the parts of the display that they change."""

    question: ipywidgets.Text
    ask: ipywidgets.Button
    load: ipywidgets.Button
    questions: ipywidgets.Select
    first: ipywidgets.Dropdown
    second: ipywidgets.Dropdown
    metric: ipywidgets.Dropdown
    outcome: ipywidgets.Dropdown
    slice: ipywidgets.Dropdown
    cause: ipywidgets.Dropdown
    condition: ipywidgets.Dropdown
    status: ipywidgets.Label
    failed: ipywidgets.HTML
    asked: ipywidgets.HTML
    sides: tuple[ipywidgets.HTML, ipywidgets.HTML]


def make_panel() -> Panel:
    """Make the controls without options."""
    label = {"description_width": "6.5em"}
    return Panel(
        ipywidgets.Text(
            description="Question", placeholder="words of a question, or a question to ask", style=label, layout={"width": _WIDE}
        ),
        ipywidgets.Button(description="Ask both", tooltip="Ask both configurations what is typed", layout={"width": "auto"}),
        ipywidgets.Button(description="Load texts", tooltip="Load the texts that the run does not store", layout={"width": "auto"}),
        ipywidgets.Select(description="Questions", rows=8, style=label, layout={"width": _WIDE}),
        _dropdown("First"),
        _dropdown("Second"),
        _dropdown("Metric"),
        _dropdown("Show"),
        _dropdown("Slice"),
        _dropdown("Cause"),
        _dropdown("Answers to"),
        ipywidgets.Label(layout={"width": _WIDE}),
        ipywidgets.HTML(layout={"width": "100%"}),
        ipywidgets.HTML(layout={"width": "100%"}),
        (_side(), _side()),
    )


def arranged(panel: Panel) -> ipywidgets.VBox:
    """Arrange the controls above the sides, which stand below each other if the page is narrow."""
    row = {"flex_flow": "row wrap", "width": "100%"}
    typed = ipywidgets.HBox([ipywidgets.Box([panel.question], layout={"flex": "1 1 300px"}), panel.ask, panel.load], layout=row)
    drops = [panel.first, panel.second, panel.metric, panel.outcome, panel.slice, panel.cause, panel.condition]
    menus, sides = ipywidgets.HBox(drops, layout=row), ipywidgets.HBox(panel.sides, layout=row)
    parts = [typed, menus, panel.questions, panel.status, panel.failed, panel.asked, sides]
    return ipywidgets.VBox(parts, layout={"width": "100%"})


def visible_options(names: Sequence[str]) -> list[tuple[str, str]]:
    """Make options of names, with visible control characters."""
    return [(printable_line(name), name) for name in names]


def _dropdown(name: str) -> ipywidgets.Dropdown:
    return ipywidgets.Dropdown(description=name, style={"description_width": "6.5em"}, layout={"flex": "1 1 300px", "width": "auto"})


def _side() -> ipywidgets.HTML:
    return ipywidgets.HTML(layout={"flex": "1 1 360px", "min_width": "0", "margin": "0 8px 0 0"})
