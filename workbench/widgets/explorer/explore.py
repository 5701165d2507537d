"""Open the explorer of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets
import numpy as np

from workbench.analysis.values import per_query
from workbench.api.results import Results, opened
from workbench.guessed_names import checked_names
from workbench.results.run_tables import RunTables
from workbench.widgets.explorer.explorer import Explorer
from workbench.widgets.explorer.model import ExplorerModel

if TYPE_CHECKING:
    from workbench.widgets.explorer.live import LiveSearch


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
    model = ExplorerModel(run.tables)
    leading = _leading(run.tables, model.names)
    other = next((name for name in leading if name != (first or leading[0])), leading[0])

    def live() -> "LiveSearch":
        # Deferred: only a typed question needs the pipeline.
        from workbench.widgets.explorer.live import LiveSearch

        return LiveSearch(run.tables, run.folder, allow_code)

    return Explorer(model, (first or leading[0], second or other), live, panels or {})


def _leading(run: RunTables, names: Sequence[str]) -> list[str]:
    """The configuration with the best mean, the baseline, then the others from the best on."""
    sign = 1 if run.primary.higher_is_better else -1
    values = {name: sign * per_query(run, name, str(run.primary)) for name in names}
    means = {name: float(np.nanmean(row)) for name, row in values.items() if not np.isnan(row).all()}
    ranked = sorted(names, key=lambda name: -means.get(name, -np.inf))
    return list(dict.fromkeys([ranked[0], *(name for name in ranked if name == run.baseline), *ranked]))
