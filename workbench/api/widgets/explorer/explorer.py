"""Explore two configurations of a run side by side: a panel of controls over an `ExplorerModel`, and its display in a notebook."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets
import numpy as np
import pandas as pd

from workbench.api.arguments import require
from workbench.api.results import Results, opened
from workbench.api.widgets.explorer.model import OUTCOMES, ExploredQuestion, ExplorerModel, QuestionFilter, Side, causes_between, selection
from workbench.api.widgets.explorer.view import failures_html, option_line, question_html, side_html, static_html
from workbench.api.widgets.notebook_panel import WITHIN, SavedDisplay, attended, display_table
from workbench.core.errors import WorkbenchError, error_line
from workbench.core.text.formatting import plural, shortened
from workbench.core.text.guessed_names import checked_names
from workbench.core.text.printable import printable_line
from workbench.report.analysis.values import per_query
from workbench.report.results.run_tables import RETRIEVED, RunTables

if TYPE_CHECKING:
    from workbench.api.widgets.explorer.live import LiveSearch

MOST_CHARACTERS = 100
# The least width of a menu, in em.
_LEAST = 23
_LISTED = 300
_ALL = ""
# The characters of a name that a menu shows in a narrow window. Both names are written in full above the chunks.
_LONGEST_NAME = 60
# Seconds.
_HELD_BACK = 2.0


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


@dataclass(frozen=True)
class _Shown:
    """The displayed question with its sides, or none. It was computed from the `key`."""

    question: ExploredQuestion | None = None
    sides: tuple[Side, ...] = ()
    key: tuple[str, ...] = ()


class Explorer:
    """Two configurations of a run side by side on any question. Make one with `wb.explore`."""

    def __init__(
        self, model: ExplorerModel, start: tuple[str, str], live: Callable[[], "LiveSearch"], panels: Mapping[str, ipywidgets.Widget]
    ) -> None:
        self.model, self._panels, self._make_live = model, dict(panels), live
        self._start = model.known(start[0]), model.known(start[1])
        self._panel: Panel | None = None
        self._shown = _Shown()
        self._quiet = False
        self._pending: Future[None] | None = None
        self._worker = ThreadPoolExecutor(1, "workbench-explorer")
        self._saved = SavedDisplay()
        self._wanted = ""
        self._answered: tuple[str, tuple[str, str]] | None = None
        self._entered = -math.inf

    @property
    def selection(self) -> pd.DataFrame:
        """The questions that pass the filters, with the values of both configurations and their difference.

        `first` and `second` are the values of the metric, `difference` is the first minus the second. `attrs` names the metric and both
        configurations.
        """
        return selection(self.model.run, *self.configurations, self.filter)

    @property
    def configurations(self) -> tuple[str, str]:
        """The first and the second configuration."""
        return (str(self._panel.first.value), str(self._panel.second.value)) if self._panel else self._start

    @property
    def filter(self) -> QuestionFilter:
        """The filter that the controls set."""
        panel = self._panel
        if panel is None:
            return QuestionFilter()
        return QuestionFilter(panel.question.value, panel.outcome.value, panel.slice.value, panel.cause.value, panel.metric.value)

    @property
    def sides(self) -> tuple[Side, ...]:
        """Both configurations' sides of the question, empty without one."""
        _ = self.panel
        return self._shown.sides

    @property
    def panel(self) -> Panel:
        """The controls, made on first use: a notebook that nobody looks at keeps no state of them."""
        if self._panel is None:
            self._panel = Panel()
            self._fill(*self._start)
            self._list_causes()
            self._list_questions()
            self._connect(self._panel)
        return self._panel

    @cached_property
    def widget(self) -> ipywidgets.Widget:
        """The whole display: the explorer, and a tab for every further panel."""
        own = arranged(self.panel)
        if not self._panels:
            return ipywidgets.VBox([own, self._saved.unseen])
        tabs = ipywidgets.Tab([own, *self._panels.values()])
        for place, title in enumerate(["Explore", *self._panels]):
            tabs.set_title(place, printable_line(title))
        return ipywidgets.VBox([tabs, self._saved.unseen])

    def ask(self, question: str) -> None:
        """Ask both configurations a question, in the background: `wait` waits for the answers."""
        require(question, str, "question")
        text = question.strip()
        if known := self.model.query_with(text):
            self._show_question(known)
        elif not text:
            self._say("Type a question first.")
        else:
            self._wanted, self._answered = text, None
            self._pending = self._worker.submit(self._guarded, self._ask_wanted)

    def load_texts(self) -> None:
        """Load the texts that the run does not store from its dataset, in the background."""
        self._pending = self._worker.submit(self._guarded, self._load_texts)

    def wait(self, seconds: float = 600) -> None:
        """Wait until everything that was asked is shown."""
        if self._pending:
            self._pending.result(seconds)

    def static(self) -> str:
        """The current question and both configurations as HTML without controls."""
        shown = self._shown if self._panel else self._first_shown()
        return static_html(shown.question, shown.sides)

    def __repr__(self) -> str:
        return f"Explorer({self.model.run.name!r}, {plural(len(self.model.names), 'configuration')})"

    def _ipython_display_(self) -> None:
        if attended():
            self._saved.display(self.widget, self.static(), repr(self))
        else:
            display_table(self.static(), repr(self))

    @cached_property
    def _live(self) -> "LiveSearch":
        return self._make_live()

    def _fill(self, first: str, second: str) -> None:
        """Give the controls their options and what they show first."""
        panel, model = self.panel, self.model
        for menu in (panel.first, panel.second):
            offer(menu, visible_options(model.names, _LONGEST_NAME))
        panel.first.value, panel.second.value = first, second
        offer(panel.metric, visible_options(model.metrics))
        panel.metric.value = model.metrics[0]
        panel.outcome.options = [(meaning, outcome) for outcome, meaning in OUTCOMES.items()]
        panel.outcome.value = "all"
        offer(panel.slice, visible_options(model.slices))
        panel.slice.value = "all"
        panel.condition.options = [("all conditions", _ALL), *visible_options(model.conditions)]
        panel.condition.value = RETRIEVED if RETRIEVED in model.conditions else _ALL
        panel.condition.layout.display = "flex" if len(model.conditions) > 1 else "none"
        panel.failed.value = failures_html(model.run.failures)

    def _connect(self, panel: Panel) -> None:
        panel.question.observe(self._when(self._type), "value")
        for control in (panel.metric, panel.outcome, panel.slice, panel.cause):
            control.observe(self._when(self._list_questions), "value")
        for control in (panel.first, panel.second):
            control.observe(self._when(self._switch), "value")
        for control in (panel.questions, panel.condition):
            control.observe(self._when(self._show_selected), "value")
        panel.ask.on_click(lambda _: self.ask(panel.question.value))
        panel.load.on_click(lambda _: self.load_texts())
        panel.question.on_msg(lambda _, content, __: self._enter() if content.get("event") == "submit" else None)

    def _enter(self) -> None:
        self._entered = time.monotonic()
        self.ask(self.panel.question.value)

    def _type(self) -> None:
        self._list_questions()
        # A browser holds back letters while the kernel is busy, but not the Enter after them.
        if time.monotonic() - self._entered < _HELD_BACK:
            self.ask(self.panel.question.value)

    def _when(self, action: Callable[[], None]) -> Callable[[object], None]:
        def act(_: object) -> None:
            if not self._quiet:
                action()

        return act

    @contextlib.contextmanager
    def _without_events(self) -> Iterator[None]:
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def _switch(self) -> None:
        if self._shown.question and not self._shown.question.query_id:
            asked = self._shown.question.text
            self._list_causes()
            self.ask(asked)
            return
        self._list_causes()
        self._list_questions()

    def _list_causes(self) -> None:
        with self._without_events():
            cause, found = self.panel.cause.value, causes_between(self.model.run, *self.configurations)
            self.panel.cause.options = [("any or none", _ALL), *visible_options(found)]
            self.panel.cause.value = cause if cause in found else _ALL

    def _ordered(self) -> pd.DataFrame:
        """The selection, the largest difference first. Questions with equal differences keep the order of the dataset."""
        return self.selection.sort_values("difference", key=abs, ascending=False, kind="stable", na_position="last")

    def _list_questions(self) -> None:
        table = self._ordered()
        rows = zip(table["query_id"], table["question"], table["difference"], strict=True)
        options = [(option_line(query_id, asked, difference), query_id) for query_id, asked, difference in list(rows)[:_LISTED]]
        with self._without_events():
            before = self.panel.questions.value
            self.panel.questions.options = options
            known = [query_id for _, query_id in options]
            self.panel.questions.value = before if before in known else known[0] if known else None
        listed = f", the first {_LISTED} listed" if len(table) > _LISTED else ""
        nothing = "; press Enter to ask both configurations what is typed" if self.panel.question.value.strip() else "; change a filter"
        hint = "" if options else nothing
        self._say(f"{len(table):,} of {plural(len(self.model.query_ids), 'question')}{listed}{hint}")
        self._show_selected()

    def _show_selected(self) -> None:
        query_id = self.panel.questions.value
        self._show_question(query_id) if query_id is not None else self._show(_Shown())

    def _first_shown(self) -> _Shown:
        """The first question and its sides."""
        query_id, metric = str(self._ordered()["query_id"].iloc[0]), self.model.metrics[0]
        condition = RETRIEVED if RETRIEVED in self.model.conditions else _ALL
        sides = tuple(self.model.side(name, query_id, metric, condition) for name in self._start)
        return _Shown(sides[0].question, sides)

    def _show_question(self, query_id: str) -> None:
        key = (query_id, *self.configurations, self.panel.metric.value, self.panel.condition.value)
        # Typing changes the list, and rarely what is shown.
        if key != self._shown.key:
            sides = tuple(self.model.side(name, query_id, *key[3:]) for name in self.configurations)
            self._show(_Shown(sides[0].question, sides, key))

    def _show(self, shown: _Shown) -> None:
        self._shown, panel = shown, self.panel
        panel.asked.value = question_html(shown.question) if shown.question else ""
        for part, side, position in zip(panel.sides, shown.sides or (None, None), ("First", "Second"), strict=True):
            part.value = side_html(side, position) if side else ""
        unstored = any(not chunk["pieces"] for side in shown.sides for chunk in side.chunks)
        panel.load.layout.display = "inline-flex" if unstored else "none"
        self._saved.update(static_html(shown.question, shown.sides))

    def _ask_wanted(self) -> None:
        """Ask what was typed last, and again if it or a configuration has changed meanwhile."""
        while (wanted := (self._wanted, self.configurations)) != self._answered:
            self._answered = wanted
            text, names = wanted
            sides = tuple(self.model.live_side(name, text, self._live.ask(name, text, self._say)) for name in names)
            self._say(f"asked both configurations: {text}")
            self._show(_Shown(sides[0].question, sides))

    def _load_texts(self) -> None:
        self._say("loading the documents …")
        self.model = self.model.with_documents(self._live.documents())
        self._say(f"{plural(len(self.model.documents), 'document')} loaded")
        shown, self._shown = self._shown, _Shown()
        if shown.question and shown.question.query_id:
            self._show_question(shown.question.query_id)

    def _guarded(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except WorkbenchError as error:
            self._say(str(error))
        except Exception as error:  # in a thread it would be lost
            self._say(error_line(error))

    def _say(self, line: str) -> None:
        self.panel.status.value = printable_line(line)


@checked_names
def explore(
    results: Results | str | Path,
    first: str = "",
    second: str = "",
    *,
    panels: Mapping[str, ipywidgets.Widget] | None = None,
    allow_code: bool = False,
) -> Explorer:
    """Show two configurations of a run side by side on any question, in a notebook.

    It reads the tables of the run and the texts stored with it. Only a typed question needs the run's dataset, models and store.

    Parameters
    ----------
    results: a run, or its folder.
    first, second: the configurations to begin with, by default the one with the best mean of the primary metric, and the baseline of the
        experiment. If these are the same or it has none, the second best.
    panels: further widgets by title, each shown in a tab.
    allow_code: whether a typed question may run functions that the configurations name.

    Raises
    ------
    InputError: the folder contains no run, a configuration does not exist or failed, or none finished.

    Examples
    --------
    >>> import workbench as wb
    >>> explorer = wb.explore("outputs/sizes")
    >>> explorer.configurations
    ('fixed-256-0', 'fixed-128-0')
    >>> explorer.selection.columns.tolist()
    ['query_id', 'question', 'first', 'second', 'difference', 'first_causes', 'second_causes']
    """
    run = opened(results, "results")
    model = ExplorerModel(run)
    leading = _leading(run, model.names)
    other = next((name for name in leading if name != (first or leading[0])), leading[0])

    def live() -> "LiveSearch":
        # Deferred: only a typed question needs the pipeline.
        from workbench.api.widgets.explorer.live import LiveSearch

        return LiveSearch(run, run.folder, allow_code)

    return Explorer(model, (first or leading[0], second or other), live, panels or {})


def _leading(run: RunTables, names: Sequence[str]) -> list[str]:
    """The configuration with the best mean, the baseline, then the others from the best on."""
    sign = 1 if run.primary.higher_is_better else -1
    values = {name: sign * per_query(run, name, str(run.primary)) for name in names}
    means = {name: float(np.nanmean(row)) for name, row in values.items() if not np.isnan(row).all()}
    ranked = sorted(names, key=lambda name: -means.get(name, -np.inf))
    return list(dict.fromkeys([ranked[0], *(name for name in ranked if name == run.baseline), *ranked]))
