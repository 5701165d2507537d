"""The confusion matrix of an attribution on planted cases: true against attributed causes."""

from collections import Counter
from collections.abc import Callable, Sequence

import pandas as pd

from workbench.attribution.causes import CAUSE_NAMES
from workbench.errors import WorkbenchError
from workbench.faultbench.cases import NONE, Observation, PlantedCase

FAILED = "failed"
_NAMES = (*CAUSE_NAMES, NONE)

Attribution = Callable[[Observation], str]


def confusion(cases: Sequence[PlantedCase], attribute: Attribution) -> pd.DataFrame:
    """Counts of cases: a row a true cause, a column an attributed one, all causes and `none` in both, in order of layer.

    The column `failed` counts where the attribution raised a WorkbenchError or gave a name that is no cause; rows sum to the cases.
    Another exception is the attribution's own bug and comes through.
    """
    counts = Counter((case.cause, _attributed(attribute, case.observation)) for case in cases)
    attributed = [*_NAMES, FAILED]
    rows = [[counts[cause, name] for name in attributed] for cause in _NAMES]
    return pd.DataFrame(rows, index=pd.Index(_NAMES, name="cause"), columns=pd.Index(attributed, name="attributed"))


def _attributed(attribute: Attribution, seen: Observation) -> str:
    try:
        cause = attribute(seen)
    except WorkbenchError:
        return FAILED
    return cause if cause in _NAMES else FAILED
