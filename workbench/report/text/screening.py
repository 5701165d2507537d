"""What a screening put aside, as it is told: a sentence, and a row for each."""

from collections.abc import Sequence

from workbench.core.formatting import count, interval, listed, number, plural, signed
from workbench.statistics.screening import Screened, Screening


def screened_sentence(screening: Screening) -> str:
    """How many were screened out, by how much, by which proxy, on how many questions."""
    some = f"{count(screening.queries)} of" if screening.queries < screening.of else "all"
    by = f"by {listed(screening.proxies)} on {some} {plural(screening.of, 'question')}"
    if not screening.dropped:
        return f"Nothing was screened out {by}: no configuration of {count(len(screening.rows))} is far enough behind."
    told = f"{count(len(screening.dropped))} of {plural(len(screening.rows), 'configuration')} screened out {by}"
    return f"{told}: with 95 % confidence more than {number(screening.margin)} behind in {screening.metric}, and not run in full."


def difference_text(row: Screened) -> str:
    """The difference of a configuration from the leader by proxy, with its interval."""
    return f"{signed(row.difference)} {interval(row.low, row.high)}"


def screened_lines(screening: Screening | None) -> Sequence[str]:
    """For the terminal: the sentence, how far behind each is, and what the proxy cannot tell apart; nothing where nothing was screened."""
    if screening is None:
        return []
    behind = [f"  {row.configuration}: {difference_text(row)} against {row.first}" for row in screening.dropped]
    alike = [f"not told apart by their proxy, so of one fate: {listed(names)}" for names in screening.alike]
    return [screened_sentence(screening), *behind, *alike]
