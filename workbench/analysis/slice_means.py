"""The primary metric by slices of the questions, such as type or domain."""

from collections.abc import Mapping

import pandas as pd

from workbench.results.run_tables import RunTables


def slice_means_of(run: RunTables, configuration: str) -> pd.DataFrame:
    """The rows of `metrics` of the primary metric, a row for each slice, `all` first."""
    rows = run.of("metrics", configuration)
    return rows[rows["metric"] == str(run.primary)].reset_index(drop=True)


def slice_means(run: RunTables, configurations: tuple[str, ...]) -> Mapping[str, pd.DataFrame]:
    """By configuration the primary metric's means, a row for each slice under its name."""
    return {name: slice_means_of(run, name).set_index("slice") for name in configurations}
