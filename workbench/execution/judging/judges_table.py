"""Build the table of a run's judges."""

from dataclasses import asdict

import pandas as pd

from workbench.execution.local import Outcome
from workbench.pipeline.stages.judging.judge_tests import trust_in


def judges_table(outcome: Outcome) -> pd.DataFrame:
    """Return a row for each task of the run with what its judge may be called. The judges are the same for all configurations."""
    tests = next((result.entries["judge_tests"] for result in outcome.results if "judge_tests" in result.entries), {})
    return pd.DataFrame([asdict(trust_in(entry)) for entry in tests.values()])
