"""The one choice that the panels of a run share."""

import traitlets

from workbench.api.scoring.what_if import ALL


class Choice(traitlets.HasTraits):  # type: ignore[misc]
    """A metric, a slice of the questions, two configurations and a question. Every panel of a run shows them, and changes them for all panels.

    `query_id` is empty if no question of the run is shown.
    """

    metric = traitlets.Unicode()
    slice = traitlets.Unicode(ALL)
    first = traitlets.Unicode()
    second = traitlets.Unicode()
    query_id = traitlets.Unicode()
