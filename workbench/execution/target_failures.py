"""Sentences about what targets did not serve."""

from workbench.core.formatting import plural
from workbench.results.run_tables import RunTables


def missing_replies(run: RunTables) -> list[str]:
    """Return a line for each target that did not serve all questions."""
    failed = run.targets[run.targets["failed"] > 0]
    return [
        f"the target {row['configuration']} did not serve {plural(row['failed'], 'question')} of {row['asked']}, which are not scored "
        f"(first: {row['error']}); run again to ask only for these"
        for row in failed.to_dict("records")
    ]
