"""Say which judgements are missing because calls failed."""

from workbench.core.formatting import count
from workbench.execution.answering.missing import counted_reasons
from workbench.results.run_tables import RunTables


def missing_judgements(run: RunTables) -> list[str]:
    """Return a line that counts the missing judgements by reason, or no line if none is missing."""
    errors = [*run.claims["error"].tolist(), *run.answer_judgements["error"].tolist()]
    failed = list(filter(None, errors))
    if not failed:
        return []
    what = f"{count(len(failed))} of {count(len(errors))} judgements are missing and not scored"
    return [f"{what} ({counted_reasons(failed)}); run again to ask only for these"]
