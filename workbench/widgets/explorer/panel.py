"""The controls of the explorer as ipywidgets: each has a label and works by keyboard."""

from collections.abc import Sequence

import ipywidgets

from workbench.core.formatting import shortened
from workbench.printable import printable_line
from workbench.widgets.notebook_panel import WITHIN

MOST_CHARACTERS = 100
# The least width of a menu, in em.
_LEAST = 23


class Panel:
    """The controls, without options, and the parts of the display that they change."""

    def __init__(self) -> None:
        label, wide = {"description_width": "6.5em"}, {"width": WITHIN}
        typed = "words of a question, or a question to ask"
        self.question = ipywidgets.Text(description="Question", placeholder=typed, style=label, layout=wide)
        self.ask = ipywidgets.Button(description="Ask both", tooltip="Ask both configurations what is typed", layout={"width": "auto"})
        unstored = "Load the texts that the run does not store"
        self.load = ipywidgets.Button(description="Load texts", tooltip=unstored, layout={"width": "auto"})
        self.questions = ipywidgets.Select(description="Questions", rows=8, style=label, layout=wide)
        names = ("First", "Second", "Metric", "Show", "Slice", "Cause", "Answers to")
        menus = self.first, self.second, self.metric, self.outcome, self.slice, self.cause, self.condition = [
            _dropdown(name) for name in names
        ]
        self.menus: list[ipywidgets.Dropdown] = menus
        self.status = ipywidgets.Label(layout=wide)
        self.failed, self.asked = (ipywidgets.HTML(layout=wide) for _ in range(2))
        side = {"flex": "1 1 360px", "min_width": "0", "margin": "0 16px 0 0"}
        self.sides = tuple(ipywidgets.HTML(layout=side) for _ in range(2))


def arranged(panel: Panel) -> ipywidgets.VBox:
    """Arrange the controls above the sides, which stand below each other if the page is narrow."""
    row = {"flex_flow": "row wrap", "width": "100%"}
    typed = ipywidgets.HBox([ipywidgets.Box([panel.question], layout={"flex": "1 1 300px"}), panel.ask, panel.load], layout=row)
    menus, sides = ipywidgets.HBox(panel.menus, layout=row), ipywidgets.HBox(panel.sides, layout=row)
    parts = [typed, menus, panel.questions, panel.status, panel.failed, panel.asked, sides]
    return ipywidgets.VBox(parts, layout={"width": "100%"})


def visible_options(names: Sequence[str], most: int = MOST_CHARACTERS) -> list[tuple[str, str]]:
    """Make options of names, with visible control characters, each as at most `most` characters that tell it from the others."""
    shown = shortened(map(printable_line, names), most)
    return [(shown[printable_line(name)], name) for name in names]


def offer(menu: ipywidgets.Dropdown, options: Sequence[tuple[str, str]]) -> None:
    """Give a menu its options and the width that the longest one needs, a whole row if necessary."""
    menu.options = options
    longest = max((len(shown) for shown, _ in options), default=0)
    menu.layout.flex = f"1 1 {max(_LEAST, round(0.6 * longest + 9))}em"


def _dropdown(name: str) -> ipywidgets.Dropdown:
    # Without these widths a long option pushes the menu out of a narrow window.
    layout = {"flex": f"1 1 {_LEAST}em", "width": "auto", "min_width": "0", "max_width": WITHIN}
    return ipywidgets.Dropdown(description=name, style={"description_width": "6.5em"}, layout=layout)
