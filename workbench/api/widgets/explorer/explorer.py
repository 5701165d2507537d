"""Explore two configurations of a run side by side: a panel of controls over an `ExplorerModel`, and its display in a notebook."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets
import pandas as pd

from workbench.api.arguments import require
from workbench.api.results import Results, opened
from workbench.api.scoring.what_if import ALL
from workbench.api.widgets.choice import Choice
from workbench.api.widgets.explorer.model import OUTCOMES, ExploredQuestion, ExplorerModel, QuestionFilter, Side, causes_between
from workbench.api.widgets.explorer.view import both_html, failures_html, option_line, question_html, side_html, static_html
from workbench.api.widgets.notebook_panel import WITHIN, SavedDisplay, attended, display_table
from workbench.api.widgets.what_if import WhatIfPanel
from workbench.core.errors import WorkbenchError, error_line
from workbench.core.text.formatting import plural, shortened
from workbench.core.text.guessed_names import checked_names
from workbench.core.text.printable import printable_line
from workbench.measures.attribution.causes import CAUSE_WORDS
from workbench.measures.metrics.names import Metric, metrics_given
from workbench.report.analysis.decision import decide
from workbench.report.analysis.findings import findings
from workbench.report.results.run_tables import RETRIEVED

if TYPE_CHECKING:
    from workbench.api.widgets.explorer.live import LiveSearch
    from workbench.api.widgets.explorer.run_boundaries import RunBoundaries

MOST_CHARACTERS = 100
# The least width of a menu, in em.
_LEAST = 23
_LISTED = 300
_ANY = ""
# The characters of a name that a menu shows in a narrow window. Both names are written in full above the chunks.
_LONGEST_NAME = 60
# Seconds.
_HELD_BACK = 2.0


class Panel:
    """The controls, without options, and the parts of the display that they change."""

    def __init__(self) -> None:
        self.choices = {name: _dropdown(title) for name, title in _CHOICES.items()}
        self.metric, self.slice, self.first, self.second = self.choices.values()
        self.outcome, self.cause, self.condition = self.filters = [_dropdown(title) for title in ("Show", "Cause", "Answers to")]
        self.words = _text("Filter", "words of a question or its id")
        self.questions = ipywidgets.Select(description="Questions", rows=8, style=_LABEL, layout=_WIDE)
        self.typed = _text("Ask", "a question of your own, then Enter")
        self.ask = ipywidgets.Button(
            description="Ask both", tooltip="Both configurations search their indexes now", layout={"width": "auto"}
        )
        unstored = "Load the texts that the run does not store"
        self.load = ipywidgets.Button(description="Load texts", tooltip=unstored, layout={"width": "auto"})
        self.counts, self.status = (ipywidgets.Label(layout=_WIDE) for _ in range(2))
        self.failed, self.asked, self.both = (ipywidgets.HTML(layout=_WIDE) for _ in range(3))
        side = {"flex": "1 1 360px", "min_width": "0", "margin": "0 16px 0 0"}
        self.sides = tuple(ipywidgets.HTML(layout=side) for _ in range(2))


# The traits of a choice that have a menu, and the titles of these.
_CHOICES = {"metric": "Metric", "slice": "Slice", "first": "First", "second": "Second"}
_LABEL, _WIDE, _ROW = {"description_width": "6.5em"}, {"width": WITHIN}, {"flex_flow": "row wrap", "width": "100%"}


def _text(name: str, placeholder: str) -> ipywidgets.Text:
    return ipywidgets.Text(description=name, placeholder=placeholder, style=_LABEL, layout={"flex": "1 1 300px", "max_width": WITHIN})


def arranged(panel: Panel) -> ipywidgets.VBox:
    """Arrange the choice above the list and the list above the sides, which are below each other if the page is narrow."""
    rows = [panel.metric, panel.slice], [panel.first, panel.second], panel.filters, [panel.words]
    menus = [ipywidgets.HBox(row, layout=_ROW) for row in rows]
    asking = ipywidgets.HBox([panel.typed, panel.ask, panel.load], layout=_ROW)
    sides = ipywidgets.HBox(panel.sides, layout=_ROW)
    parts = [*menus, panel.questions, panel.counts, asking, panel.status, panel.failed, panel.asked, panel.both, sides]
    return ipywidgets.VBox(parts, layout={"width": "100%"})


def visible_options(names: Sequence[str], most: int = MOST_CHARACTERS, title: Callable[[str], str] = str) -> list[tuple[str, str]]:
    """Make options of the titles of names, with visible control characters, each as at most `most` characters that tell it from the others."""
    titles = {name: printable_line(title(name)) for name in names}
    shown = shortened(titles.values(), most)
    return [(shown[titles[name]], name) for name in names]


def offer(menu: ipywidgets.Dropdown, options: Sequence[tuple[str, str]], value: str) -> None:
    """Give a menu its options and its value, and the width that the longest option needs, a whole row if necessary."""
    menu.options = options
    menu.value = value
    longest = max((len(shown) for shown, _ in options), default=0)
    menu.layout.flex = f"1 1 {max(_LEAST, round(0.6 * longest + 9))}em"


def _dropdown(name: str) -> ipywidgets.Dropdown:
    # Without these widths a long option pushes the menu out of a narrow window.
    layout = {"flex": f"1 1 {_LEAST}em", "width": "auto", "min_width": "0", "max_width": WITHIN}
    return ipywidgets.Dropdown(description=name, style=_LABEL, layout=layout)


@dataclass(frozen=True)
class _Shown:
    """The displayed question with its sides, or none. It was computed from the `key`."""

    question: ExploredQuestion | None = None
    sides: tuple[Side, ...] = ()
    key: tuple[str, ...] = ()


class Explorer:
    """Two configurations of a run side by side on any question. Make one with `wb.explore`.

    `choice` has the metric, the slice, the configurations and the question, which `what_if` and `boundaries` follow.
    """

    def __init__(
        self, model: ExplorerModel, choice: Choice, live: Callable[[], "LiveSearch"], panels: Mapping[str, ipywidgets.Widget]
    ) -> None:
        self.model, self.choice, self._panels, self._make_live = model, choice, dict(panels), live
        choice.first, choice.second = model.known(choice.first), model.known(choice.second)
        self._panel: Panel | None = None
        self._shown = _Shown()
        self._quiet = False
        self._pending: Future[None] | None = None
        self._worker = ThreadPoolExecutor(1, "workbench-explorer")
        self._saved = SavedDisplay()
        self._wanted = ""
        self._answered: tuple[str, tuple[str, str]] | None = None
        self._entered = -math.inf
        self._list_questions()
        choice.observe(self._follow)

    @property
    def selection(self) -> pd.DataFrame:
        """The questions that pass the filters, with the values of both configurations and their difference, the largest one first.

        Questions with equal differences keep the order of the dataset. `first` and `second` are the values of the metric, `difference` is the first minus the second. `attrs` names the metric and both
        configurations.
        """
        table = self.model.selection(*self.configurations, self.filter)
        return table.sort_values("difference", key=abs, ascending=False, kind="stable", na_position="last", ignore_index=True)

    @property
    def configurations(self) -> tuple[str, str]:
        """The first and the second configuration."""
        return self.choice.first, self.choice.second

    @property
    def filter(self) -> QuestionFilter:
        """The filter that the choice and the controls set."""
        panel, chosen = self._panel, QuestionFilter(slice=self.choice.slice, metric=self.choice.metric)
        return replace(chosen, words=panel.words.value, outcome=panel.outcome.value, cause=panel.cause.value) if panel else chosen

    @property
    def sides(self) -> tuple[Side, ...]:
        """Both configurations' sides of the question, empty without one."""
        return self._shown.sides

    @property
    def panel(self) -> Panel:
        """The controls, made on first use: a notebook that nobody looks at keeps no state of them."""
        if self._panel is None:
            panel = self._panel = Panel()
            with self._without_events():
                self._fill(panel)
            self._list_causes()
            self._list_questions()
            self._paint()
            self._connect(panel)
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

    def what_if(self) -> WhatIfPanel:
        """Rank the configurations by the chosen metric on the chosen slice. Both follow the explorer, and the explorer follows them."""
        return WhatIfPanel(self.model.rescorer, self.choice)

    def boundaries(self) -> "RunBoundaries":
        """Show where the first configuration cuts the document of the question, with sliders that move the boundaries."""
        # Deferred: only this panel needs chunkers.
        from workbench.api.widgets.explorer.run_boundaries import RunBoundaries

        return RunBoundaries(self.model, self.choice, self._live)

    def ask(self, question: str) -> None:
        """Ask both configurations a question, in the background: `wait` waits for the answers."""
        require(question, str, "question")
        text = question.strip()
        if known := self.model.query_with(text):
            self._say("a question of the run, with its labels")
            self.choice.query_id = known
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
        return static_html(self._shown.question, self._shown.sides, self._names)

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

    def _fill(self, panel: Panel) -> None:
        """Give the controls their options and what they show first."""
        model = self.model
        self._offer_choices(panel)
        panel.outcome.options = [(meaning, outcome) for outcome, meaning in OUTCOMES.items()]
        panel.outcome.value = "all"
        panel.condition.options = [("all conditions", _ANY), *visible_options(model.conditions)]
        panel.condition.value = self._condition
        panel.condition.layout.display = "flex" if len(model.conditions) > 1 else "none"
        panel.failed.value = failures_html(model.run.failures)

    def _offer_choices(self, panel: Panel) -> None:
        """Show the choice in its menus, which also offer a metric or a slice that another panel chose."""
        names = visible_options(self.model.names, _LONGEST_NAME, self.model.title)
        offered = {
            "metric": visible_options(self.model.metrics),
            "slice": visible_options(self.model.slices),
            "first": names,
            "second": names,
        }
        for name, options in offered.items():
            value = getattr(self.choice, name)
            added = [] if value in dict(options).values() else visible_options([value])
            offer(panel.choices[name], [*options, *added], value)

    def _connect(self, panel: Panel) -> None:
        for name, menu in panel.choices.items():
            menu.observe(self._when(partial(self._choose, name, menu)), "value")
        for control in (panel.outcome, panel.cause, panel.words):
            control.observe(self._when(self._list_questions), "value")
        panel.questions.observe(self._when(lambda: setattr(self.choice, "query_id", panel.questions.value or "")), "value")
        panel.condition.observe(self._when(self._show_chosen), "value")
        panel.typed.observe(self._when(self._type), "value")
        panel.ask.on_click(lambda _: self.ask(panel.typed.value))
        panel.load.on_click(lambda _: self.load_texts())
        panel.typed.on_msg(lambda _, content, __: self._enter() if content.get("event") == "submit" else None)

    def _choose(self, name: str, menu: ipywidgets.Dropdown) -> None:
        setattr(self.choice, name, menu.value)

    def _enter(self) -> None:
        self._entered = time.monotonic()
        self.ask(self.panel.typed.value)

    def _type(self) -> None:
        # A browser holds back letters while the kernel is busy, but not the Enter after them.
        if time.monotonic() - self._entered < _HELD_BACK:
            self.ask(self.panel.typed.value)

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

    def _follow(self, change: Mapping[str, Any]) -> None:
        """Show what the choice became, whichever panel changed it."""
        if self._quiet or (change["name"] == "query_id" and not change["new"]):
            return
        if change["name"] == "query_id":
            self._mark_chosen()
            self._show_chosen()
            return
        if self._panel:
            with self._without_events():
                self._offer_choices(self._panel)
        other = change["name"] in ("first", "second")
        if other:
            self._list_causes()
        if other and self._shown.question and not self._shown.question.query_id:
            self.ask(self._shown.question.text)
        else:
            self._list_questions()

    def _list_causes(self) -> None:
        if panel := self._panel:
            with self._without_events():
                cause, found = panel.cause.value, causes_between(self.model.run, *self.configurations)
                panel.cause.options = [("any or none", _ANY), *((CAUSE_WORDS.get(name, name), name) for name in found)]
                panel.cause.value = cause if cause in found else _ANY

    def _list_questions(self) -> None:
        """List the selection, and show its first question unless the present one is in it."""
        table = self.selection
        rows = list(zip(table["query_id"], table["question"], table["difference"], strict=True))[:_LISTED]
        known = [query_id for query_id, _, _ in rows]
        if panel := self._panel:
            with self._without_events():
                panel.questions.options = [(option_line(*row), row[0]) for row in rows]
            panel.counts.value = self._counted(table)
        chosen = self.choice.query_id if self.choice.query_id in known else known[0] if known else ""
        with self._without_events():
            self.choice.query_id = chosen
        self._mark_chosen()
        self._show_chosen()

    def _counted(self, table: pd.DataFrame) -> str:
        """Say how many questions are listed, and which configuration is better on how many of them."""
        every, marks = plural(len(self.model.query_ids), "question"), self.model.outcomes(table, self.choice.metric)
        if table.empty:
            return f"0 of {every}; change a filter"
        unscored = int(table["difference"].isna().sum())
        won, lost = int(marks["won"].sum()), int(marks["lost"].sum())
        equal = len(table) - won - lost - unscored
        parts = [("first is better on", won), ("second is better on", lost), ("equal on", equal), ("no value on", unscored)]
        listed = f", the first {_LISTED} listed" if len(table) > _LISTED else ""
        return f"{len(table):,} of {every}{listed}: {', '.join(f'{words} {number:,}' for words, number in parts if number)}"

    def _mark_chosen(self) -> None:
        if panel := self._panel:
            with self._without_events():
                known = [query_id for _, query_id in panel.questions.options]
                panel.questions.value = self.choice.query_id if self.choice.query_id in known else None

    @property
    def _names(self) -> list[str]:
        return [self.model.title(side.configuration) for side in self._shown.sides]

    @property
    def _condition(self) -> str:
        if self._panel and self._panel.condition.value is not None:
            return str(self._panel.condition.value)
        return RETRIEVED if RETRIEVED in self.model.conditions else _ANY

    def _show_chosen(self) -> None:
        query_id = self.choice.query_id
        if not query_id:
            self._show(_Shown())
            return
        key = (query_id, *self.configurations, self.choice.metric, self._condition)
        # Typing changes the list, and rarely what is shown.
        if key != self._shown.key:
            sides = tuple(self.model.side(name, query_id, *key[3:]) for name in self.configurations)
            self._show(_Shown(sides[0].question, sides, key))

    def _show(self, shown: _Shown) -> None:
        self._shown = shown
        self._paint()

    def _paint(self) -> None:
        """Show the present question in the display and in what a saved notebook keeps."""
        shown, panel = self._shown, self._panel
        # First, so that a notebook that is saved once the display has changed has it too.
        self._saved.update(self.static())
        if panel:
            panel.asked.value = question_html(shown.question) if shown.question else ""
            panel.both.value = both_html(shown.sides, self._names) if shown.sides else ""
            for part, side, position in zip(panel.sides, shown.sides or (None, None), ("First", "Second"), strict=True):
                part.value = side_html(side, position, self.model.title(side.configuration)) if side else ""
            unstored = any(not chunk["pieces"] for side in shown.sides for chunk in side.chunks)
            panel.load.layout.display = "inline-flex" if unstored else "none"

    def _ask_wanted(self) -> None:
        """Ask what was typed last, and again if it or a configuration has changed meanwhile."""
        while (wanted := (self._wanted, self.configurations)) != self._answered:
            self._answered = wanted
            text, names = wanted
            sides = tuple(self.model.live_side(name, text, self._live.ask(name, text, self._say)) for name in names)
            self._say(f"asked both configurations: {text}")
            self.choice.query_id = ""
            self.panel.questions.value = None
            self._show(_Shown(sides[0].question, sides))

    def _load_texts(self) -> None:
        self._say("loading the documents …")
        self.model = self.model.with_documents(self._live.documents())
        self._say(f"{plural(len(self.model.documents), 'document')} loaded")
        self._shown = replace(self._shown, key=())
        if self.choice.query_id:
            self._show_chosen()

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
    metric: str | Metric = "",
    within: str = ALL,
    panels: Mapping[str, ipywidgets.Widget] | None = None,
    allow_code: bool = False,
) -> Explorer:
    """Show two configurations of a run side by side on any question, in a notebook.

    It reads the tables of the run and the texts stored with it. Only a typed question needs the run's dataset, models and store.
    `explorer.what_if()` and `explorer.boundaries()` are further panels, which follow its metric, slice, configurations and question.

    Parameters
    ----------
    results: a run, or its folder.
    first, second: the configurations to begin with, by default those of the report's first screen: the one that it shows, and the one that it is
        compared with.
    metric, within: the metric and the slice to begin with, by default the primary metric and all questions.
    panels: further widgets by title, each shown in a tab.
    allow_code: whether a typed question may run functions that the configurations name.

    Raises
    ------
    InputError: the folder contains no run, there is no such metric or slice, a configuration does not exist or failed, or none finished.

    Examples
    --------
    >>> import workbench as wb
    >>> explorer = wb.explore("outputs/sizes")
    >>> explorer.configurations
    ('fixed-256-0-bm25', 'fixed-128-0-bm25')
    >>> explorer.selection.columns.tolist()
    ['query_id', 'question', 'first', 'second', 'difference', 'first_causes', 'second_causes']
    """
    run = opened(results, "results")
    require(within, str, "within")
    model = ExplorerModel(run)
    model.rescorer.stored.members(within)
    (measure,) = metrics_given(metric) if metric else (run.primary,)
    conclusions = findings(run)
    decision = decide(conclusions)
    order = [standing.name for standing in (decision.shown, decision.other, *conclusions.standings.finished) if standing]
    other = next((name for name in order if name != (first or order[0])), order[0])

    def live() -> "LiveSearch":
        # Deferred: only a typed question needs the pipeline.
        from workbench.api.widgets.explorer.live import LiveSearch

        return LiveSearch(run, run.folder, allow_code)

    choice = Choice(metric=str(measure), slice=within, first=first or order[0], second=second or other)
    return Explorer(model, choice, live, panels or {})
