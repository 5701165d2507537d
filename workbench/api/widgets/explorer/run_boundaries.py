"""Show where a configuration of a run cuts the document of the chosen question."""

from collections.abc import Mapping

import ipywidgets
from markupsafe import Markup

from workbench.api.widgets.boundaries import PAGE, BoundaryModel, ChunkingPanel, ChunkingSettings, boundaries_html
from workbench.api.widgets.choice import Choice
from workbench.api.widgets.explorer.live import LiveSearch
from workbench.api.widgets.explorer.model import ExplorerModel
from workbench.api.widgets.notebook_panel import NotebookPanel
from workbench.components.chunking.base import Chunker
from workbench.core.errors import WorkbenchError


class RunBoundaries(NotebookPanel):
    """The chunk boundaries of the first configuration of a choice, on the document of its question.

    `panel` has the sliders, None if its chunking does not follow any. A typed question changes nothing. `note` says why boundaries are missing.
    """

    def __init__(self, model: ExplorerModel, choice: Choice, live: LiveSearch) -> None:
        self.choice = choice
        self.panel: ChunkingPanel | None = None
        self.note = ""
        self._model, self._live = model, live
        self._chunker: Chunker | None = None
        self._boundaries: BoundaryModel | None = None
        self._place = "", 0
        self._box: ipywidgets.VBox | None = None
        self._follow({"name": "first"})
        choice.observe(self._follow, ["first", "query_id"])

    def __repr__(self) -> str:
        return f"RunBoundaries({self.choice.first!r}, {self._place[0]!r})"

    @property
    def static_html(self) -> str:
        """The configuration and the question, and the boundaries or the reason why they are missing."""
        return self._heading + (self.panel.static_html if self.panel else self._fixed)

    def _follow(self, change: Mapping[str, object]) -> None:
        if change["name"] == "query_id" and not self.choice.query_id:
            return
        if self.choice.query_id:
            self._place = self._model.place(self.choice.first, self.choice.query_id)
        try:
            if change["name"] == "first":
                self._cut_as(self.choice.first)
            if self.panel and self._place[0]:
                self.panel.query_id = self.choice.query_id
                self.panel.show(*self._place)
            self.note = ""
        except WorkbenchError as error:
            self.panel, self._chunker, self.note = None, None, str(error)
        self._paint()

    def _cut_as(self, configuration: str) -> None:
        """Take the chunking of a configuration."""
        self._chunker, embedder = self._live.chunking(configuration)
        self._boundaries = BoundaryModel(self._live.dataset, embedder)
        settings = ChunkingSettings.of(self._chunker)
        self.panel = ChunkingPanel(self._boundaries, settings, self._place[0] or self._boundaries.first) if settings else None

    @property
    def _heading(self) -> str:
        asked = f"{self.choice.query_id}: {self._model.question(self.choice.query_id).text}" if self.choice.query_id else ""
        note = Markup("<p>{}</p>").format(self.note) if self.note else ""
        return str(Markup("<p><b>{}</b> {}</p>{}").format(self._model.title(self.choice.first), asked, note))

    @property
    def _fixed(self) -> str:
        """The boundaries of a chunking that does not follow sliders."""
        if not (self._chunker and self._boundaries):
            return ""
        doc_id, position = self._place
        try:
            return boundaries_html(
                self._boundaries.cut(doc_id or self._boundaries.first, self._chunker), position // PAGE, self.choice.query_id
            )
        except WorkbenchError as error:
            return str(Markup("<p>{}</p>").format(error))

    def _built(self) -> ipywidgets.DOMWidget:
        self._head, self._text = ipywidgets.HTML(), ipywidgets.HTML()
        self._box = ipywidgets.VBox()
        self._paint()
        return self._box

    def _paint(self) -> None:
        if self._box:
            self._head.value, self._text.value = self._heading, "" if self.panel else self._fixed
            shown = self.panel.widget if self.panel else self._text
            if self._box.children[1:] != (shown,):
                self._box.children = (self._head, shown)
        self.changed()
