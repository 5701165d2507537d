"""Open the explorer of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets

from workbench.api.arguments import require
from workbench.api.results import Results, load
from workbench.widgets.explorer.explorer import Explorer
from workbench.widgets.explorer.model import ExplorerModel

if TYPE_CHECKING:
    from workbench.widgets.explorer.live import LiveSearch


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
    first, second: the configurations to begin with, by default the first two of the run.
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
    ('fixed-128-0', 'fixed-256-0')
    >>> explorer.selection.columns.tolist()
    ['query_id', 'question', 'first', 'second', 'difference', 'first_causes', 'second_causes']
    """
    opened = load(results) if isinstance(results, str | Path) else results
    require(opened, Results, "results")
    model = ExplorerModel(opened.tables)
    names = model.names
    other = next((name for name in names if name != (first or names[0])), names[0])

    def live() -> "LiveSearch":
        # Deferred: only a typed question needs the pipeline.
        from workbench.widgets.explorer.live import LiveSearch

        return LiveSearch(opened.tables, opened.folder, allow_code)

    return Explorer(model, (first or names[0], second or other), live, panels or {})
