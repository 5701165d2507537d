"""The table `lost` of a run."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import pandas as pd

from workbench.gate.lost import LostQuestion, RankedHit
from workbench.results.run_tables import conform, empty
from workbench.schemas import SCHEMAS


def lost_table(configuration: str, lost: Sequence[LostQuestion]) -> pd.DataFrame:
    """Make the table from the losses of a configuration, in their order."""
    if not lost:
        return empty(SCHEMAS["lost"])
    rows = [
        vars(each)
        | {"configuration": configuration, "displaced_by": json.dumps(list(each.displaced_by), ensure_ascii=False)}
        | {"before": _hits(each.before), "after": _hits(each.after)}
        for each in lost
    ]
    return conform(SCHEMAS["lost"], pd.DataFrame(rows))


def _hits(hits: Sequence[RankedHit]) -> str:
    return json.dumps([asdict(hit) for hit in hits], ensure_ascii=False)
