"""Sentences about what targets did not serve."""

import json

from workbench.core.formatting import plural
from workbench.results.run_tables import RunTables


def missing_replies(run: RunTables) -> list[str]:
    """Return a line for each target that did not serve all questions."""
    failed = run.targets[run.targets["failed"] > 0]
    return [
        f"the target {row['configuration']} did not serve {plural(row['failed'], 'question')} of {row['asked']}, which are not scored "
        f"(first: {row['error']}){'' if row['target'] == 'recorded' else '; run again to ask only for these'}"
        for row in failed.to_dict("records")
    ]


def unmatched_hits(run: RunTables) -> list[str]:
    """Return a line for each target with hits that could not be matched with the documents."""
    unmatched = run.targets[run.targets["unmatched"] > 0]
    return [
        f"{row['unmatched']} of {plural(row['hits'], 'hit')} of the target {row['configuration']} could not be matched with the documents "
        f"(first: {json.loads(row['examples'])[0]}); see match in its settings"
        for row in unmatched.to_dict("records")
    ]
