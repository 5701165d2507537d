"""Choose a metric, a slice and a budget, and see the ranking of the configurations that the stored hits give."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import ipywidgets
import pandas as pd
from markupsafe import Markup

from workbench.api.arguments import require
from workbench.api.results import Results, opened
from workbench.api.scoring.rescore import Rescorer
from workbench.api.scoring.what_if import ALL, NONE, Say, WhatIfQuestion, what_if_table
from workbench.api.widgets.choice import Choice
from workbench.api.widgets.notebook_panel import WITHIN, NotebookPanel, fitted
from workbench.core.errors import InputError
from workbench.core.records import MOST_TOKENS
from workbench.core.text.formatting import count, listed, number, plural
from workbench.core.text.guessed_names import checked_names
from workbench.measures.metrics.names import MOST_K, Metric, metrics_given
from workbench.measures.metrics.registry import METRICS
from workbench.measures.statistics.intervals import bounds_text
from workbench.report.analysis.setting_names import short_names
from workbench.report.cells import text, words
from workbench.report.model import Cell, Column, Lines, Row, Table
from workbench.report.render.notebook import show

_COLUMNS = [words("configuration"), *map(Column, ("value", "95 % interval", "n", "unscored")), words("source"), text("note")]
_CHUNKS, _TOKENS = "k", "tokens"
_AT: Mapping[str, tuple[int, int]] = {_CHUNKS: (5, MOST_K), _TOKENS: (2_000, MOST_TOKENS)}
# As wide as a long slice needs, within the notebook.
_WIDE = {"flex": "1 1 26em", "width": "auto", "min_width": "0", "max_width": f"min(56em, {WITHIN})"}
_ROW = {"flex_flow": "row wrap"}


class WhatIfPanel(NotebookPanel):
    """The ranking of a run's configurations by the metric of a `choice` on its slice, as the DataFrame `table`."""

    def __init__(self, rescorer: Rescorer, choice: Choice) -> None:
        self.rescorer, self.choice = rescorer, choice
        # Hears how many of all configurations are scored.
        self.say: Say = lambda *_: None
        self.table = self._ranked(self.metric, self.slice)
        self._shown = choice.metric, choice.slice
        self._view: _WhatIfView | None = None
        choice.observe(self._follow)

    def __repr__(self) -> str:
        return f"WhatIfPanel({self.rescorer.run.name!r}, {str(self.metric)!r}, within={self.slice!r})"

    @property
    def metric(self) -> Metric:
        """The chosen metric."""
        return self.rescorer.run.measures.get(self.choice.metric) or Metric.parse(self.choice.metric)

    @property
    def slice(self) -> str:
        """The chosen slice."""
        return str(self.choice.slice)

    def choose(self, metric: str | Metric = "", within: str = "") -> pd.DataFrame:
        """Change the metric, such as `complete@4`, or the slice, and return the new ranking. The panel stays as it was if there is an error.

        Raises
        ------
        InputError: there is no such metric or slice.
        """
        chosen, where = Metric.parse(str(metric or self.metric)), within or self.slice
        self.table = self._ranked(chosen, where)
        self._shown = str(chosen), where
        with self.choice.hold_trait_notifications():
            self.choice.metric, self.choice.slice = self._shown
        return self.table

    def _follow(self, change: Mapping[str, object]) -> None:
        """Rank by what the choice became, unless the panel itself changed it, and mark the chosen configurations."""
        if change["name"] == "query_id":
            return
        if (self.choice.metric, self.choice.slice) != self._shown:
            self._shown = self.choice.metric, self.choice.slice
            self.table = self._ranked(self.metric, self.slice)
        if self._view:
            self._view.paint()

    def _ranked(self, metric: Metric, within: str) -> pd.DataFrame:
        return what_if_table(self.rescorer, WhatIfQuestion(metric, within), lambda done, every: self.say(done, every))

    @property
    def static_html(self) -> str:
        """The ranking with its claim, and what could not be scored."""
        rows = [Row([Cell(cell) for cell in cells]) for cells in self._cells()]
        caption = f"{self.metric} on {self.slice} ({self.metric.meaning}); {self.table.attrs['claim']}"
        unscored = self.table[self.table["source"] == NONE].groupby("note", sort=False)["configuration"]
        missing = [f"{plural(len(names), 'configuration')} without a value ({listed(list(names), 3)}): {note}" for note, names in unscored]
        return str(show(Table(caption, _COLUMNS, rows), Lines(missing) if missing else None)._repr_html_())

    def _cells(self) -> list[Sequence[str]]:
        sides, short = {self.choice.second: " (second)", self.choice.first: " (first)"}, short_names(self.rescorer.run)
        return [
            (
                short.get(row["configuration"], str(row["configuration"])) + sides.get(row["configuration"], ""),
                number(row["value"]),
                "" if row["source"] == NONE else bounds_text(row["low"], row["high"], row["clusters"], row["conditional"]),
                *("" if pd.isna(row[name]) else count(row[name]) for name in ("n", "unscored")),
                str(row["source"]),
                str(row["note"]),
            )
            for row in self.table.astype({"clusters": object}).to_dict("records")
        ]

    def _built(self) -> ipywidgets.DOMWidget:
        self._view = _WhatIfView(self)
        return self._view.box


class _WhatIfView:
    """The controls of a panel and its ranking."""

    def __init__(self, panel: WhatIfPanel) -> None:
        self.panel = panel
        self.name = ipywidgets.Dropdown(description="Metric", options=self._names)
        self.unit = ipywidgets.Dropdown(description="Cut at", options=(_CHUNKS, _TOKENS), layout={"width": "14em"})
        self.at = ipywidgets.BoundedIntText(description="Cut", min=1, value=_AT[_CHUNKS][0], max=MOST_K, layout={"width": "13em"})
        self.slice = ipywidgets.Dropdown(description="Slice", options=self._slices, layout=_WIDE)
        self.within = ipywidgets.Dropdown(description="and", options=self._slices, layout=_WIDE)
        self.shown, self.error = (ipywidgets.HTML(layout={"width": WITHIN}) for _ in range(2))
        self.progress = ipywidgets.Label(layout={"display": "none"})
        self.progress.observe(lambda change: setattr(self.progress.layout, "display", None if change["new"] else "none"), "value")
        self._painting = False
        panel.say = self._say
        for control in (self.name, self.unit, self.at, self.slice, self.within):
            control.observe(self._changed, "value")
        choice = ipywidgets.HBox([self.name, self.unit, self.at], layout=_ROW)
        slices = ipywidgets.HBox([self.slice, self.within], layout=_ROW)
        self.box = ipywidgets.VBox([choice, slices, self.progress, self.error, self.shown])
        self.paint()

    def paint(self) -> None:
        """Show the panel as it is."""
        panel, known = self.panel, [name for _, name in self._slices]
        metric = panel.metric
        self._painting = True
        if metric.name not in self.name.options:
            self.name.options = [*self.name.options, metric.name]
        self.name.value = metric.name
        if cut := metric.tokens or metric.k:
            self.unit.value = _TOKENS if metric.tokens else _CHUNKS
            self.at.max, self.at.value = _AT[self.unit.value][1], cut
        parts = [panel.slice] if panel.slice in known else [part for part in panel.slice.split("&") if part in known]
        self.slice.value, self.within.value = [*parts, ALL, ALL][:2]
        self._painting = False
        self._fit()
        self.error.value, self.progress.value, self.shown.value = "", "", fitted(panel.static_html)
        panel.changed()

    @cached_property
    def _names(self) -> list[str]:
        """The metrics of rankings, and those of answers that the sweep computed."""
        rankings = (name for name, definition in METRICS.builtin.items() if not definition.of_answers)
        return list(dict.fromkeys([*rankings, *(measure.name for measure in self.panel.rescorer.run.measures.values())]))

    @cached_property
    def _slices(self) -> list[tuple[str, str]]:
        """The slices with their numbers of questions."""
        return [(f"{name} ({plural(int(members.sum()), 'question')})", name) for name, members in self.panel.rescorer.stored.slices.items()]

    @property
    def _cut(self) -> str:
        """The kind of cut that the metric takes: `k`, `k or tokens` or `none`."""
        return METRICS[self.name.value].cut

    def _fit(self) -> None:
        """Show the controls that the metric has."""
        self.unit.layout.display = None if self._cut == "k or tokens" else "none"
        self.at.layout.display = "none" if self._cut == "none" else None
        self.at.step = 100 if self.unit.value == _TOKENS else 1

    def _changed(self, change: Mapping[str, object]) -> None:
        if self._painting:
            return
        if change["owner"] == self.name and self._cut == "k" and self.unit.value == _TOKENS:
            # The cut in tokens is no number of chunks. This changes the cut, and comes here again.
            self.unit.value = _CHUNKS
            return
        if change["owner"] == self.unit:
            usual, most = _AT[self.unit.value]
            with self.at.hold_trait_notifications():
                self.at.max, self.at.value = most, usual
        self._fit()
        try:
            self.panel.choose(self._metric, self._slice)
            self.error.value = ""
        except InputError as error:
            self.error.value = str(Markup("<p>{}</p>").format(error))
            self.progress.value = ""

    def _say(self, done: int, every: int) -> None:
        self.progress.value = f"scoring configuration {count(done + 1)} of {count(every)}"

    @property
    def _metric(self) -> Metric:
        if self._cut == "none":
            return Metric(self.name.value)
        tokens = self._cut == "k or tokens" and self.unit.value == _TOKENS
        return Metric(self.name.value, tokens=self.at.value) if tokens else Metric(self.name.value, k=self.at.value)

    @property
    def _slice(self) -> str:
        parts = [part for part in dict.fromkeys((self.slice.value, self.within.value)) if part != ALL]
        return "&".join(parts) or ALL


@checked_names
def what_if(results: Results | str | Path, metric: str | Metric = "", within: str = ALL) -> WhatIfPanel:
    """Choose a metric, a slice and a budget, and see the ranking of the configurations at once, from the stored hits of a run.

    Nothing is searched or embedded. The panel shows what `results.what_if` returns, and `panel.table` is that DataFrame. The ranking is
    exploratory: only the primary metric over all questions decides.

    Parameters
    ----------
    results: a run, or its folder.
    metric: the first metric; by default the primary one.
    within: the first slice, such as `type=multi-hop`.

    Raises
    ------
    InputError: the folder contains no run, or there is no such metric or slice.

    Examples
    --------
    >>> import workbench as wb
    >>> panel = wb.what_if(wb.load("outputs/sizes"), "recall@3")
    >>> panel.choose("complete@4")["source"].tolist()
    ['re-scored', 're-scored']
    """
    run = opened(results, "results")
    require(within, str, "within")
    (chosen,) = metrics_given(str(run.primary) if isinstance(metric, str) and not metric else metric)
    return WhatIfPanel(run.rescorer, Choice(metric=str(chosen), slice=within))
