"""Say which judgements are missing, because calls failed or replies could not be read."""

from typing import NamedTuple

from workbench.core.formatting import count
from workbench.execution.answering.missing import counted_reasons
from workbench.execution.local import Outcome

_STAGES = ("judge_tests", "claims", "verdicts", "judgements")


class MissingJudgements(NamedTuple):
    """A line about failed calls, which the next run makes again, and one about replies without a judgement, each empty if there are none."""

    failed: str = ""
    unread: str = ""


def missing_judgements(outcome: Outcome) -> MissingJudgements:
    """Count the missing judgements of a run by reason."""
    entries = (entry for result in outcome.results for stage in _STAGES for entry in result.entries.get(stage, {}).values())
    missing = [entry.values("missing") for entry in entries]
    failed, unread = ([error for each in missing for error in each[name]] for name in ("failed", "unread"))
    of = count(sum(each["of"] for each in missing))
    return MissingJudgements(
        f"{count(len(failed))} of {of} judgements are missing and not scored ({counted_reasons(failed)}); run again to ask only for these"
        if failed
        else "",
        f"{count(len(unread))} of {of} replies of judges have no judgement and are not scored ({counted_reasons(unread)})"
        if unread
        else "",
    )
