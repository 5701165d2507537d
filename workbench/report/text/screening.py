"""The configurations that a screening put aside, in sentences."""

from collections.abc import Sequence

from workbench.core.formatting import count, interval, listed, number, plural, signed
from workbench.statistics.screening import Screened, Screening


def screened_sentence(screening: Screening) -> str:
    """The number of configurations screened out, the margin, the proxies and the questions."""
    some = f"{count(screening.queries)} of" if screening.queries < screening.of else "all"
    by = f"by {listed(screening.proxies)} on {some} {plural(screening.of, 'question')}"
    if not screening.dropped:
        return f"Nothing was screened out {by}: no configuration of {count(len(screening.rows))} is far enough behind."
    sentence = f"{count(len(screening.dropped))} of {plural(len(screening.rows), 'configuration')} screened out {by}"
    return f"{sentence}: with 95 % confidence more than {number(screening.margin)} behind in {screening.metric}, and not run in full."


def difference_text(row: Screened) -> str:
    """The difference of a configuration from the leader by proxy, with its interval."""
    return f"{signed(row.difference)} {interval(row.low, row.high)}"


def screened_lines(screening: Screening | None) -> Sequence[str]:
    """Lines for the terminal: the sentence, the difference of each, and configurations that are equal by proxy; none without a screening."""
    if screening is None:
        return []
    behind = [f"  {row.configuration}: {difference_text(row)} against {row.first}" for row in screening.dropped]
    alike = [f"indistinguishable by proxy, so screened together: {listed(names)}" for names in screening.alike]
    return [screened_sentence(screening), *behind, *alike]
